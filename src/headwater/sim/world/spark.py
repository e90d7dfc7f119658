"""A site's reading, simulated: polls that find input, and a Spark that turns it into partial rows.

Polling and batches are apart, as they are in an agent: a poll registers what it found as a cut,
Spark commits cuts when it gets to them. A Spark that stalls leaves found input uncommitted; one
that lost its checkpoint delivers a batch again, which the cube must recognise.

Records of a query that goes by age are placed as an agent does it: what the edge says is added to
their times, and holds for a batch. A batch that is begun anew asks anew; nothing of it was placed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

from headwater.algebra.sets import ranges
from headwater.edge.record import SetAside
from headwater.edge.report import BatchReport, QueryBatch
from headwater.overlay.commands.command_log import commanded
from headwater.plan.query import Query, TimeKind
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.records.admits import SOURCE, admits
from headwater.sim.records.pane_disk import Untold
from headwater.sim.shedding.aside_spark import AsideSpark, Skips
from headwater.sim.tuning import Pace
from headwater.sim.world.disk import Disk
from headwater.sim.world.event_queue import Clock, EventQueue
from headwater.sim.world.log import Log
from headwater.sim.world.past_spark import LOST_BYTES, RETRY_S, PastSpark

Tell = Callable[[BatchReport], None]
OffsetOf = Callable[[str], int]
"""By query: the microseconds that are added to the times of its records, now."""
Reading = dict[str, tuple[Query, int]]
"""By id: the queries of a batch, each with the offset that holds for it."""


class SiteSpark:
    """One life of a site's reader; a crash leaves ``disk`` and drops this."""

    def __init__(
        self,
        queue: EventQueue,
        clock: Clock,
        log: Log,
        disk: Disk,
        truth: SiteTruth,
        *,
        pace: Pace,
        random: Random,
        tell: Tell,
        offset_us: OffsetOf,
        ahead_s: Callable[[], float],
        begin_late: Callable[[str], None],
        skips: Skips,
        hear_aside: Callable[[str, SetAside], None],
        is_finite: bool,
    ) -> None:
        """``skips`` and ``hear_aside``: see ``AsideSpark``. ``ahead_s``: how far the wall clock is
        ahead of the steady one, as the node believes; ``begin_late``: see ``PastSpark``."""
        self.queries: dict[str, Query] = {}
        self.is_dead = False
        self.stalled_until_s = 0.0
        self.failing_until_s = 0.0
        self.longer_s = 0.0
        """By so much each batch takes longer than usual."""
        self._queue = queue
        self._clock = clock
        self._log = log
        self._disk = disk
        self._truth = truth
        self._pace = pace
        self._random = random
        self._tell = tell
        self._offset_us = offset_us
        self._ahead_s = ahead_s
        self._is_finite = is_finite
        self._batch = 0
        """The number of the batch that runs; a batch of another number is void."""
        self._is_busy = False
        self._past = PastSpark(
            self,
            queue,
            log,
            disk,
            truth,
            pace=pace,
            random=random,
            result=lambda query, positions: self._result(query, positions, offset_us=0),
            tell=tell,
            begin_late=begin_late,
        )

        self._asides = AsideSpark(
            self,
            queue,
            clock,
            log,
            disk,
            pace=pace,
            random=random,
            result=lambda query, positions: self._result(query, positions, offset_us=0),
            tell=tell,
            skips=skips,
            hear=hear_aside,
        )

    @property
    def is_busy(self) -> bool:
        """A live batch runs."""
        return self._is_busy

    def start(self) -> None:
        self._asides.start()
        for one in self._disk.cube.untold:
            one.is_told = False
        after_s = self._random.random() * self._pace.poll_every_s
        if self._pace.poll_within_s is not None:
            every_s = self._pace.poll_every_s
            after_s = every_s - self._clock.now_s() % every_s
            after_s += self._random.uniform(0.001, self._pace.poll_within_s)
        self._queue.after(after_s, self._poll)

    def replay(self) -> None:
        """The checkpoint is lost: what runs is begun again, or what was done is delivered again."""
        if self._is_busy:
            self._begin()
        else:
            self._report((), high_us=None)
        self._past.replay()
        self._asides.replay()

    def _poll(self) -> None:
        if self.is_dead:
            return
        self._queue.after(self._pace.poll_every_s, self._poll)
        if self._disk.is_full or (self._is_finite and not self._has_whole_unit()):
            return
        cube = self._disk.cube
        found, cube.found = cube.found, self._log.grow(self._queue.now_s)
        cube.found_s = self._clock.now_s()
        self._truth.polled(clock_s=cube.found_s + self._ahead_s(), position=cube.found)
        self._note_damage(found, cube.found)
        self._past.poll()
        self._asides.polled(cube.found, cube.found_s)
        if self._is_busy:
            return
        if cube.committed < cube.found:
            self._begin()
        else:
            self._report((), high_us=None)
        self._asides.look()

    def clock_was_set(self, *, was_s: float) -> None:
        """The node believes another time of day. One that was set back holds for the newest poll;
        one that was set forward for the next: records that came since have the former's stamps."""
        cube = self._disk.cube
        if cube.found_s is not None and self._ahead_s() < was_s:
            self._truth.polled(clock_s=cube.found_s + self._ahead_s(), position=cube.found)

    def _has_whole_unit(self) -> bool:
        """As an agent does: what is complete is read once, by all queries that came together.

        All of one unit run here or none does: a unit is the parts of one stream.
        """
        kept = self._disk.installs
        heard = commanded(self._disk.counts.values(), kept)
        units = {query.unit for query in self.queries.values()}
        return (
            bool(units)
            and all(heard.get(q.id.installer, 0) >= q.unit_last for q in self.queries.values())
            and all(i in self.queries for i in kept if kept[i].query.unit in units)
        )

    def _note_damage(self, first: int, end: int) -> None:
        if not self._log.lost:
            return
        lost = [self._log.times_us[p] for p in range(first, end) if p in self._log.lost]
        if lost:
            self._disk.cube.damage.append((end, min(lost), max(lost)))

    def _begin(self) -> None:
        self._batch += 1
        cube = self._disk.cube
        self._is_busy = not self._asides.skip()
        if not self._is_busy:
            self._report((), high_us=None)
            return
        through = min(cube.found, cube.committed + self._pace.batch_records_max)
        through = min(through, self._asides.next_end() or through)
        takes_s = self._random.uniform(*self._pace.batch_s) + self.longer_s
        end_s = max(self._queue.now_s, self.stalled_until_s) + takes_s
        queries = {id_: (query, self._offset_us(id_)) for id_, query in self.queries.items()}
        self._queue.at(end_s, self._commit, self._batch, through, queries, takes_s)

    def _commit(self, batch: int, through: int, queries: Reading, takes_s: float) -> None:
        if self.is_dead or batch != self._batch:
            return
        is_stalled = self._queue.now_s < self.stalled_until_s
        if is_stalled or self._disk.is_full or self._has_unrecorded(queries):
            after_s = max(RETRY_S, self.stalled_until_s - self._queue.now_s)
            self._queue.after(after_s, self._commit, batch, through, queries, takes_s)
            return
        cube, log = self._disk.cube, self._log
        reading = [one for id_, one in queries.items() if self._reads_live(id_, through)]
        self._truth.states.read(
            [query for query, _ in reading], self._disk.incarnation, cube.committed
        )
        positions = [p for p in range(cube.committed, through) if p not in log.lost]
        results = [
            self._result(query, self._live_of(query, positions), offset_us=offset_us)
            for query, offset_us in reading
        ]
        self._placed(queries, through)
        self._keep_untold(results, through)
        self._asides.took(through, through - cube.committed, takes_s)
        cube.committed = through
        self._is_busy = False
        good = tuple([result for result in results if result.failed is None])
        self._report(good, high_us=max([log.times_us[p] for p in positions], default=None))
        if cube.committed < cube.found:
            self._begin()

    def _has_unrecorded(self, queries: Reading) -> bool:
        """A cube refuses results of a query of which nothing is recorded yet."""
        known = self._disk.cube.records
        return any(id_ in self.queries and id_ not in known for id_ in queries)

    def _reads_live(self, query_id: str, through: int) -> bool:
        """Whether a batch up to there has something for this query; its past is not in it."""
        query, live_from = self.queries.get(query_id), self._disk.cube.pasts.live_from
        if self._disk.cube.asides.skipped.get(query_id, 0) > self._disk.cube.committed:
            return False
        if query is None or not query.wants_past:
            return query is not None
        return query_id in live_from and live_from[query_id] < through

    def _live_of(self, query: Query, positions: list[int]) -> list[int]:
        first = self._disk.cube.pasts.live_from.get(str(query.id), 0)
        return [p for p in positions if p >= first] if first else positions

    def _placed(self, queries: Reading, through: int) -> None:
        cube = self._disk.cube
        for query_id, (query, offset_us) in queries.items():
            if query.time is TimeKind.AGE and query_id in cube.records:
                self._truth.placements(query).place(
                    cube.committed, through, offset_us=offset_us, incarnation=self._disk.incarnation
                )

    def _result(self, query: Query, positions: list[int], *, offset_us: int) -> QueryBatch:
        log = self._log
        records = [
            (log.numbers[p], log.times_us[p] + offset_us)
            for p in positions
            if admits(query, log.numbers[p])
        ]
        given: tuple[int, ...] = ()
        if query.stands_for is not None:
            records = [one for one in records if self._is_taken(query, one[1])]
            given = self._given(query, positions)
        if records and self._queue.now_s < self.failing_until_s:
            panes = [query.window.pane_at(time_us) for _, time_us in records]
            self._disk.cube.states.miss(min(time_us for _, time_us in records), str(query.id))
            self._truth.states.missed(query, positions)
            touched = (min(panes), max(panes)) if query.numbers is None else None
            return QueryBatch(str(query.id), failed="division by zero", touched=touched)
        if query.numbers is not None and records:
            last = max(query.window.pane_at(time_us) for _, time_us in records)
            first = query.numbers.whole_from(query.window, last)
            self._truth.of_numbers.first_read(query, self._disk.incarnation, positions[0], first)
        if query.holds_states:
            stored, before = self._disk.cube.states.store(query, records)
            return QueryBatch(str(query.id), stored, before_begin=before)
        now_s = self._clock.now_s()
        panes_stored, too_late, keys = self._disk.cube.store(query, records, now_s=now_s)
        return QueryBatch(str(query.id), panes_stored, too_late=too_late, given=given, keys=keys)

    def _given(self, level: Query, positions: list[int]) -> tuple[int, ...]:
        """The panes that a level has taken, and that records of its full query lie in."""
        full = msgspec.structs.replace(level, companion=msgspec.UNSET)
        read = (p for p in positions if admits(full, self._log.numbers[p]))
        times_us = (self._log.times_us[p] for p in read)
        taken = (time_us for time_us in times_us if self._is_taken(level, time_us))
        return tuple(sorted({level.window.pane_at(time_us) for time_us in taken}))

    def _is_taken(self, level: Query, time_us: int) -> bool:
        """The rows of a level are those of its full query, of the panes that it has taken."""
        record = self._disk.cube.records.get(str(level.id))
        pane = level.window.pane_at(time_us)
        return record is not None and ranges.contains(record.taken, pane)

    def _keep_untold(self, results: list[QueryBatch], through: int) -> None:
        cube = self._disk.cube
        for result in results:
            if result.failed is not None:
                cube.untold.append(Untold({result.query}, failed=result, damaged_us=None))
        for position, first_us, last_us in cube.damage:
            if position <= through:
                cube.states.miss(first_us)
            if position <= through and cube.records:
                damaged_us = (first_us, last_us)
                cube.untold.append(Untold(set(cube.records), failed=None, damaged_us=damaged_us))
        cube.damage = [damage for damage in cube.damage if damage[0] > through]

    def _report(self, results: tuple[QueryBatch, ...], *, high_us: int | None) -> None:
        cube = self._disk.cube
        report = BatchReport(
            SOURCE.name,
            results,
            high_time_us=high_us,
            read_through_s=cube.found_s if cube.committed == cube.found else None,
            ended=self._is_finite and cube.committed == cube.found and cube.found_s is not None,
        )
        new = [one for one in cube.untold if not one.is_told]
        if new:
            report = _with_untold(report, new)
        self._queue.after(self._pace.tell_s, self._deliver, report, new)

    def _deliver(self, report: BatchReport, told: list[Untold]) -> None:
        if not self.is_dead:
            for one in told:
                one.is_told = True
                self._note_lost(one)
            self._tell(report)

    def _note_lost(self, one: Untold) -> None:
        """The edge takes a loss with the offset of the moment."""
        for query in self.queries.values():
            if one.damaged_us is not None and query.time is TimeKind.AGE:
                offset_us = self._offset_us(str(query.id))
                self._truth.placements(query).lose(one.damaged_us, offset_us=offset_us)


def _with_untold(report: BatchReport, new: list[Untold]) -> BatchReport:
    damaged_us = [one.damaged_us for one in new if one.damaged_us is not None]
    failed = {one.failed.query: one.failed for one in new if one.failed is not None}
    good = [result for result in report.queries if result.query not in failed]
    return msgspec.structs.replace(
        report,
        queries=(*good, *failed.values()),
        lost_bytes=LOST_BYTES * len(damaged_us),
        damaged_from_us=min((first for first, _ in damaged_us), default=None),
        damaged_to_us=max((last for _, last in damaged_us), default=None),
    )
