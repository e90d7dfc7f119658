"""A slow reader, a real edge, cube and feeder: what is shed is read when the load is gone.

Time is the test's: a line is written in each second, and a batch takes so many seconds a line.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from feeder_kit import Batches, Site, Stream, until
from query_kit import changed
from store_kit import batch_of, query_of

from headwater.agent.input import asides
from headwater.agent.input.asides import Shedding
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import Report
from headwater.edge.record import EdgeRecord
from headwater.edge.report import BatchReport
from headwater.node.effects import CubeWrite
from headwater.plan.query import Query, Shed, Timing
from headwater.plan.readings import is_aside
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.inbox import SiteBatch

BEGIN_S = 1_000_000.0
PANE_S = 10


class Clock:
    def __init__(self) -> None:
        self.now_s = BEGIN_S

    def __call__(self) -> float:
        return self.now_s


class SlowBatches(Batches):
    """Each line has the second in which it was written."""

    def __init__(self, clock: Clock, query: Query) -> None:
        super().__init__()
        self.clock, self.query, self.s_per_line = clock, query, 0.0

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        found = []
        for batch in batches:
            lines = [line for chunk in batch.chunks for line in chunk.path.read_text().split()]
            self.read += lines if batch.queries else []
            self.clock.now_s += 0.2 + self.s_per_line * len(lines)
            times_us = [int(line) * MICROS for line in lines]
            panes = Counter(self.query.window.pane_at(time_us) for time_us in times_us)
            rows = batch_of(*((pane, "a", n) for pane, n in sorted(panes.items())))
            results = tuple(QueryResult(str(one.id), rows) for one in batch.queries)
            found.append(SiteOutcome(results, records=len(lines), high_time_us=max(times_us)))
        return found


class World:
    """The site's event loop is the test's, too."""

    def __init__(self, directory: Path) -> None:
        self.clock = Clock()
        window = WindowSpec(PANE_S * MICROS, PANE_S * MICROS)
        self.edge = Edge(
            ordinal=0, incarnation=1, config=EdgeConfig(clock_settle_s=0.001), retention_s=1e9
        )
        shedding = self.edge.shedding
        self.site = Site(
            directory,
            now_s=self.clock,
            report=self._heard,
            shedding=Shedding(
                lambda *what: shedding.skips(*what, now_s=self.clock()),
                lambda *told: shedding.hear(*told, now_s=self.clock()),
                lambda name: shedding.give_up(name, now_s=self.clock()),
            ),
        )
        source = msgspec.structs.replace(
            query_of().program.source, name="weblog", path="weblog*.log"
        )
        self.query = changed(
            query_of(),
            source=source,
            begin_pane=window.pane_at(round(BEGIN_S * MICROS)) + 1,
            window=window,
            timing=Timing(deadline_s=8.0, disorder_s=1.0),
            shed=Shed.DEFER,
        )
        self.edge.install(self.query, now_s=self.clock())
        self.made: dict[int, int] = {}
        self.deferred: set[tuple[int, int]] = set()
        self.work()

    def _heard(self, report: BatchReport) -> None:
        self.edge.batch_committed(report, now_s=self.clock())
        self.work()

    def work(self) -> None:
        for _ in range(3):
            self.edge.tick(now_s=self.clock(), room=lambda _: 1 << 20)
            while outputs := self.edge.take():
                writes = [one for one in outputs if isinstance(one, CubeWrite)]
                told = (s for one in outputs if isinstance(one, Report) for s in one.states)
                for state in told:
                    self.deferred |= set(state.deferred)
                for done in self.site.cube.write(writes):
                    for one in done or ():
                        self.made[one.pane] = self.made.get(one.pane, 0) + 1
                    self.edge.updates_made(done or (), now_s=self.clock())

    @property
    def record(self) -> EdgeRecord:
        return self.edge.progress()[0].record

    def stream(self, source: str, batches: Batches) -> Stream:
        made = Stream(self.site, source)
        made.stream._runner = batches  # type: ignore[assignment]
        return made

    async def second(self, line: bool = True) -> None:
        """Somebody writes a line, and a poll finds it."""
        self.clock.now_s += 1.0
        if line:
            self.site.write(str(int(self.clock())))
        for _ in range(2):
            polled_s = self.clock()
            followed = self.site.feeder.followed["weblog"]
            await until(lambda f=followed, s=polled_s: f.poll and f.poll.started_s >= s)
            self.clock.now_s += 0.02


def test_what_a_slow_reader_sheds_is_read_once_and_made_when_the_load_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asides, "SPARE_AFTER_S", 5.0)

    async def run() -> None:
        world = World(tmp_path)
        batches = SlowBatches(world.clock, world.query)
        task = asyncio.create_task(world.site.feeder.run())
        await world.site.feeder.install(world.query, is_new=True)
        live = world.stream("weblog", batches)
        await until(lambda: world.site.feeder.followed["weblog"].poll)
        written = 0
        for turn in range(110):
            batches.s_per_line = 3.0 if 30 <= turn < 70 else 0.0
            before_s = world.clock()
            await world.second()
            written += 1
            live.batch()
            behind = int(world.clock() - before_s) - 1
            for _ in range(behind):  # what was written while the batch ran
                world.site.write(str(int(world.clock())))
                written += 1
            await asyncio.sleep(0)
        assert world.record.set_aside, "it has shed"
        for _ in range(300):
            await world.second(line=False)
            live.batch()
            for name in {one.name for one in world.site.feeder.inbox.sources()}:
                if is_aside(name):
                    world.stream(name, batches).batch()
            await asyncio.sleep(0.01)
            world.work()
            if not world.record.set_aside and len(batches.read) >= written:
                break
        assert len(batches.read) == written, "each line once"
        assert world.deferred, "the root was told"
        assert world.record.deferred == ()
        read = {world.query.window.pane_at(int(line) * MICROS) for line in batches.read}
        first = world.query.begin_pane or 0
        assert {pane for pane in read if first <= pane < world.record.closed_through} <= set(
            world.made
        )
        await until(lambda: world.site.cube.cuts.names() == ("weblog",))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await world.site.feeder.stop()
        world.site.cube.close()

    asyncio.run(run())
