"""Roots with little memory, in whole worlds: sites wait, none for ever, all is exact in the end."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.faults.liar import LIES
from headwater.sim.outcome import Outcome
from headwater.sim.scenario import Scenario, draw_scenario, in_order
from headwater.sim.world.world import World

LITTLE = 400
"""About ten records."""


def a_world(seed: int, **limits: int) -> Scenario:
    scenario = draw_scenario(seed)
    limits = {"unanswered_bytes_max": LITTLE} | limits
    return msgspec.structs.replace(
        scenario, limits=msgspec.structs.replace(scenario.limits, **limits)
    )


def calm(scenario: Scenario, *faults: Fault) -> Scenario:
    return msgspec.structs.replace(scenario, faults=in_order(*faults))


def run(scenario: Scenario) -> Outcome:
    outcome = World(scenario).run()
    assert outcome.is_good, outcome.report()
    return outcome


@pytest.mark.parametrize("seed", [14, 16, 22])
def test_what_waited_comes_and_answers_are_exact_in_the_end(seed: int) -> None:
    outcome = run(calm(a_world(seed)))
    assert outcome.counts["notice: edge paused"] > 5
    assert outcome.counts["notice: edge pause is over"] > 5


@pytest.mark.parametrize("seed", [14, 18])
def test_faults_of_all_kinds_may_come_meanwhile(seed: int) -> None:
    assert run(a_world(seed)).counts["notice: edge paused"]


def test_relays_that_are_short_of_memory_hold_nobody_up_for_ever() -> None:
    outcome = run(a_world(14, unanswered_bytes_max=1 << 28, pause_bytes_max=200))
    assert outcome.counts["notice: overlay paused"]
    assert outcome.counts["notice: edge paused"]


def test_who_asks_all_to_wait_for_ever_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above them on a tree it delays panes until their window is the oldest; others refuse it."""
    lies = {"a pause": LIES["a pause"]}
    monkeypatch.setattr("headwater.sim.faults.liar.LIES", lies)
    monkeypatch.setattr("headwater.sim.faults.liar.FLOOD_SHARE", 0.0)
    scenario = draw_scenario(14)
    tree = scenario.trees[0]
    above = Counter(parent for _, parent in tree.parents if parent != tree.root)
    (liar, _), *_ = above.most_common(1)
    names = {site.ordinal: site.name for site in scenario.roster.sites}
    lying = Fault(Kind.LIES, 20.0, 80.0, (names[liar],), 1.0)
    outcome = run(calm(scenario, lying))
    assert outcome.counts["a lie was told: a pause"] > 20
    assert outcome.counts["notice: edge paused"]
    assert outcome.counts["notice: overlay refused"]


@pytest.mark.parametrize("at_s", [25.0, 45.0])
def test_a_root_that_is_started_again_in_a_pause_gets_all_that_waited(at_s: float) -> None:
    scenario = a_world(14)
    root = scenario.first_query.root
    crash = Fault(Kind.CRASH, at_s, 8.0, (root,), 0.0)
    outcome = run(calm(scenario, crash))
    assert outcome.counts["fault: crash"] == 1
    assert outcome.counts["notice: edge paused"]
