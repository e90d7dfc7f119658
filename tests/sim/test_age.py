"""Queries with ``time = 'age'`` in simulated sites: placed once, by the agent's own code."""

from collections.abc import Callable, Iterator
from random import Random

import msgspec
import pytest
from query_kit import changed

from headwater.algebra.panes import MICROS
from headwater.edge.closing.closing import SourceClock
from headwater.edge.closing.root_time import RootTime
from headwater.plan.query import TimeKind
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.measure.findings import Findings, find
from headwater.sim.outcome import Outcome, Violation
from headwater.sim.query_kinds import is_plain
from headwater.sim.records.placements import Placements
from headwater.sim.scenario import START_S, Scenario, draw_scenario
from headwater.sim.simulation import run_simulation
from headwater.sim.simulation_file import parse_simulation
from headwater.sim.sweep import with_faults
from headwater.sim.world.event_queue import Clock, EventQueue
from headwater.sim.world.log import Log, Workload
from headwater.sim.world.spark import SiteSpark
from headwater.sim.world.world import World

Patch = pytest.MonkeyPatch
SEEDS_MAX = 12

WORLD = """
seed = 3
duration = 60
checks = "{checks}"
[world]
sites = 24
[query]
window = 5
deadline = 6
branching = 3
time = "{time}"
[clocks]
kind = "planetlab"
scale = {scale}
drift_ppm = 50
"""


def simulate(time: str, *, scale: float = 1.0, checks: str = "full") -> Findings:
    text = WORLD.format(time=time, scale=scale, checks=checks)
    return find(run_simulation(parse_simulation(text)))


# What it is for


def test_by_age_records_are_in_the_window_of_their_birth_however_wrong_clocks_are() -> None:
    found = simulate("age")
    assert found.verdict == "no rule was broken"
    assert found.true_completeness > 0.99
    assert found.completeness_worst == 1.0
    assert found.latency_mean_s < 3.0


def test_by_timestamps_they_are_not() -> None:
    found = simulate("event")
    assert found.verdict == "no rule was broken"
    assert found.true_completeness < 0.95


def test_with_good_clocks_both_are_right() -> None:
    for time in ("event", "age"):
        assert simulate(time, scale=0.0).true_completeness > 0.99


def test_light_checks_measure_the_same() -> None:
    full, light = simulate("event"), simulate("event", checks="light")
    assert [(one.born, one.right) for one in full.windows] == [
        (one.born, one.right) for one in light.windows
    ]
    assert sum(one.born for one in full.windows) == 24 * 5 * len(full.windows)


# The truth of an age query


def placements() -> Placements:
    """Ten records, one a second from the start on, on a clock that is right."""
    queue = EventQueue(start_s=START_S)
    work = Workload(1.0, ((START_S, START_S + 10.0),), 0.0, 0.0, 0.0, is_even=True)
    log = Log(work, Clock(queue, offset_s=0.0), random=Random(1), slot=0, slot_count=1)
    log.grow(START_S + 20.0)
    query = next(s.first_query for s in drawn_by_age())
    return Placements(changed(query, site_sql="7"), log)


def drawn_by_age(count: int = SEEDS_MAX) -> Iterator[Scenario]:
    for seed in range(1, count + 1):
        scenario = draw_scenario(seed)
        query = scenario.first_query
        if scenario.is_finite or not (query.time is TimeKind.AGE or is_plain(query)):
            continue
        query = msgspec.structs.replace(query, time=TimeKind.AGE)
        yield msgspec.structs.replace(scenario, first_query=query)


def test_records_are_where_the_offset_of_their_batch_put_them() -> None:
    placed = placements()
    placed.place(0, 5, offset_us=0, incarnation=1)
    placed.place(5, 10, offset_us=1_000 * MICROS, incarnation=1)
    panes = sorted(placed.panes)
    assert sorted(n for pane in panes for _, n in placed.records(pane)) == list(range(10))
    assert [n for _, n in placed.records(panes[-1])][-1] == 9
    assert panes[-1] - panes[0] > 50


def test_a_batch_that_is_placed_again_is_a_violation() -> None:
    placed = placements()
    placed.place(0, 5, offset_us=0, incarnation=1)
    with pytest.raises(Violation, match=r"placed once.*0 to 4 .* again"):
        placed.place(0, 5, offset_us=MICROS, incarnation=1)


def test_records_that_are_passed_over_are_a_violation() -> None:
    placed = placements()
    placed.place(0, 5, offset_us=0, incarnation=1)
    with pytest.raises(Violation, match=r"placed once.*with a gap"):
        placed.place(6, 8, offset_us=0, incarnation=1)


def test_a_new_incarnation_begins_where_it_likes() -> None:
    placed = placements()
    placed.place(0, 5, offset_us=0, incarnation=1)
    placed.place(7, 10, offset_us=0, incarnation=2)


# Machines that are broken on purpose


def closes_by_its_own_clock(patch: Patch) -> None:
    """The edge forgets the offset when it closes, and a clock ahead closes what is still open."""

    def of_source(self: RootTime, clock: SourceClock) -> SourceClock:
        return clock

    patch.setattr(RootTime, "of_source", of_source)


def replays_place_anew(patch: Patch) -> None:
    """A batch that is delivered again is committed again."""
    replay = SiteSpark.replay

    def again(self: SiteSpark) -> None:
        cube = self._disk.cube
        cube.committed = max(0, cube.committed - 3)
        replay(self)

    patch.setattr(SiteSpark, "replay", again)


def replayed() -> Iterator[Scenario]:
    for scenario in drawn_by_age():
        site = scenario.roster.home
        yield with_faults(
            scenario, tuple(Fault(Kind.REPLAY, 20.0 + 9 * n, 0.0, (site,)) for n in range(8))
        )


def ahead() -> Iterator[Scenario]:
    """All clocks but the root's are half a minute ahead."""
    for scenario in drawn_by_age():
        root = scenario.first_query.root
        offsets_s = tuple(30.0 * (site.name != root) for site in scenario.roster.sites)
        yield msgspec.structs.replace(scenario, offsets_s=offsets_s, faults=())


@pytest.mark.parametrize(
    ("mutate", "scenarios", "rules"),
    [
        (closes_by_its_own_clock, ahead, {"closing at a site", "true coverage"}),
        (replays_place_anew, replayed, {"placed once", "no double counting"}),
    ],
)
def test_a_broken_placement_is_caught(
    mutate: Callable[[Patch], None],
    scenarios: Callable[[], Iterator[Scenario]],
    rules: set[str],
    monkeypatch: Patch,
) -> None:
    mutate(monkeypatch)
    outcomes: Iterator[Outcome] = (World(scenario).run() for scenario in scenarios())
    caught = next((outcome for outcome in outcomes if not outcome.is_good), None)
    assert caught is not None, f"not found within {SEEDS_MAX} seeds"
    assert caught.rule in rules, caught.failure


@pytest.mark.parametrize("scenarios", [ahead, replayed])
def test_the_same_worlds_are_good_with_sound_machines(
    scenarios: Callable[[], Iterator[Scenario]],
) -> None:
    for scenario, _ in zip(scenarios(), range(2), strict=False):
        outcome = World(scenario).run()
        assert outcome.is_good, outcome.failure
