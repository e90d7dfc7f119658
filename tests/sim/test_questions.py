"""Questions among the faults: of each site they have the panes that they say they have."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from headwater.algebra.words.site_state import Reason
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.outcome import Outcome
from headwater.sim.records import asked_panes
from headwater.sim.scenario import START_S, Scenario, draw_query, draw_scenario, in_order
from headwater.sim.sweep import with_faults
from headwater.sim.world.world import World

SEEDS = (1, 2, 3, 10)
ASKED_S = (40.0, 52.0, 64.0, 76.0, 88.0, 100.0)
TAKES_S = 0.7
"""After a question was commanded it is under way."""


def scenario(seed: int) -> Scenario:
    """The world of this seed with a plain stream, answered at home, and nothing else that is
    wrong."""
    drawn = draw_scenario(seed)
    roster = drawn.roster
    query = draw_query(
        Random(f"scenario {seed}"), roster, number=1, installer=roster.home, begin_s=START_S + 5.0
    )
    query = msgspec.structs.replace(query, root=roster.home, sites=())
    return msgspec.structs.replace(
        drawn, first_query=query, levels=(), is_finite=False, bytes_per_s=None, refusals=()
    )


def asks(site: str) -> list[Fault]:
    return [Fault(Kind.ASK, at_s, 0.0, (site,), at_s) for at_s in ASKED_S]


def run(world: Scenario, *faults: Fault, asker: str = "") -> Outcome:
    given = in_order(*asks(asker or world.roster.home), *faults)
    outcome = World(with_faults(world, given)).run()
    assert not outcome.rule, f"seed {world.seed}: {outcome.failure}"
    assert outcome.counts["a question was answered"]
    return outcome


def at_each(kind: Kind, *sites: str, for_s: float, value: float = 0.0) -> list[Fault]:
    """It strikes while a question is under way."""
    return [Fault(kind, at_s + TAKES_S, for_s, sites, value) for at_s in ASKED_S]


def data_site(world: Scenario) -> str:
    return next(s.name for s in world.roster.sites if s.has_data and s.name != world.roster.home)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_root_that_is_started_anew_answers_what_was_asked(seed: int) -> None:
    world = scenario(seed)
    run(world, *at_each(Kind.CRASH, world.roster.home, for_s=2.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_site_that_loses_its_disk_has_nothing_of_before(seed: int) -> None:
    world = scenario(seed)
    site = data_site(world)
    outcome = run(world, *at_each(Kind.DISK_LOSS, site, for_s=1.0)[1::2])
    assert outcome.counts["a question lacks panes: declined"]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_asker_that_is_gone_leaves_no_question(seed: int) -> None:
    """Its agent is away for most of the run: the answer comes, and it ends when that is back."""
    world = scenario(seed)
    asker = data_site(world)
    last_s = world.faults_until_s - ASKED_S[3] - 3.0
    run(world, Fault(Kind.CRASH, ASKED_S[3] + TAKES_S, last_s, (asker,)), asker=asker)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_silent_site_is_not_taken_for_an_empty_one(seed: int) -> None:
    world = scenario(seed)
    outcome = run(world, Fault(Kind.ISOLATE, ASKED_S[1] - 5.0, 40.0, (data_site(world),)))
    assert outcome.counts["a question lacks panes: unknown"]


def test_what_retention_has_taken_is_said_to_have_expired() -> None:
    found = [run(scenario(seed)).counts["a question says what had expired"] for seed in SEEDS]
    assert any(found)


@pytest.mark.parametrize("wrong", [Reason.EXPIRED, Reason.NOT_INSTALLED])
def test_a_cube_that_reads_what_it_lacks_as_empty_is_found_out(
    monkeypatch: pytest.MonkeyPatch, wrong: Reason
) -> None:
    right = asked_panes._why_lacking

    def lies(*about: object) -> Reason | None:
        why = right(*about)  # type: ignore[arg-type]
        return None if why is wrong else why

    monkeypatch.setattr(asked_panes, "_why_lacking", lies)
    found = []
    for seed in SEEDS:
        world = scenario(seed)
        loses = at_each(Kind.DISK_LOSS, data_site(world), for_s=1.0)[1::2]
        given = in_order(*asks(world.roster.home), *loses)
        found.append(World(with_faults(world, given)).run().rule)
    assert "a question has what it states" in found


def test_a_cube_that_pins_nothing_reads_what_has_gone_as_empty_and_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the look of every other question and its reading all goes that may."""
    monkeypatch.setattr(asked_panes.AskedPanes, "_is_pinned", lambda *_: False)
    found = []
    for seed in SEEDS:
        world = scenario(seed)
        given = in_order(*asks(world.roster.home))
        found.append(World(with_faults(world, given)).run().rule)
    assert "a question has what it states" in found
