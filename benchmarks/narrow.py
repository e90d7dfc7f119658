"""What budgets and levels cost, as ratios within one run.

``python -m benchmarks.narrow``. *A level change ÷ a tick*: of an edge with one query and a level
of it, CPU time of a tick in which the step changes and a pane of the level is taken, and of one in
which a pane closes. *Heartbeats, full ÷ idle* and *control ÷ all*: two agents' networks and peers
over loopback, with mutual TLS; the site may send 64 kbit/s, and has nothing to send, or twice as
much. What a budget far above the demand costs: ``python -m benchmarks.wire budgets``.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
from experiments import jetstream_live as live

from headwater.algebra.capacity.way_capacity import UNKNOWN
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import MakeUpdates, UpdatesMade
from headwater.edge.report import BatchReport, QueryBatch
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.plan.degrading.companion import Companion
from headwater.plan.query import Query, QueryId

PANES = 600
TIMES = 3
"""Panes of the query in one of the level."""
BUDGET_KBIT_S = 64.0
DEMAND_KBIT_S = 128.0
SECONDS = 40.0
WARM_S = 10.0
TRIES = 3
ROOT_PORT = 7_411


# A level change


class LeveledEdge:
    """Its cube is whoever reads what it wants; nothing is on a disk."""

    def __init__(self) -> None:
        pane_us = 10 * MICROS
        begin = 100
        full = msgspec.structs.replace(
            live.QUERY, window=WindowSpec(pane_us, pane_us), begin_pane=begin
        )
        long_us = TIMES * pane_us
        window = WindowSpec(long_us, long_us)
        level = msgspec.structs.replace(
            full,
            id=QueryId("live_30", full.id.installer, full.id.counter + 1),
            window=window,
            begin_pane=window.first_window_from(full.window.pane_start_us(begin)),
            companion=Companion(str(full.id), 1, text="30 s"),
        )
        self.full: Query = full
        self.edge = Edge(
            ordinal=1, incarnation=1, config=EdgeConfig(clock_settle_s=0.001), retention_s=1e9
        )
        for query in (full, level):
            self.edge.install(query, now_s=990.0)
        self.tick(990.0)

    def tick(self, now_s: float) -> float:
        """How long it took; what it wants made is made, outside of that."""
        began_s = time.process_time_ns()
        self.edge.tick(now_s=now_s, room=lambda query: 1 << 20, capacity=lambda query: UNKNOWN)
        outputs = self.edge.take()
        took_s = (time.process_time_ns() - began_s) / 1e9
        for wanted in (one for one in outputs if isinstance(one, MakeUpdates)):
            made = [UpdatesMade(wanted.query, pane, 1, 1, 400) for pane in wanted.panes]
            self.edge.updates_made(made, now_s=now_s)
            self.edge.take()
        return took_s

    def read(self, pane: int, *, now_s: float) -> None:
        batch = QueryBatch(str(self.full.id), ((pane, 1),))
        report = BatchReport(self.full.source_name, (batch,), read_through_s=now_s)
        self.edge.batch_committed(report, now_s=now_s)


def level_changes() -> tuple[float, float]:
    """(a level change, a tick in which a pane closes), in seconds: the medians."""
    site, changes, closes = LeveledEdge(), list[float](), list[float]()
    for pane in range(100, 100 + PANES):
        end_s = site.full.window.pane_end_us(pane) / MICROS
        if (pane + 1) % TIMES == 0 and (pane + 1) // TIMES % 2:
            site.edge.set_step(str(site.full.id), 1)
            changes.append(site.tick(end_s - 0.5))
            site.edge.set_step(str(site.full.id), 0)
        site.read(pane, now_s=end_s - 0.3)
        site.tick(end_s - 0.2)
        site.read(pane + 1, now_s=end_s + 3.0)
        closes.append(site.tick(end_s + 3.0))
    return statistics.median(changes), statistics.median(closes)


# A full link


async def _on_a_link(directory: Path, demand_kbit_s: float | None) -> tuple[float, float]:
    """(median round trip of heartbeats, control ÷ all that the site sent)."""
    authority = create_authority(directory, "bench")
    keys: dict[str, CertFiles] = {
        name: issue(authority, Role.SITE, name) for name in (live.ROOT, live.SITE)
    }
    at = ("127.0.0.1", ROOT_PORT)
    root = live.Agent(live.ROOT, keys[live.ROOT], None, root_at=at)
    site = live.Agent(live.SITE, keys[live.SITE], BUDGET_KBIT_S, root_at=at)
    await root.start()
    await site.start()
    count = 0 if demand_kbit_s is None else live.rows_for(demand_kbit_s)
    began_s = time.monotonic()
    closed, waiting, seen_s = dict[int, float](), list[int](), list[float]()
    while (past_s := time.monotonic() - began_s) < SECONDS:
        if count and past_s >= (len(closed) + 1) * live.PANE_S:
            waiting.append(len(closed))
            closed[len(closed)] = time.monotonic()
        live.originate(site, waiting, closed, count)
        site.turn()
        root.turn()
        rtt_s = site.peer.rtt_s(live.ROOT)
        if rtt_s is not None and past_s > WARM_S:
            seen_s.append(rtt_s)
        await asyncio.sleep(live.TURN_S / 4)
    sent = site.network.stats().links[live.ROOT].budget.spent_bytes
    await site.network.stop()
    await root.network.stop()
    return statistics.median(seen_s), sent["control"] / sum(sent.values())


def on_a_link(demand_kbit_s: float | None) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_on_a_link(Path(directory), demand_kbit_s))


def main() -> None:
    print(f"{'what':<34} {'ratio':>6}   wanted")
    turns = [level_changes() for _ in range(TRIES)]
    ratio = statistics.median(change / close for change, close in turns)
    print(f"{'a level change ÷ a tick':<34} {ratio:>6.2f}   at most 3")
    beats, control = [], []
    for _ in range(TRIES):
        idle, (full, share) = on_a_link(None), on_a_link(DEMAND_KBIT_S)
        beats.append(full / idle[0])
        control.append(share)
    print(f"{'heartbeats, full link ÷ idle':<34} {statistics.median(beats):>6.2f}   at most 3")
    print(f"{'control ÷ all, at 64 kbit/s':<34} {statistics.median(control):>6.3f}   at most 0.2")


if __name__ == "__main__":
    main()
