"""More roots than a heartbeat has room for: they take turns, and calm stays calm."""

from random import Random

import msgspec
import pytest

from headwater.overlay.ways import root_pulses
from headwater.plan.query import QueryId, TimeKind
from headwater.sim.scenario import START_S, Scenario, draw_query, draw_scenario, in_parts
from headwater.sim.world.world import World

SITES = 24
ROOTS = 18
"""Above ``ROOTS_MAX``, each with a query of its own."""
SEED = 3
SEEDS_OF_ONE = range(1, 5)


def with_many_roots(seed: int) -> Scenario:
    """A calm world whose queries have as many roots, every other one by age. Links have no budget:
    one that does for a few queries is too narrow for eighteen."""
    calm = draw_scenario(seed, site_count=SITES, fault_s=15.0)
    random = Random(f"many roots {seed}")
    dialable = [site.name for site in calm.roster.sites if site.dialable]
    queries = []
    for number, root in enumerate(random.sample(dialable, ROOTS), start=1):
        query = draw_query(
            random, calm.roster, number=number, installer=calm.roster.home, begin_s=START_S + 20.0
        )
        time = TimeKind.AGE if number % 2 else TimeKind.EVENT
        id_ = QueryId(f"q{number}", calm.roster.home, number)
        queries.append(msgspec.structs.replace(query, id=id_, root=root, sites=(), time=time))
    return msgspec.structs.replace(
        calm,
        first_query=queries[0],
        further_parts=tuple(queries[1:]),
        faults=(),
        refusals=(),
        is_finite=False,
        budgets={},
    )


def test_with_eighteen_roots_nobody_leaves_the_trees_and_queries_by_age_begin() -> None:
    world = World(with_many_roots(SEED))
    outcome = world.run()
    assert outcome.is_good, outcome.report()
    roots = {query.root for query in (world.scenario.first_query, *world.scenario.further_parts)}
    assert len(roots) == ROOTS > root_pulses.ROOTS_MAX
    for site in world.sites.values():
        assert site.node is not None
        peer = site.node.peer
        assert all(peer.root_clock(root) is not None for root in roots), site.name
        for query_id, install in peer.live_queries().items():
            ways = peer.ways(query_id)
            assert all(way.by != "last resort" for way in ways), f"{site.name}: {ways}"
            is_root = install.query.root == site.name
            assert is_root or any(way.leads_on for way in ways), f"{site.name}: {ways}"


@pytest.mark.parametrize("seed", SEEDS_OF_ONE)
def test_with_room_for_one_root_three_take_turns_in_calm_and_through_faults(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_pulses, "ROOTS_MAX", 1)
    scenario = in_parts(draw_scenario(seed), 3)
    for faults in ((), scenario.faults):
        outcome = World(msgspec.structs.replace(scenario, faults=faults)).run()
        assert outcome.is_good, outcome.report()
