"""What is saved where nobody wants the rest: cancellation at demands of 20, 50 and 80 %.

``python -m benchmarks cancelling``. Fifty sites on a transit-stub network answer windows of 100 s
that begin every 90 s, so nine panes of 10 s lie from one begin to the next. The demand is of an
area, of the earliest: with ``finally = 'exact'`` the rest follows, with ``finally = 'enough'`` it
is unwanted from the answer on. Real edges, relays and a root run in virtual time. *Bytes* are those
of summaries, on all links together. *CPU* is that of their rows: how many updates sites have made
and how many summaries went over links, each times what it takes here with 1,000 groups (an update
is made in a cube on disk; an arrival is decoded, merged and sent on, as ``merge`` has it). What
machines do beside rows is not in it, nor is reading and reducing records, which goes on.

*Unwanted* is what a word without delay would spare: the panes all of whose windows are final.
Wanted: at least 0.7 of it, of bytes and of the CPU of rows.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from benchmarks import merge
from benchmarks.cube_rounds import MERGER, QUERY, SOURCE
from headwater.algebra.demand import Demand
from headwater.algebra.panes import MICROS
from headwater.edge.outputs import MakeUpdates, Remember
from headwater.edge.record import EdgeRecord
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import Transmit
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.sim.measure.gauge import SUMMARIES, Gauge
from headwater.sim.scenario import Scenario
from headwater.sim.simulation import make_place, make_roster, make_scenario, make_trees
from headwater.sim.simulation_file import SimulationFile
from headwater.sim.world.world import World
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.input.new_cut import NewCut

SITES = 50
PANE_S = 10.0
PANES, PER_SLIDE = 10, 9
DURATION_S = 1_000.0
DEMANDS = (20, 50, 80)
GROUPS = 1_000
MADE = 15
"""Updates that are made to learn what one takes."""
SAVED_MIN = 0.7


class Spent(msgspec.Struct, frozen=True):
    summary_bytes: int
    made: int
    """Updates, at all sites."""
    sent: int
    """Summaries, over all links."""
    windows: int


class Counting(Gauge):
    """A gauge that counts what is worked for as well."""

    made = sent = 0

    def executing(self, site: Any, effect: Any) -> None:
        if isinstance(effect, MakeUpdates):
            self.made += len(effect.panes)
        elif isinstance(effect, Transmit) and isinstance(effect.message, SummaryMessage):
            self.sent += 1
        super().executing(site, effect)


def scenario() -> Scenario:
    """The world, with a stream that demands nothing."""
    window = {"window": PANES * PANE_S, "slide": PER_SLIDE * PANE_S, "disorder": 0.5}
    content = {
        "seed": 1,
        "duration": DURATION_S,
        "checks": "light",
        "world": {"kind": "transit-stub", "sites": SITES},
        "query": {**window, "trees": 4, "branching": 4},
        "workload": {"poll_every": PANE_S / 5, "records_per_s": 0.2},
    }
    file = msgspec.convert(content, SimulationFile)
    place = make_place(file)
    trees = make_trees(file, make_roster(file, place), place)
    return make_scenario(file, place=place, trees=trees)


def asking(plain: Scenario, demand: Demand) -> Scenario:
    query = msgspec.structs.replace(plain.first_query, demand=demand)
    return msgspec.structs.replace(plain, first_query=query)


def spend(asked: Scenario) -> Spent:
    gauges: list[Counting] = []

    def watch(world: World) -> Counting:
        parts = world.queue, world.truth, world.births
        gauges.append(Counting(*parts, storm=world.storm, checkers=None))
        return gauges[0]

    world = World(asked, watch=watch, is_light=True, is_judged=False)
    gc.collect()
    gc.disable()
    outcome = world.run()
    gc.enable()
    assert not outcome.rule, outcome.failure
    gauge = gauges[0]
    summary_bytes = sum(gauge.load_bytes[SUMMARIES].values())
    return Spent(summary_bytes, gauge.made, gauge.sent, len(gauge.windows))


def unwanted_share(percent: int) -> float:
    """Of the panes. Each window begins with a pane that the one before has, too."""
    wanted = -(-percent * PANES // 100)
    return (PER_SLIDE - wanted) / PER_SLIDE


def make_s() -> float:
    """CPU seconds of making an update: the median."""
    pages = [f"/articles/{key}" for key in range(GROUPS)]
    counts = pa.array(np.arange(GROUPS))
    found: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        facts = QueryFacts(lambda query: MERGER)
        cube = Cube.open(Path(directory), site="paris", facts=facts, clock=lambda: 1_000.0)
        record = EdgeRecord(first_pane=0)
        cube.write([Remember(QUERY, record)])
        state = cube.cuts.open_source(SOURCE)
        cube.cuts.begin_epoch(SOURCE)
        for pane in range(MADE):
            rows = pa.Table.from_arrays([pa.array(pages), counts], ["page", "n"])
            rows = rows.cast(MERGER.schema)
            rows = rows.add_column(0, "pane", pa.array(np.full(GROUPS, pane)))
            chunk = cube.cuts.spool.write("chunk", [b"x\n"])
            cube.cuts.register(state, [NewCut("f", 0, 2, chunk, 2, 2)], poll_s=1_000.0)
            epoch = cube.cuts.state(SOURCE).epoch
            batch = Batch(SOURCE, epoch, pane + 1, state.last_cut)
            cube.commit_batch(batch, SiteOutcome((QueryResult(QUERY, rows),)))
            begun_s = time.process_time()
            cube.write([MakeUpdates(QUERY, (pane,), record, sent=True)])
            found.append(time.process_time() - begun_s)
        cube.close()
    return median(found)


def main() -> int:
    made_s, hop_s = make_s(), 1.0 / merge.measure(GROUPS).through_per_s
    plain = scenario()
    pane_s = plain.first_query.window.pane_us / MICROS
    print(
        f"{SITES} sites, {DURATION_S:g} s, panes of {pane_s:g} s; of {GROUPS} groups an update "
        f"takes {made_s * 1e3:.2f} ms, a hop {hop_s * 1e3:.2f} ms; load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'demand':>7} {'unwanted':>9} {'bytes':>7} {'CPU of rows':>12}")
    worst = 1.0
    for percent in DEMANDS:
        demand = Demand(area=1000 * percent)
        exact = spend(asking(plain, demand))
        enough = spend(asking(plain, msgspec.structs.replace(demand, is_final=True)))
        assert enough.windows == exact.windows
        rows_s = [one.made * made_s + one.sent * hop_s for one in (exact, enough)]
        of_bytes = 1.0 - enough.summary_bytes / exact.summary_bytes
        of_rows = 1.0 - rows_s[1] / rows_s[0]
        unwanted = unwanted_share(percent)
        worst = min(worst, of_bytes / unwanted, of_rows / unwanted)
        print(
            f"{percent:>5} % {unwanted:>9.1%} {of_bytes:>7.1%} {of_rows:>12.1%}"
            f"   {of_bytes / unwanted:.2f} and {of_rows / unwanted:.2f} of what is unwanted"
        )
    verdict = "kept" if worst >= SAVED_MIN else "MISSED"
    print(f"wanted: at least {SAVED_MIN:g} of what is unwanted; {verdict}")
    return 0


if __name__ == "__main__":
    main()
