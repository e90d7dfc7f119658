"""Sites and a root without Spark, disk or network: edges and roots over plain dictionaries.

Records are numbers, rows are sorted tuples of them, so a record that is counted twice is there
twice. ``SiteDesk`` and ``RootDesk`` do what a shell does: they execute outputs in order, keep what
must be durable, and can be thrown away and made again from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.tolerance import Finally
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.sets import ranges
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.edge import outputs as edge_out
from headwater.edge.config import EdgeConfig
from headwater.edge.edge import Edge
from headwater.edge.outputs import MakeUpdates, UpdatesMade
from headwater.edge.record import EdgeRecord, PaneKept, QueryKept
from headwater.edge.report import BatchReport, QueryBatch
from headwater.node.effects import perform_all
from headwater.plan.degrading.companion import Companion
from headwater.plan.notice import Notice
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId, Timing
from headwater.plan.roster import Roster, Site
from headwater.plan.sources.source import Source, SourceFormat
from headwater.root import outputs as root_out
from headwater.root.books import Books
from headwater.root.carriers.absences import ParentsOf
from headwater.root.config import RootConfig
from headwater.root.outputs import KeptSummary, RootKept, WindowAnswered
from headwater.root.root import Root
from headwater.root.said.envelope import LeftOut
from headwater.sim.records.ledger_disk import LedgerDisk

PANE_S = 10
TICKS_MAX = 200

SOURCE = Source(
    name="hits",
    columns=(Column("t", "timestamp"), Column("v", "bigint")),
    format=SourceFormat.CSV,
    path="*.csv",
    time_column="t",
)
PROGRAM = Program("", SOURCE, (), (), "", "", "", ("t",), ())
"""No machine looks into it."""


def make_query(
    *,
    name: str = "counts",
    panes: int = 1,
    slide: int | None = None,
    begin_pane: int | None = 0,
    ends: bool = False,
    sites: tuple[str, ...] = (),
    counter: int = 1,
    root: str = "s0",
    **timing: float | None,
) -> Query:
    """Windows of so many panes of ten seconds."""
    pane_us = PANE_S * MICROS
    return Query(
        id=QueryId(name, "s0", counter),
        window=WindowSpec(panes * pane_us, (slide or panes) * pane_us),
        root=root,
        program=PROGRAM,
        sites=sites,
        begin_pane=begin_pane,
        ends=ends,
        timing=msgspec.structs.replace(Timing(disorder_s=1.0), **timing),
    )


def make_roster(count: int) -> Roster:
    return Roster(1, tuple(Site(n, f"s{n}") for n in range(count)), "s0")


class NumbersMerger:
    """Rows are sorted tuples of record numbers."""

    def none(self) -> tuple[int, ...]:
        return ()

    def merge(self, parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        return tuple(sorted(record for part in parts for record in part))

    def size_bytes(self, rows: tuple[int, ...]) -> int:
        return 8 * len(rows)


class PaneDisk:
    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.updates: list[tuple[int, ...]] = []
        self.sent: ranges.Ranges = ()
        self.is_acked = False
        self.is_same = False
        self.written_s = 0.0


class SiteDisk:
    """A cube that outlives its edge."""

    def __init__(
        self, incarnation: int, *, born_s: float = LONG_AGO_S, records_max: int = 100
    ) -> None:
        self.incarnation = incarnation
        self.born_s = born_s
        self.records_max = records_max
        self.records: dict[str, EdgeRecord] = {}
        self.panes: dict[str, dict[int, PaneDisk]] = defaultdict(lambda: defaultdict(PaneDisk))

    def store(self, query: str, pane: int, record: int, *, now_s: float) -> bool:
        """Whether it counts: not below the first pane, not sealed."""
        kept = self.records.get(query)
        if kept is None or kept.first_pane is None:
            return False
        if pane < max(kept.first_pane, kept.sealed_through, kept.done_through):
            return False
        disk = self.panes[query][pane]
        disk.waiting.append(record)
        disk.written_s = now_s
        return True

    def make_updates(self, wanted: MakeUpdates) -> list[UpdatesMade]:
        self.records[wanted.query] = wanted.record
        return [self._make_pane(wanted, pane) for pane in wanted.panes]

    def _make_pane(self, wanted: MakeUpdates, pane: int) -> UpdatesMade:
        disk = self.panes[wanted.query][pane]
        first = len(disk.updates) + 1
        while disk.waiting:
            part, disk.waiting = disk.waiting[: self.records_max], disk.waiting[self.records_max :]
            disk.updates.append(tuple(sorted(part)))
            disk.is_acked = False
        last = len(disk.updates)
        if wanted.sent and last >= first:
            disk.sent = ranges.union(disk.sent, ((first, last),))
        return UpdatesMade(wanted.query, pane, first, last, row_bytes=100)

    def make_early(self, wanted: edge_out.MakeEarly) -> list[UpdatesMade]:
        """What waits here has no keys, so none of it leaves before the close."""
        count = len(self.panes[wanted.query][wanted.pane].updates)
        return [UpdatesMade(wanted.query, wanted.pane, count + 1, count, is_early=True)]

    def roll_up(self, write: edge_out.RollUp) -> list[UpdatesMade]:
        """What was made of the panes, and what waits there, waits for the level's own update."""
        self.records[write.query] = write.record
        self.records[write.level] = write.level_record
        coarse = self.panes[write.level][write.pane]
        for pane in write.panes:
            at = self.panes[write.query][pane]
            coarse.waiting += [one for update in at.updates for one in update] + at.waiting
        return [UpdatesMade(write.level, write.pane, 1, 0, is_rolled_up=True)]

    def remember(self, write: edge_out.Remember) -> None:
        self.records[write.query] = write.record

    def mark_sent(self, write: edge_out.MarkSent) -> None:
        for pane, first, last in write.updates:
            disk = self.panes[write.query][pane]
            disk.sent = ranges.union(disk.sent, ((first, last),))

    def mark_acked(self, write: edge_out.MarkAcked) -> None:
        self.records[write.query] = write.record
        for pane in [p for p in self.panes[write.query] if p < write.done_through]:
            del self.panes[write.query][pane]
        for pane, disk in self.panes[write.query].items():
            disk.is_acked |= ranges.contains(write.panes, pane)

    def mark_unacked(self, write: edge_out.MarkUnacked) -> None:
        for disk in self.panes[write.query].values():
            disk.is_acked = False

    def expire(self, write: edge_out.Expire) -> None:
        self.records[write.query] = write.record
        for pane in write.panes:
            self.panes[write.query].pop(pane, None)

    def forget(self, write: edge_out.Forget) -> None:
        self.records.pop(write.query, None)
        self.panes.pop(write.query, None)

    def rows(self, query: str, pane: int, updates: ranges.Ranges) -> tuple[int, ...] | None:
        disk = self.panes[query].get(pane)
        if disk is None:
            return None
        parts = [disk.updates[n - 1] for a, b in updates for n in range(a, b + 1)]
        return NumbersMerger().merge(parts)

    def restore(self) -> list[QueryKept]:
        return [
            QueryKept(
                query,
                record,
                tuple(
                    PaneKept(
                        pane,
                        len(disk.updates),
                        disk.sent,
                        disk.is_acked,
                        len(disk.waiting),
                        100,
                        disk.written_s,
                        disk.is_same,
                    )
                    for pane, disk in sorted(self.panes[query].items())
                    if pane >= record.done_through and (disk.updates or disk.waiting)
                ),
            )
            for query, record in self.records.items()
        ]


class StatesDisk(SiteDisk):
    """A cube of a state query: the last n records, in the order in which they were stored."""

    def __init__(self, incarnation: int, *, last_n: int, **options: float) -> None:
        super().__init__(incarnation, **options)  # type: ignore[arg-type]
        self.last_n = last_n
        self.read: list[tuple[int, int]] = []
        self.is_whole = True

    def store(self, query: str, pane: int, record: int, *, now_s: float) -> bool:
        self.read.append((pane, record))
        return True

    def _make_pane(self, wanted: MakeUpdates, pane: int) -> UpdatesMade:
        numbers = [number for of, number in self.read if of <= pane][-self.last_n :]
        known = self.panes[wanted.query]
        before = known[pane - 1].updates if pane - 1 in known else []
        disk = known[pane]
        at = range(0, len(numbers), self.records_max)
        disk.updates = [tuple(sorted(numbers[a : a + self.records_max])) for a in at]
        disk.is_same = disk.updates == before
        if wanted.sent and disk.updates:
            disk.sent = ((1, len(disk.updates)),)
        return UpdatesMade(
            wanted.query,
            pane,
            1,
            len(disk.updates),
            100,
            is_same=disk.is_same,
            is_whole=self.is_whole,
        )


class SiteDesk:
    """An edge, its disk, and what it has said: summaries and states wait to be taken."""

    def __init__(
        self,
        ordinal: int,
        queries: Iterable[Query],
        *,
        disk: SiteDisk | None = None,
        config: EdgeConfig | None = None,
        retention_s: float = 86_400.0,
        now_s: float = 0.0,
    ) -> None:
        self.ordinal = ordinal
        self.disk = disk or SiteDisk(1000 + ordinal)
        self.queries = {str(query.id): query for query in queries}
        self.config = config or EdgeConfig(clock_settle_s=0.5)
        self.retention_s = retention_s
        self.room = 1 << 30
        self.notices: list[Notice] = []
        self.writes: list[edge_out.Output] = []
        self.said: list[Summary] = []
        self.told: list[SiteState] = []
        self.start(now_s=now_s)

    def start(self, *, now_s: float) -> None:
        self.edge = Edge(
            ordinal=self.ordinal,
            incarnation=self.disk.incarnation,
            config=self.config,
            retention_s=self.retention_s,
            born_s=self.disk.born_s,
        )
        self.edge.restore(self.disk.restore())
        for query in self.queries.values():
            self.edge.install(query, now_s=now_s)
            self.edge.read_past(str(query.id), is_read=False)
        self.edge.forget_uninstalled()
        self.work(now_s=now_s)

    def commit(
        self,
        records: dict[int, list[int]] | None = None,
        *,
        now_s: float,
        read_through_s: float | None = None,
        high_time_s: float | None = None,
        query: str | None = None,
        source: str = SOURCE.name,
        **report: object,
    ) -> set[int]:
        """A committed batch of (pane -> records) for one query, or a poll; what was stored."""
        query = query or next(iter(self.queries))
        stored: set[int] = set()
        counts: dict[int, int] = {}
        too_late = 0
        for pane, numbers in (records or {}).items():
            kept = [n for n in numbers if self.disk.store(query, pane, n, now_s=now_s)]
            stored.update(kept)
            too_late += len(numbers) - len(kept)
            if kept:
                counts[pane] = len(kept)
        batch = QueryBatch(query, tuple(sorted(counts.items())), too_late=too_late)
        self.report(
            BatchReport(
                source,
                (batch,) if records else (),
                high_time_us=None if high_time_s is None else round(high_time_s * MICROS),
                read_through_s=read_through_s,
                **report,  # type: ignore[arg-type]
            ),
            now_s=now_s,
        )
        return stored

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        """The wall clock is believed to be so far ahead of the steady one, from now on."""
        self.edge.set_clock(ahead_s, now_s=now_s)
        self.work(now_s=now_s)

    def report(self, report: BatchReport, *, now_s: float) -> None:
        self.edge.batch_committed(report, now_s=now_s)
        self.work(now_s=now_s)

    def hear(self, ack: Acknowledgement, *, now_s: float) -> None:
        self.edge.receive_ack(ack, now_s=now_s)
        self.work(now_s=now_s)

    def work(self, *, now_s: float) -> None:
        """Execute, and tick as long as a tick is due."""
        self._execute(now_s=now_s)
        for _ in range(TICKS_MAX):
            if self.edge.next_deadline_s() > now_s:
                return
            self.edge.tick(now_s=now_s, room=lambda _: self.room)
            self._execute(now_s=now_s)
        raise AssertionError("the edge wants to be ticked for ever")

    def _execute(self, *, now_s: float) -> None:
        outputs = self.edge.take()
        while outputs:
            for output in outputs:
                self._do(output, now_s=now_s)
            outputs = self.edge.take()

    def _do(self, output: edge_out.Output, *, now_s: float) -> None:
        match output:
            case edge_out.Send():
                self._send(output, now_s=now_s)
            case edge_out.Report(states):
                self.told += states
            case Notice():
                self.notices.append(output)
            case edge_out.MakeUpdates():
                self.writes.append(output)
                self.edge.updates_made(self.disk.make_updates(output), now_s=now_s)
            case edge_out.Withdrawn() | edge_out.Outlived() | edge_out.Altered():
                self.writes.append(output)
            case _:
                self.writes.append(output)
                perform_all(self.disk, [output])

    def _send(self, send: edge_out.Send, *, now_s: float) -> None:
        rows = None
        if send.updates:
            rows = self.disk.rows(send.query, send.pane, send.updates)
            for pane in send.panes:
                if rows is None:
                    self.edge.rows_gone(send.query, pane)
                else:
                    self.edge.sent(send.query, pane, send.updates, now_s=now_s)
            if rows is None:
                return
        summary = Summary(
            query=send.query,
            pane=send.pane,
            coverage=send.coverage,
            rows=rows,
            lane=send.lane,
            more=send.more,
        )
        self.said.append(summary)

    def take_said(self) -> list[Summary]:
        said, self.said = self.said, []
        return said

    def take_told(self) -> list[SiteState]:
        told, self.told = self.told, []
        return told


class RootDisk(LedgerDisk):
    """A ledger that outlives its root: the simulator's."""

    def __init__(self, incarnation: int = 50, query: Query | None = None) -> None:
        super().__init__(query or make_query(), NumbersMerger())
        self.incarnation = incarnation
        self.starts = 0
        self.lost: list[KeptSummary] = []

    def restore(self) -> RootKept:
        lost = tuple(msgspec.structs.replace(kept, rows=None) for kept in self.lost)
        return msgspec.structs.replace(super().restore(), lost=lost)


class Published(msgspec.Struct):
    envelope: root_out.Envelope
    rows: tuple[int, ...]


class RootDesk:
    """A root and its disk; answers are published at once unless ``is_slow``."""

    def __init__(
        self,
        query: Query,
        roster: Roster,
        *,
        disk: RootDisk | None = None,
        config: RootConfig | None = None,
        now_s: float = 0.0,
        compares: bool = False,
        parents_of: ParentsOf = lambda ordinal: (),
    ) -> None:
        """``compares``: sites' digests count. Most tests are not about them, so what a site seals
        is agreed to."""
        self.query = query
        self.roster = roster
        self.compares = compares
        self.parents_of = parents_of
        self.disk = disk or RootDisk()
        self.config = config or RootConfig()
        self.beside: dict[str, RootDisk] = {}
        self.is_slow = False
        self.failure: str | None = None
        self.left_out: dict[int, LeftOut] = {}
        """By window: groups that Spark can't compute."""
        self.under_way: root_out.Answer | None = None
        self.published: dict[int, list[Published]] = defaultdict(list)
        self.acks: list[Acknowledgement] = []
        self.notices: list[Notice] = []
        self.outputs: list[root_out.Output] = []
        self.has_ended = False
        self.start(now_s=now_s)

    def start(self, *, now_s: float) -> None:
        self.under_way = None
        self.disk.query = self.query
        self.disk.starts += 1
        self.root = Root(
            Books(
                query=self.query,
                roster=self.roster,
                config=self.config,
                merger=NumbersMerger(),
                incarnation=self.disk.incarnation,
                now_s=now_s,
                start=self.disk.starts,
                parents_of=self.parents_of,
            )
        )
        self.root.restore(self.disk.restore(), now_s=now_s)

    def receive(self, *summaries: Summary, now_s: float) -> None:
        for summary in summaries:
            self.root.receive(summary, now_s=now_s)
            self._execute(now_s=now_s)

    def hear(self, *states: SiteState, now_s: float) -> None:
        self.root.receive_states(states, now_s=now_s)
        for state in states:
            self._agree(state)
        self.root.disputes.compare(now_s=now_s)
        self._execute(now_s=now_s)

    def _agree(self, state: SiteState) -> None:
        view = self.root.table.views.get(state.ordinal)
        if not self.compares and view is not None and view.state is state:
            self.root.books.agreements._advance(state.ordinal, state.sealed_through)

    def work(self, *, now_s: float) -> None:
        for _ in range(TICKS_MAX):
            if self.root.next_deadline_s() > now_s:
                return
            self.root.tick(now_s=now_s)
            self._execute(now_s=now_s)
        raise AssertionError("the root wants to be ticked for ever")

    def _execute(self, *, now_s: float) -> None:
        """In order: also what comes after an answer is done before Spark is done with it."""
        while outputs := self.root.take():
            for output in outputs:
                self._do(output)
            if self.under_way is not None and not self.is_slow:
                self.finish(now_s=now_s)

    def _do(self, output: root_out.Output) -> None:
        self.outputs.append(output)
        match output:
            case root_out.Acknowledge(ack):
                self.acks.append(ack)
            case root_out.Answer():
                assert self.under_way is None, "one answer of a query at a time"
                self.under_way = output
            case root_out.Ended():
                self.has_ended = True
            case Notice():
                self.notices.append(output)
            case root_out.Outdated():
                pass  # for the test to answer
            case _:
                perform_all(self.disk, [output])

    def finish(self, *, now_s: float) -> None:
        """Spark is done with the answer under way, or has failed."""
        answer, self.under_way = self.under_way, None
        assert answer is not None
        if self.failure is not None:
            self.root.answered(now_s=now_s, failed=self.failure)
            return
        for request in answer.requests:
            rows = self._rows(request, answer)
            envelope = request.envelope.without(self.left_out.get(request.window, LeftOut()))
            self.published[request.window].append(Published(envelope, rows))
            self.disk.answers[request.window] = WindowAnswered(
                request.window, request.revision, answer.kept_through, envelope
            )
        self.root.answered(now_s=now_s, left_out=self.left_out)
        self._execute(now_s=now_s)

    def _rows(self, request: root_out.WindowAnswer, answer: root_out.Answer) -> tuple[int, ...]:
        """Of a level also what the disks of other queries have (``beside``)."""
        if not request.pieces:
            return self.disk.rows(request.panes, kept_through=answer.kept_through)
        disks = {str(self.query.id): self.disk, **self.beside}
        found = [
            disks[one.query].rows(one.panes, kept_through=one.kept_through)
            for one in request.pieces
        ]
        return NumbersMerger().merge(found)

    def newest(self, window: int) -> Published:
        return self.published[window][-1]

    def take_acks(self) -> list[Acknowledgement]:
        acks, self.acks = self.acks, []
        return acks


def whole(query: Query, pane: int, ordinal: int, rows: Iterable[int], *, of: int) -> Summary:
    """Site ``ordinal`` of incarnation ``of`` closed the pane with one update."""
    coverage = Coverage.of_whole(ordinal, of)
    return Summary(query=str(query.id), pane=pane, coverage=coverage, rows=tuple(rows))


def part(
    query: Query,
    pane: int,
    ordinal: int,
    rows: Iterable[int] | None,
    *,
    of: int,
    updates: ranges.Ranges = ((1, 1),),
    closed_at: int | None = 1,
    lane: Lane = Lane.LIVE,
) -> Summary:
    coverage = Coverage.of_part(ordinal, of, updates=updates, closed_at=closed_at)
    kept = None if rows is None else tuple(rows)
    return Summary(query=str(query.id), pane=pane, coverage=coverage, rows=kept, lane=lane)


def state(query: Query, ordinal: int, *, of: int, number: int = 1, **fields: object) -> SiteState:
    begin = -FOREVER if query.begin_pane is None else query.begin_pane
    first = fields.pop("first_pane", begin)
    return SiteState(
        query=str(query.id),
        ordinal=ordinal,
        incarnation=of,
        number=number,
        first_pane=first,
        **fields,
    )  # type: ignore[arg-type]


COUNTED = msgspec.structs.replace(PROGRAM, partials=(Partial("n", "bigint", "sum"),))
FULL = msgspec.structs.replace(make_query(begin_pane=0), program=COUNTED)


def level_of(full: Query, *, step: int = 1, times: int = 3, stays: bool = False) -> Query:
    length_us = times * full.window.range_us
    window = WindowSpec(length_us, length_us)
    assert full.begin_pane is not None
    begin_us = full.window.pane_start_us(full.begin_pane)
    return msgspec.structs.replace(
        full,
        id=QueryId(f"{full.id.name}_{step}", full.id.installer, full.id.counter + step),
        window=window,
        begin_pane=window.first_window_from(begin_us),
        companion=Companion(
            str(full.id),
            step,
            text=f"{length_us // MICROS} s",
            finally_=Finally.BOUNDED if stays else Finally.EXACT,
        ),
    )


LEVEL = level_of(FULL)
