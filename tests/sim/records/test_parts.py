"""A stream with several roots through crashes and cuts: each part settles, together they are whole.

The promises hold for each part as for any query, and the checkers see to that. What is asked here
is what only all parts together can show: every record is in one part, and none is in two.
"""

import msgspec
import pytest

from headwater.plan.query import QueryId
from headwater.sim.check import number_truth
from headwater.sim.check.check_answers import Published
from headwater.sim.records import admits
from headwater.sim.records.bag import Bag
from headwater.sim.scenario import draw_scenario, in_parts
from headwater.sim.world import spark
from headwater.sim.world.world import World

SEEDS = {2: (17, 19, 23), 3: (17, 20, 23, 26, 27)}
"""By the number of parts. A finite world is among them (17), in which a site must await all parts
before it reads; and one (23) in which it must before it reads the past."""


def newest(world: World, query) -> dict[int, Published]:
    """The newest answer of each window at the query's root."""
    root = world.sites[query.root].disk.number
    check = world.checkers.answers.get((str(query.id), root))
    return {} if check is None else check.newest


def parts_left(world: World) -> list:
    """The parts that nobody removed while the faults came."""
    live = world.sites["s0"].disk.installs
    parts = (world.scenario.first_query, *world.scenario.further_parts)
    return [part for part in parts if str(part.id) in live]


def check_union(world: World) -> int:
    """How many windows all parts have an exact answer of; in each of them nothing is missing."""
    parts = parts_left(world)
    first = world.scenario.first_query
    if len(parts) != first.part.count:
        return 0
    whole = msgspec.structs.replace(first, part=None, id=QueryId("whole", "s0", 1_000))
    answers = [newest(world, part) for part in parts]
    windows = set.intersection(*(set(found) for found in answers))
    settled = [
        window
        for window in windows
        if all(found[window].envelope.final for found in answers)
        and all(found[window].envelope.exact for found in answers)
    ]
    asked = [
        world.truth.sites[site.ordinal]
        for site in world.scenario.roster.sites
        if site.has_data and (not whole.sites or site.name in whole.sites)
    ]
    for window in settled:
        union = Bag()
        for found in answers:
            union = union.merge(found[window].bag)
        assert not union.twice, f"window {window}: a record is in two parts"
        for site in asked:
            for pane in whole.window.panes_of(window):
                lack = site.lack_at_end(whole, pane, union.once)
                assert not lack, f"window {window}, pane {pane}: {lack}"
    return len(settled)


@pytest.mark.parametrize("count", SEEDS)
def test_parts_converge_and_are_together_the_whole(count: int) -> None:
    settled = worlds = 0
    for seed in SEEDS[count]:
        world = World(in_parts(draw_scenario(seed), count))
        outcome = world.run()
        assert outcome.is_good, outcome.report()
        windows = check_union(world)
        settled += windows
        worlds += windows > 0
    assert worlds >= len(SEEDS[count]) // 2
    assert settled >= 5 * len(SEEDS[count])


def test_the_roots_of_parts_are_different_sites() -> None:
    for seed in SEEDS[3]:
        scenario = in_parts(draw_scenario(seed), 3)
        parts = (scenario.first_query, *scenario.further_parts)
        assert len({part.root for part in parts}) == 3
        assert {part.stream for part in parts} == {"q1"}
        assert len({part.unit for part in parts}) == 1


def test_a_part_that_takes_what_is_another_ones_is_found_out(monkeypatch) -> None:
    """The check of the union itself can fail: a site that divides by other numbers than its
    root states is what the checkers of one part would not see."""

    def overlapping(query, number: int) -> bool:
        return number % admits.DIVISOR < int(query.program.site_sql)

    for module in (number_truth, spark):
        monkeypatch.setattr(module, "admits", overlapping)
    world = World(msgspec.structs.replace(in_parts(draw_scenario(1), 2), faults=()))
    assert world.run().is_good, "each part is right by itself"
    with pytest.raises(AssertionError, match="a record is in two parts"):
        check_union(world)
