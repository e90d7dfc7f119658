"""A site's readings of the past, simulated: what a late query is read beside the live reading.

See "A late query reads the past by itself". A reading is begun in the turn of polls, so that what
was found by then is what it has, and what is found later is the live reading's. It is begun when
all queries of its unit are there, for an agent shows Spark neither reading before
(``SiteInbox.sources``): one that came later would lack what was read, and hear that its past has
ended. It has batches of its own, which stall, fail and are delivered again as the others do. It is
left when no query of it awaits it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from headwater.edge.report import BatchReport, QueryBatch
from headwater.overlay.commands.command_log import commanded
from headwater.plan.query import Query
from headwater.plan.readings import past_reading
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.records.pane_disk import Untold
from headwater.sim.records.past_book import PastDisk
from headwater.sim.tuning import Pace
from headwater.sim.world.disk import Disk
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.log import Log

if TYPE_CHECKING:
    from headwater.sim.world.spark import SiteSpark

RETRY_S = 0.5
"""How soon a commit that found no room is tried again."""
LOST_BYTES = 100
Result = Callable[[Query, list[int]], QueryBatch]
"""What becomes of these positions for a query; stores it."""


class PastSpark:
    """All readings of the past in one life of a site's reader."""

    def __init__(
        self,
        live: SiteSpark,
        queue: EventQueue,
        log: Log,
        disk: Disk,
        truth: SiteTruth,
        *,
        pace: Pace,
        random: Random,
        result: Result,
        tell: Callable[[BatchReport], None],
        begin_late: Callable[[str], None],
    ) -> None:
        """``begin_late`` tells the edge that a query came too late to a reading."""
        self._live = live
        self._queue = queue
        self._log = log
        self._disk = disk
        self._truth = truth
        self._pace = pace
        self._random = random
        self._result = result
        self._tell = tell
        self._begin_late = begin_late
        self._batches: dict[str, int] = {}
        """By reading: the number of the batch that runs; a batch of another number is void."""
        self._batch = 0

    def poll(self) -> None:
        """After the live reading has found what there is."""
        for query in self._live.queries.values():
            self._begin_for(query)
        for reading, past in list(self._disk.cube.pasts.readings.items()):
            if not self._awaiting(reading, past):
                self._leave(reading)
            elif reading not in self._batches:
                self._go_on(reading, past)

    def replay(self) -> None:
        """The checkpoint is lost: see ``SiteSpark.replay``."""
        for reading, past in self._disk.cube.pasts.readings.items():
            self._go_on(reading, past)

    def _begin_for(self, query: Query) -> None:
        """Once a record of it is written, which says that it awaits the past, or does no more."""
        cube, id_ = self._disk.cube, str(query.id)
        if not query.wants_past or id_ in cube.pasts.live_from or not self._has_unit_of(query):
            return
        reading = past_reading(query)
        past = cube.pasts.readings.setdefault(reading, PastDisk(cube.found))
        cube.pasts.live_from[id_] = cube.found
        if past.committed:
            self._begin_late(id_)
        else:
            past.queries.add(id_)
            self._truth.of_past.begun(query, past.end)

    def _has_unit_of(self, query: Query) -> bool:
        """All commands of the unit were heard, and all its queries have a record here."""
        disk = self._disk
        heard = commanded(disk.counts.values(), disk.installs)
        unit = [id_ for id_, one in disk.installs.items() if one.query.unit == query.unit]
        is_heard = heard.get(query.id.installer, 0) >= query.unit_last
        return is_heard and all(id_ in disk.cube.records for id_ in (str(query.id), *unit))

    def _awaiting(self, reading: str, past: PastDisk) -> bool:
        records = self._disk.cube.records
        return any(records[id_].past == reading for id_ in past.queries if id_ in records)

    def _leave(self, reading: str) -> None:
        del self._disk.cube.pasts.readings[reading]
        self._batches.pop(reading, None)

    def _go_on(self, reading: str, past: PastDisk) -> None:
        if past.is_read:
            self._report(reading, past, (), high_us=None)
            return
        self._batch += 1
        self._batches[reading] = self._batch
        through = min(past.end, past.committed + self._pace.past_records_max)
        takes_s = self._random.uniform(*self._pace.batch_s) + self._live.longer_s
        end_s = max(self._queue.now_s, self._live.stalled_until_s) + takes_s
        self._queue.at(end_s, self._commit, reading, self._batch, through)

    def _commit(self, reading: str, batch: int, through: int) -> None:
        if self._live.is_dead or self._batches.get(reading) != batch:
            return
        if self._queue.now_s < self._live.stalled_until_s or self._disk.is_full:
            after_s = max(RETRY_S, self._live.stalled_until_s - self._queue.now_s)
            self._queue.after(after_s, self._commit, reading, batch, through)
            return
        past, log = self._disk.cube.pasts.readings[reading], self._log
        span = range(past.committed, through)
        positions = [p for p in span if p not in log.lost]
        past.loss_count += len(positions) < len(span)
        times_us = [log.times_us[p] for p in positions]
        if past.low_us is None and times_us:
            past.low_us = min(times_us)
        queries = [q for id_, q in self._live.queries.items() if id_ in past.queries]
        results = [self._result(query, positions) for query in queries]
        for query in queries:
            self._truth.of_past.read(query, past.low_us)
        self._keep_untold(results)
        past.committed = through
        del self._batches[reading]
        good = tuple(result for result in results if result.failed is None)
        self._report(reading, past, good, high_us=max(times_us, default=None))
        if not past.is_read:
            self._go_on(reading, past)

    def _keep_untold(self, results: list[QueryBatch]) -> None:
        failed = [result for result in results if result.failed is not None]
        self._disk.cube.untold += [Untold({one.query}, one, damaged_us=None) for one in failed]

    def _report(
        self, reading: str, past: PastDisk, results: tuple[QueryBatch, ...], *, high_us: int | None
    ) -> None:
        """A failed batch is told before the reading is known to have passed it."""
        untold = [
            one
            for one in self._disk.cube.untold
            if one.failed is not None and one.failed.query in past.queries and not one.is_told
        ]
        failed = {one.failed.query: one.failed for one in untold if one.failed is not None}
        good = [result for result in results if result.query not in failed]
        report = BatchReport(
            reading,
            (*good, *failed.values()),
            high_time_us=high_us,
            low_time_us=past.low_us,
            ended=past.is_read,
            lost_bytes=LOST_BYTES if past.loss_count else 0,
            loss_through=past.loss_count,
        )
        self._queue.after(self._pace.tell_s, self._deliver, report, untold)

    def _deliver(self, report: BatchReport, told: list[Untold]) -> None:
        if not self._live.is_dead:
            for one in told:
                one.is_told = True
            self._tell(report)
