"""A member that lies about a root's clock in its heartbeats, from the beginning of a world on."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from headwater.overlay.clocks.clock_votes import ClockVotes
from headwater.overlay.clocks.root_clock import RootClock
from headwater.plan.query import TimeKind
from headwater.plan.tree import Tree
from headwater.sim.check.check_clock import BOUND_S
from headwater.sim.faults.clock_lies import BENT, CLOCK_LEAPS_S, ClockLies
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.scenario import START_S, Scenario, draw_scenario
from headwater.sim.tuning import Limits
from headwater.sim.world.log import Workload
from headwater.sim.world.world import World

LIAR = "s1"
SECONDS = 60.0


def tree(*parents: int) -> Tree:
    """By site from s1 on: its parent."""
    return Tree(0, tuple(enumerate(parents, start=1)))


FOUR = (
    tree(0, 0, 0, 1, 1, 2, 2, 3, 3),
    tree(2, 4, 5, 0, 0, 4, 5, 0, 1),
    tree(6, 6, 7, 7, 1, 0, 0, 1, 0),
    tree(0, 8, 9, 8, 9, 1, 8, 0, 0),
)
"""s1 is above six others, on one tree or two, and never all that anybody has."""
ONE = (tree(0, 0, 0, 1, 1, 2, 2, 3, 3),)


def world_of(trees: tuple[Tree, ...], lie: tuple[float, float | None, float | None]) -> World:
    """Ten sites with good logs and clocks that are wrong by hours, one of whom lies by so much."""
    drawn = draw_scenario(4)
    sites = tuple(
        msgspec.structs.replace(site, ordinal=place, dialable=True, has_data=True)
        for place, site in enumerate(drawn.roster.sites)
    )
    work = Workload(0.6, ((START_S, START_S + SECONDS),), 0.9, 0.0, 6.0)
    query = msgspec.structs.replace(
        drawn.first_query, time=TimeKind.AGE, root="s0", sites=(), last_n=msgspec.UNSET
    )
    scenario: Scenario = msgspec.structs.replace(
        drawn,
        roster=msgspec.structs.replace(drawn.roster, sites=sites),
        trees=trees,
        query_trees=trees,
        offsets_s=tuple(300.0 * (place % 3 - 1) for place in range(len(sites))),
        workloads=(work,) * len(sites),
        first_query=query,
        refusals=(),
        faults=(Fault(Kind.LIES, 0.01, SECONDS, (LIAR,), 1e6),),
        faults_until_s=SECONDS,
        end_s=SECONDS,
        is_finite=False,
        limits=Limits(),
    )
    return World(scenario, is_judged=False)


def run(
    trees: tuple[Tree, ...],
    lie: tuple[float, float | None, float | None],
    patch: pytest.MonkeyPatch,
    look: Callable[[World], None] = lambda world: None,
) -> World:
    patch.setattr(ClockLies, "_draw", lambda self: lie)
    world = world_of(trees, lie)
    for second in range(1, int(SECONDS)):
        world.queue.at(START_S + second, look, world)
    outcome = world.run()
    assert outcome.is_good, outcome.failure
    assert outcome.counts[f"a lie was told: {BENT[0]}"] > 20
    return world


def wrong_s(world: World, name: str) -> float:
    """By how much this site is wrong about the clock that it places records by."""
    site, root = world.sites[name], world.sites["s0"]
    assert site.node is not None
    query = str(world.scenario.first_query.id)
    placed_s = site.node.edge.offset_us(query) / 1e6 + site.node.ahead_s
    return abs(placed_s - (root.clock.now_s() - site.clock.now_s()))


def has_begun(world: World, name: str) -> bool:
    node = world.sites[name].node
    return node is not None and bool(node.edge.progress())


def is_unconfirmed(world: World, name: str) -> bool:
    root = world.sites["s0"].node
    assert root is not None
    found = root.root(str(world.scenario.first_query.id))
    assert found is not None
    return name in found.table.unconfirmed()


HONEST = [f"s{n}" for n in range(2, 10)]


@pytest.mark.parametrize("leap_s", CLOCK_LEAPS_S)
@pytest.mark.parametrize("spread_s", [None, 0.0, 1e9])
def test_with_four_parents_one_liar_moves_no_record_beyond_the_bound(
    leap_s: float, spread_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    worst: dict[str, float] = {}

    def look(world: World) -> None:
        for name in HONEST:
            if has_begun(world, name):
                worst[name] = max(worst.get(name, 0.0), wrong_s(world, name))

    run(FOUR, (leap_s, spread_s, 0.0), monkeypatch, look)
    assert set(worst) == set(HONEST), "all have begun"
    assert max(worst.values()) < 0.3 + BOUND_S, worst


def test_it_is_named_by_those_who_set_it_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    world = run(FOUR, (86_400.0, 0.0, 0.0), monkeypatch)
    assert world.transcript.counts["notice: overlay clock set aside"] > 0


def test_with_one_parent_who_lies_the_site_says_that_it_is_unconfirmed_and_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """s4 and s5 have s1 alone, which says that the root is a day ahead. Their states travel by it,
    too; but what the root has signed it can't change."""
    found: list[float] = []

    def look(world: World) -> None:
        if world.queue.now_s > START_S + 20.0:
            found.append(max(wrong_s(world, "s4"), wrong_s(world, "s5")))
            assert is_unconfirmed(world, "s4")
            assert is_unconfirmed(world, "s5")

    world = run(ONE, (86_400.0, 0.0, 0.0), monkeypatch, look)
    assert max(found) < 20.0, "at most as long as a state and its acknowledgement take"
    assert not is_unconfirmed(world, "s2"), "it is linked with the root"


def test_the_checker_finds_a_site_that_believes_whoever_says_it_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it was before there were votes."""

    def believed(self: ClockVotes, *, patience_s: float, now_s: float) -> RootClock | None:
        newest = max(
            self._votes.values(), key=lambda one: (one.told_s, -one.spread_s), default=None
        )
        if newest is None:
            return None
        return msgspec.structs.replace(newest, is_confirmed=True, is_ready=True)

    monkeypatch.setattr(ClockVotes, "count", believed)
    monkeypatch.setattr(ClockLies, "_draw", lambda self: (86_400.0, 0.0, 0.0))
    outcome = world_of(FOUR, (86_400.0, 0.0, 0.0)).run()
    assert outcome.rule == "voted clocks", outcome.failure
