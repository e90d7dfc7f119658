"""Sites that are short of CPU: what they shed is deferred, and exact when the load is gone."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.plan.query import Shed
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.outcome import Outcome
from headwater.sim.scenario import START_S, Scenario, draw_query, draw_scenario, in_order
from headwater.sim.sweep import with_faults
from headwater.sim.tuning import Pace
from headwater.sim.world.world import World

SEEDS = (1, 2, 3, 10)
SLOW = Pace(batch_records_max=8, poll_every_s=1.0, retention_s=200.0)
FROM_S, FOR_S = 25.0, 40.0


def scenario(seed: int, shed: Shed = Shed.DEFER) -> Scenario:
    """The world of this seed with a plain stream that sheds, and nothing that is wrong."""
    drawn = draw_scenario(seed)
    roster = drawn.roster
    query = draw_query(
        Random(f"scenario {seed}"), roster, number=1, installer=roster.home, begin_s=START_S + 5.0
    )
    timing = msgspec.structs.replace(query.timing, deadline_s=4.0, disorder_s=1.0, lateness_s=30.0)
    window = WindowSpec(12 * MICROS, 4 * MICROS)
    begin_us = query.window.pane_start_us(query.begin_pane or 0)
    query = msgspec.structs.replace(
        query,
        begin_pane=window.pane_at(begin_us) + 1,
        root=roster.home,
        sites=(),
        shed=shed,
        timing=timing,
        window=window,
    )
    return msgspec.structs.replace(
        drawn,
        first_query=query,
        levels=(),
        further_parts=(),
        is_finite=False,
        bytes_per_s=None,
        refusals=(),
        pace=SLOW,
    )


def slow(world: Scenario, *names: str, by_s: float = 5.0) -> list[Fault]:
    return [Fault(Kind.STRAGGLE, FROM_S, FOR_S, (name,), by_s) for name in names]


def data_sites(world: Scenario) -> list[str]:
    return [one.name for one in world.roster.sites if one.has_data]


def run(world: Scenario, *faults: Fault) -> World:
    made = World(with_faults(world, in_order(*faults)))
    outcome: Outcome = made.run()
    assert outcome.is_good, f"seed {world.seed}: {outcome.failure}"
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_a_site_that_sheds_all_that_it_can_is_exact_when_the_load_is_gone(seed: int) -> None:
    world = scenario(seed)
    made = run(world, *slow(world, data_sites(world)[0]))
    assert made.sites[data_sites(world)[0]].disk.cube.asides.last, "it has shed something"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("at_s", [40.0, 62.0])
def test_a_crash_in_the_midst_of_it_loses_nothing_and_reads_nothing_twice(
    seed: int, at_s: float
) -> None:
    world = scenario(seed)
    site = next(name for name in data_sites(world) if name != world.roster.home)
    crashes = [
        Fault(Kind.CRASH, at_s, 3.0, (site,), 1.0),
        Fault(Kind.REPLAY, at_s + 8.0, 0.0, (site,)),
    ]
    made = run(world, *slow(world, site), *crashes)
    assert made.sites[site].disk.cube.asides.last


@pytest.mark.parametrize("seed", SEEDS)
def test_all_sites_may_shed_at_once(seed: int) -> None:
    world = scenario(seed)
    run(world, *slow(world, *data_sites(world)))
