"""A site's stretches that were set aside, simulated: made before a batch, read when there is time.

See "A stretch that is skipped is a reading by itself". The edge says what is skipped, as at an
agent; each position counts as so many bytes. A stretch is read while the live reading has nothing
to do and nothing was skipped for a while, the newest first, in batches that stall, fail and are
delivered again as the others do. It is left when no record awaits it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING

from headwater.algebra.far_times import LONG_AGO_S
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.record import SetAside
from headwater.edge.report import BatchReport, QueryBatch
from headwater.edge.shedding.choose_skip import Ahead, Found, Skip
from headwater.plan.readings import aside_number
from headwater.sim.records.admits import SOURCE
from headwater.sim.records.aside_book import AsideDisk
from headwater.sim.records.pane_disk import Untold
from headwater.sim.tuning import Pace
from headwater.sim.world.disk import Disk
from headwater.sim.world.event_queue import Clock, EventQueue
from headwater.sim.world.log import Log
from headwater.sim.world.past_spark import RETRY_S, Result

if TYPE_CHECKING:
    from headwater.sim.world.spark import SiteSpark

RECORD_BYTES = 100_000
"""So that the reading of a simulated batch takes about as long as that of a real one."""
BATCHES_MAX = 6
"""As an agent's: what the pace goes by."""
SPARE_AFTER_S = 4.0
"""So long after the site has skipped input, it has no CPU to spare."""

Skips = Callable[[str, Ahead, ReadingPace], Mapping[str, Skip]]


class AsideSpark:
    """Of one life of a site's reader."""

    def __init__(
        self,
        live: SiteSpark,
        queue: EventQueue,
        clock: Clock,
        log: Log,
        disk: Disk,
        *,
        pace: Pace,
        random: Random,
        result: Result,
        tell: Callable[[BatchReport], None],
        skips: Skips,
        hear: Callable[[str, SetAside], None],
    ) -> None:
        """``skips`` and ``hear`` are the edge's."""
        self._live = live
        self._queue = queue
        self._clock = clock
        self._log = log
        self._disk = disk
        self._pace = pace
        self._random = random
        self._result = result
        self._tell = tell
        self._skips = skips
        self._hear = hear
        self._reading_pace = ReadingPace(BATCHES_MAX)
        self._found: list[Found] = []
        self._rate = 0.0
        self._polled: tuple[int, float] | None = None
        self._read_bytes = 0
        self._knows_all = False
        """What waits was found by polls of this life."""
        self._skipped_s = LONG_AGO_S
        self._batch: str | None = None
        """The stretch of which a batch runs."""
        self._number = 0

    # What the live reading says

    def start(self) -> None:
        """The edge hears of all that there is before it hears of anything else."""
        for reading, one in self._disk.cube.asides.stretches.items():
            self._tell_edge(reading, one)

    def polled(self, position: int, found_s: float) -> None:
        """All up to there was found."""
        if self._polled is not None and found_s > self._polled[1]:
            count, since_s = position - self._polled[0], found_s - self._polled[1]
            self._rate = 0.8 * self._rate + 0.2 * count * RECORD_BYTES / since_s
            if count:
                self._found.append(Found(position, count * RECORD_BYTES, found_s))
        self._polled = (position, found_s)

    def took(self, through: int, count: int, takes_s: float) -> None:
        """A live batch was committed."""
        self._reading_pace.took(count * RECORD_BYTES, takes_s)
        self._read_bytes += count * RECORD_BYTES
        self._found = [one for one in self._found if one.through_cut > through]
        self._knows_all = self._knows_all or not self._found

    def skip(self) -> bool:
        """Before a live batch: whether nothing is left for one."""
        cube = self._disk.cube
        if not self._knows_all or not any(one.sheds for one in self._live.queries.values()):
            return False
        ahead = Ahead(tuple(self._found), self._rate, self._read_bytes)
        skips = self._skips(SOURCE.name, ahead, self._reading_pace)
        own = {id_: one for id_, one in skips.items() if id_ in self._live.queries}
        made = cube.asides.skip(own, committed=cube.committed, found=cube.found)
        for reading in made:
            self._skipped_s = self._queue.now_s
            self._queue.after(
                self._pace.tell_s, self._deliver_aside, reading, cube.asides.stretches[reading]
            )
        cube.committed = max(cube.committed, cube.asides.read_by_nobody(self._live.queries))
        self._found = [one for one in self._found if one.through_cut > cube.committed]
        return cube.committed == cube.found

    def next_end(self) -> int | None:
        """Where a live batch ends at the latest: it does not mix what a query has skipped with what
        it has not."""
        cube = self._disk.cube
        ends = [end for end in cube.asides.skipped.values() if end > cube.committed]
        return min(ends, default=None)

    def _deliver_aside(self, reading: str, one: AsideDisk) -> None:
        if not self._live.is_dead:
            self._tell_edge(reading, one)

    def _tell_edge(self, reading: str, one: AsideDisk) -> None:
        for query, (first, last) in list(one.panes.items()):
            self._hear(query, SetAside(reading, first, last, through_cut=one.end))

    # Reading it

    def look(self) -> None:
        """With each poll, after the live reading."""
        stretches = self._disk.cube.asides.stretches
        for reading, one in list(stretches.items()):
            if not any(self._awaits(query, reading) for query in one.panes):
                del stretches[reading]
        is_spare = self._queue.now_s >= self._skipped_s + SPARE_AFTER_S
        if self._batch in stretches or not is_spare or self._live.is_busy:
            return
        self._batch = None
        for reading in sorted(stretches, key=aside_number, reverse=True):
            if any(self._is_written(query, reading) for query in stretches[reading].panes):
                self._go_on(reading)
                return

    def replay(self) -> None:
        """The checkpoint is lost: see ``SiteSpark.replay``."""
        if self._batch in self._disk.cube.asides.stretches:
            self._go_on(self._batch)

    def _awaits(self, query_id: str, reading: str) -> bool:
        record = self._disk.cube.records.get(query_id)
        if record is None:
            return query_id in self._disk.installs
        return self._is_written(query_id, reading) or record.aside_heard < aside_number(reading)

    def _is_written(self, query_id: str, reading: str) -> bool:
        record = self._disk.cube.records.get(query_id)
        return record is not None and any(one.reading == reading for one in record.set_aside)

    def _go_on(self, reading: str) -> None:
        one = self._disk.cube.asides.stretches[reading]
        if one.is_read:
            self._report(reading, one, ())
            return
        self._batch = reading
        self._number += 1
        through = min(one.end, one.committed + self._pace.past_records_max)
        takes_s = self._random.uniform(*self._pace.batch_s) + self._live.longer_s
        end_s = max(self._queue.now_s, self._live.stalled_until_s) + takes_s
        self._queue.at(end_s, self._commit, reading, self._number, through)

    def _commit(self, reading: str, number: int, through: int) -> None:
        one = self._disk.cube.asides.stretches.get(reading)
        if self._live.is_dead or number != self._number or one is None:
            return
        if self._queue.now_s < self._live.stalled_until_s or self._disk.is_full:
            after_s = max(RETRY_S, self._live.stalled_until_s - self._queue.now_s)
            self._queue.after(after_s, self._commit, reading, number, through)
            return
        positions = [p for p in range(one.committed, through) if p not in self._log.lost]
        lost = through - one.committed - len(positions)
        queries = [
            query
            for id_, query in self._live.queries.items()
            if id_ in one.panes and self._is_written(id_, reading)
        ]
        results = [self._result(query, positions) for query in queries]
        failed = [result for result in results if result.failed is not None]
        self._disk.cube.untold += [Untold({bad.query}, bad, damaged_us=None) for bad in failed]
        one.committed = through
        self._batch = None
        good = tuple(result for result in results if result.failed is None)
        self._report(reading, one, good, lost=lost)
        if not one.is_read:
            self._go_on(reading)

    def _report(
        self, reading: str, one: AsideDisk, results: tuple[QueryBatch, ...], *, lost: int = 0
    ) -> None:
        untold = [
            bad
            for bad in self._disk.cube.untold
            if bad.failed is not None and bad.failed.query in one.panes and not bad.is_told
        ]
        failed = {bad.failed.query: bad.failed for bad in untold if bad.failed is not None}
        good = [result for result in results if result.query not in failed]
        report = BatchReport(
            reading, (*good, *failed.values()), ended=one.is_read, lost_bytes=lost * RECORD_BYTES
        )
        self._queue.after(self._pace.tell_s, self._deliver, report, untold)

    def _deliver(self, report: BatchReport, told: list[Untold]) -> None:
        if not self._live.is_dead:
            for one in told:
                one.is_told = True
            self._tell(report)
