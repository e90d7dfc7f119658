"""iMR, section 4.4: what a site's crash takes out of answers, by gap recovery and here.

Gap recovery loses the panes that a worker has under way when it fails, and begins again with the
next one; a note on disk says where in the log that is. Here cuts are spooled and numbered, and what
is not acknowledged is sent again. Every worker fails once, for ten seconds, while it reads; in
virtual time, with the real machines. The share by gap recovery is counted from the same run: the
records of all panes that a worker had not closed when it failed. What was lost on its way, and what
relays had merged, counts for neither.
"""

from __future__ import annotations

from functools import partial

import msgspec

from experiments.common import print_table, timed, write_csv
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import bitset
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.scenario import START_S
from headwater.sim.simulation import make_scenario
from headwater.sim.simulation_file import SimulationFile
from headwater.sim.world.world import World

WORKERS = 10
PANES_S = (5.0, 15.0, 60.0)
RUN_S = 600.0
DOWN_S = 10.0
FIRST_S = 120.0
EVERY_S = 37.0
"""Not a whole number of panes, so that workers fail at all places of one."""
END_S = 60.0
"""Before the end of a run; what is written later may have no answer yet."""
SEEDS = (1, 2, 3)


def run(pane_s: float, seed: int) -> tuple[int, int, int]:
    """Records in all; in final answers; lacking by gap recovery."""
    content = {
        "seed": seed,
        "duration": RUN_S,
        "checks": "full",
        "world": {"kind": "transit-stub", "sites": WORKERS + 1},
        "query": {"window": pane_s, "trees": 2, "branching": 4},
    }
    scenario = make_scenario(msgspec.convert(content, SimulationFile))
    workers = [site.name for site in scenario.roster.sites if site.ordinal]
    faults = tuple(
        Fault(Kind.CRASH, START_S + FIRST_S + n * EVERY_S, DOWN_S, (name,))
        for n, name in enumerate(workers)
    )
    scenario = msgspec.structs.replace(scenario, faults=faults)
    world = World(scenario)
    window = scenario.first_query.window
    lost: dict[str, range] = {}

    def fails(name: str) -> None:
        node = world.sites[name].node
        assert node is not None, "it runs until it fails"
        (known,) = node.progress().edge
        last = window.pane_at(world.sites[name].log.highs_us[-1])
        lost[name] = range(known.record.closed_through, last + 1)

    for fault in faults:
        (name,) = fault.sites
        world.queue.at(fault.at_s - 1e-6, partial(fails, name))
    outcome = world.run()
    assert outcome.is_good, outcome.failure
    counted = range(
        scenario.first_query.begin_pane or 0,
        window.pane_at(round((START_S + RUN_S - END_S) * MICROS)),
    )
    panes = {
        name: [n for us in world.sites[name].log.times_us if (n := window.pane_at(us)) in counted]
        for name in workers
    }
    count = sum(map(len, panes.values()))
    lacking = sum(pane in lost[name] for name in workers for pane in panes[name])
    return count, _answered(world, counted), lacking


def _answered(world: World, counted: range) -> int:
    """Records of workers in the newest answer of each of these windows, which have one pane each; a
    record's number tells its site."""
    sites = world.scenario.roster.sites
    count = 0
    for answers in world.checkers.answers.values():
        newest = (one for number, one in answers.newest.items() if number in counted)
        for one in newest:
            numbers = bitset.members(one.bag.once)
            count += sum(sites[number % len(sites)].ordinal != 0 for number in numbers)
    return count


def main() -> None:
    table = []
    with timed("runs"):
        for pane_s in PANES_S:
            found = [run(pane_s, seed) for seed in SEEDS]
            count, ours, lacking = (sum(one[n] for one in found) for n in range(3))
            table.append(
                (
                    pane_s,
                    count,
                    round(100.0 * ours / count, 2),
                    round(100.0 * (count - lacking) / count, 2),
                    round(lacking / (len(SEEDS) * WORKERS), 1),
                )
            )
    header = ("pane_s", "records", "final_percent", "gap_percent", "gap_records_of_a_crash")
    print_table(header, table)
    write_csv("imr_gap", header, table)


if __name__ == "__main__":
    main()
