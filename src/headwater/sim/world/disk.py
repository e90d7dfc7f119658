"""What a simulated site has on its disk: a cube, a ledger for each query it answers, commands.

Every method is one transaction: it happens wholly or, if the process ends before it, not at all.
So crashing is simple: the machines are thrown away and a new node is made from this. Losing the
disk is making a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import Cut, CutDone, MarkAcked
from headwater.edge.record import EdgeRecord, PaneKept, QueryKept
from headwater.edge.report import QueryBatch
from headwater.plan.command import Count, Install
from headwater.plan.query import Query
from headwater.root.carriers.alarm_book import StandingAlarm
from headwater.root.outputs import (
    KeepAgreement,
    KeepState,
    KeptSummary,
    Replace,
    RootKept,
    WindowAnswered,
)
from headwater.sim.check.truth import Truth
from headwater.sim.records.bag import Bag
from headwater.sim.records.births import Births
from headwater.sim.records.state_book import StateBook, StateBooks
from headwater.sim.records.tally import Tally

Records = Any
"""``Bag`` or ``Tally``: all of a world are of one kind."""


class PaneDisk:
    """One pane of one query in a cube."""

    def __init__(self, nothing: Records) -> None:
        self.updates: list[Records] = []
        self.sent: Ranges = ()
        self.is_acked = False
        self.is_dropped = False
        """Retention took the rows of its updates; their number stays known."""
        self.is_same = False
        """Of a state query: its updates are those of the pane before it."""
        self.is_whole = True
        """Of a state query: nothing is missing from it."""
        self.waiting = nothing
        self.written_s = 0.0


class Untold:
    """Something that happened to a batch and must reach the edge's records, whatever crashes.

    It is written in the transaction that commits the batch. It goes when each query that it
    concerns has written a record after it was told; until then a restart tells it again.
    """

    def __init__(
        self, queries: set[str], *, failed: QueryBatch | None, damaged_us: tuple[int, int] | None
    ) -> None:
        self.queries = queries
        self.failed = failed
        self.damaged_us = damaged_us
        self.is_told = False


class CubeDisk:
    """The partial rows and updates of all queries at one site, in one incarnation."""

    def __init__(
        self,
        ordinal: int,
        incarnation: int,
        truth: Truth,
        *,
        records_max: int,
        slot_count: int,
        births: Births,
        records: type[Bag] | type[Tally] = Bag,
    ) -> None:
        self._kind = records
        self._births = births
        self.nothing: Records = records()
        self._ordinal = ordinal
        self._incarnation = incarnation
        self._truth = truth
        self._slot_count = slot_count
        self._records_max = records_max
        """More records than this in a cut make several updates, as ``summary_bytes_max`` does."""
        self.records: dict[str, EdgeRecord] = {}
        self._panes: dict[str, dict[int, PaneDisk]] = {}
        self._over: dict[str, set[int]] = {}
        """Panes of each query that were given up; nothing more is taken for them."""
        self.states = StateBooks()
        self.found = 0
        """Up to which position of the log cuts are registered."""
        self.committed = 0
        """Up to which position they are in the cube."""
        self.found_s: float | None = None
        """Steady time of this process's newest poll."""
        self.is_begun = False
        """It has found its place in the log; a new cube begins at the log's end."""
        self.damage: list[tuple[int, int, int]] = []
        """(position, first time, last time) of losses that no batch has committed yet."""
        self.untold: list[Untold] = []

    def store(
        self, query: Query, records: Iterable[tuple[int, int]], *, now_s: float
    ) -> tuple[tuple[tuple[int, int], ...], int]:
        """Add a batch's (number, time) of one query; (pane, rows) stored, and how many too late.
        Times are those that panes are numbered by: the records' own, or moved to the root's clock.

        Rows below the first pane, or of panes that are sealed, done or given up, are not stored.
        """
        query_id = str(query.id)
        record = self.records.get(query_id)
        if record is None or record.first_pane is None:
            return (), 0
        by_pane: dict[int, list[int]] = {}
        for number, time_us in records:
            by_pane.setdefault(query.window.pane_at(time_us), []).append(number)
        floor = max(record.first_pane, record.sealed_through, record.done_through)
        over = self._over.get(query_id, ())
        too_late = 0
        for pane in [pane for pane in by_pane if pane < floor or pane in over]:
            numbers = by_pane.pop(pane)
            too_late += len(numbers)
            if record.first_pane <= pane < record.sealed_through and pane >= record.done_through:
                site = self._truth.sites[self._ordinal]
                is_damaged = ranges.contains(record.damaged, pane)
                site.refuse(
                    query, numbers, pane, slot_count=self._slot_count, is_damaged=is_damaged
                )
        panes = self._panes.setdefault(query_id, {})
        for pane, numbers in by_pane.items():
            at = panes.get(pane)
            if at is None:
                at = panes[pane] = PaneDisk(self.nothing)
            at.waiting = at.waiting.merge(self._rows_of(query, pane, numbers))
            at.written_s = now_s
        stored = sorted([(pane, len(numbers)) for pane, numbers in by_pane.items()])
        return tuple(stored), too_late

    def _rows_of(self, query: Query, pane: int, numbers: list[int]) -> Records:
        if self._kind is Bag:
            return Bag.of(numbers)
        right = sum([self._births.pane_of(query, number) == pane for number in numbers])
        return Tally.of(numbers, right=right)

    def cut(self, cut: Cut, *, now_s: float) -> list[CutDone]:
        self.remember(cut.query, cut.record)
        panes = self._panes.setdefault(cut.query, {})
        book = self.states.of(cut.query)
        if book is None:
            return [self._cut_pane(cut, pane, panes, now_s) for pane in cut.panes]
        done = [self._cut_state(cut, pane, panes, book, now_s) for pane in cut.panes]
        book.closed_below(cut.record.closed_through)
        return done

    def _cut_state(
        self, cut: Cut, pane: int, panes: dict[int, PaneDisk], book: StateBook, now_s: float
    ) -> CutDone:
        """The state of the pane as of now; where it is that of the pane before, it is shared."""
        assert cut.record.first_pane is not None, "who cuts answers for some pane"
        numbers, is_whole = book.state(pane, first_pane=cut.record.first_pane)
        bag, before = self._kind.of(numbers), panes.get(pane - 1)
        self._truth.sites[self._ordinal].states.cut(
            book.query, pane, self._incarnation, bag.once, below=self.committed
        )
        if not numbers:
            return CutDone(cut.query, pane, 1, 0, is_same=before is None, is_whole=is_whole)
        at = panes[pane] = PaneDisk(self.nothing)
        at.updates, at.written_s = bag.split(self._records_max), now_s
        at.is_whole = is_whole
        if before is not None and before.updates == at.updates:
            at.is_same, at.updates = True, list(before.updates)
        for update in at.updates:
            self._truth.cut(cut.query, pane, self._ordinal, self._incarnation, update)
        count = len(at.updates)
        at.sent = ((1, count),) if cut.sent else ()
        return CutDone(
            cut.query, pane, 1, count, row_bytes=400, is_same=at.is_same, is_whole=is_whole
        )

    def _cut_pane(self, cut: Cut, pane: int, panes: dict[int, PaneDisk], now_s: float) -> CutDone:
        at = panes.get(pane)
        if at is None or not at.waiting.once:
            count = len(at.updates) if at is not None else 0
            return CutDone(cut.query, pane, count + 1, count)
        first = len(at.updates) + 1
        for bag in at.waiting.split(self._records_max):
            at.updates.append(bag)
            number = self._truth.cut(cut.query, pane, self._ordinal, self._incarnation, bag)
            assert number == len(at.updates), "the truth counts updates as the cube does"
        at.waiting, at.is_acked, at.written_s = self.nothing, False, now_s
        if cut.sent:
            at.sent = ranges.union(at.sent, ((first, len(at.updates)),))
        return CutDone(cut.query, pane, first, len(at.updates), row_bytes=400)

    def remember(self, query: str, record: EdgeRecord) -> None:
        self.records[query] = record
        self._truth.sites[self._ordinal].recorded(query, offset_s=record.offset_s)
        for one in self.untold:
            if one.is_told:
                one.queries.discard(query)
        self.untold = [one for one in self.untold if one.queries]

    def live_anew(self, incarnation: int, *, born_s: float) -> None:
        """The same content under another incarnation: all of it is new to every root."""
        self._truth.lives_anew(self._ordinal, self._incarnation, incarnation, born_s=born_s)
        self._incarnation = incarnation
        for query in self._panes:
            self.mark_unacked(query)

    def mark_sent(self, query: str, updates: Iterable[tuple[int, int, int]]) -> None:
        for pane, first, last in updates:
            at = self._panes.get(query, {}).get(pane)
            if at is not None:
                at.sent = ranges.union(at.sent, ((first, last),))

    def mark_acked(self, acked: MarkAcked) -> None:
        self.remember(acked.query, acked.record)
        kept = self._panes.get(acked.query, {})
        for pane in [pane for pane in kept if pane < acked.done_through]:
            del kept[pane]
        for pane, at in kept.items():
            if not at.is_acked and ranges.contains(acked.panes, pane):
                at.is_acked = True

    def mark_unacked(self, query: str) -> None:
        for at in self._panes.get(query, {}).values():
            at.is_acked = False

    def expire(self, query: str, panes: Iterable[int], record: EdgeRecord) -> None:
        self.remember(query, record)
        for pane in panes:
            self._panes.get(query, {}).pop(pane, None)
            self._over.setdefault(query, set()).add(pane)

    def forget(self, query: str) -> None:
        self._over.pop(query, None)
        for one in self.untold:
            one.queries.discard(query)
        self.records.pop(query, None)
        self._panes.pop(query, None)
        self.states.forget(query)

    def drop_acked(self, *, before_s: float) -> None:
        """Retention: acknowledged panes go without a word."""
        for panes in self._panes.values():
            for at in panes.values():
                if at.is_acked and at.written_s < before_s and not at.waiting.once:
                    at.is_dropped = True

    def rows(self, query: str, pane: int, updates: Ranges) -> Records | None:
        """The rows of these updates as one; None when the pane is no longer there."""
        at = self._panes.get(query, {}).get(pane)
        if at is None or at.is_dropped:
            return None
        bag = self.nothing
        for first, last in updates:
            for number in range(first, last + 1):
                bag = bag.merge(at.updates[number - 1])
        return bag

    def held(self, query: str) -> dict[int, PaneDisk]:
        """What a checker looks at."""
        return self._panes.get(query, {})

    def restore(self) -> list[QueryKept]:
        return [
            QueryKept(query, record, self._kept(query, record))
            for query, record in self.records.items()
        ]

    def _kept(self, query: str, record: EdgeRecord) -> tuple[PaneKept, ...]:
        return tuple(
            PaneKept(
                pane,
                len(at.updates),
                at.sent,
                at.is_acked,
                len(at.waiting),
                400,
                at.written_s,
                at.is_same,
                at.is_whole,
            )
            for pane, at in sorted(self._panes.get(query, {}).items())
            if pane >= record.done_through
        )


class LedgerDisk:
    """What a root holds of one query."""

    def __init__(self, nothing: Records) -> None:
        self._nothing = nothing
        self._last_number = 0
        self.kept: dict[int, KeptSummary] = {}
        self.by_pane: dict[int, list[KeptSummary]] = {}
        self.states: dict[tuple[int, int], KeepState] = {}
        self.answers: dict[int, WindowAnswered] = {}
        self.alarms: dict[int, StandingAlarm] = {}
        self.done_through: int | None = None

    def keep(self, kept: KeptSummary) -> None:
        assert kept.number > self._last_number, "a number is never used again"
        self._last_number = kept.number
        self.kept[kept.number] = kept
        self.by_pane.setdefault(kept.pane, []).append(kept)

    def keep_state(self, state: KeepState) -> None:
        key = state.state.ordinal, state.state.incarnation
        known = self.states.get(key)
        if known is not None:
            state = msgspec.structs.replace(
                state,
                agreed_through=known.agreed_through,
                disputed=known.disputed,
                sure_number=known.sure_number,
            )
        self.states[key] = state

    def keep_agreement(self, keep: KeepAgreement) -> None:
        known = self.states[keep.ordinal, keep.incarnation]
        self.states[keep.ordinal, keep.incarnation] = msgspec.structs.replace(
            known, agreed_through=keep.through, disputed=keep.disputed, sure_number=keep.sure_number
        )

    def replace(self, replace: Replace) -> None:
        for number in replace.numbers:
            self.by_pane[replace.pane].remove(self.kept.pop(number))
        for kept in replace.kept:
            self.keep(kept)

    def keep_alarm(self, standing: StandingAlarm) -> None:
        self.alarms[standing.number] = standing

    def trim(self, done_through: int, query: Query) -> None:
        self.done_through = done_through
        for pane in [pane for pane in self.by_pane if pane < done_through]:
            for kept in self.by_pane.pop(pane):
                del self.kept[kept.number]
        for window in [w for w in self.answers if query.window.panes_of(w)[-1] < done_through]:
            del self.answers[window]

    def publish(self, answers: Sequence[WindowAnswered]) -> None:
        for answer in answers:
            self.answers[answer.window] = answer

    def rows(self, panes: Iterable[int], *, kept_through: int) -> Records:
        bag = self._nothing
        for pane in panes:
            for kept in self.by_pane.get(pane, ()):
                if kept.number <= kept_through and kept.rows is not None:
                    bag = bag.merge(kept.rows)
        return bag

    def restore(self, query: str) -> RootKept:
        summaries = (msgspec.structs.replace(kept, rows=None) for kept in self.kept.values())
        return RootKept(
            query,
            tuple(sorted(summaries, key=lambda kept: kept.number)),
            tuple(self.states[key] for key in sorted(self.states)),
            tuple(self.answers[window] for window in sorted(self.answers)),
            self.done_through,
            self._last_number,
            alarms=tuple(self.alarms.values()),
        )


class Disk:
    """Everything durable at one site, from its making to its loss."""

    def __init__(self, incarnation: int, cube: CubeDisk, *, number: int, born_s: float) -> None:
        self.number = number
        """No other disk of the run has it, whatever incarnations clocks and roots lead to."""
        self.incarnation = incarnation
        self.root_incarnation = incarnation
        self.start_count = 1
        self.born_s = born_s
        """Wall clock when it was made."""
        self.cube = cube
        self.ledgers: dict[str, LedgerDisk] = {}
        self.installs: dict[str, Install] = {}
        self.counts: dict[str, Count] = {}
        self.is_full = False
        self.delay_s = 0.0


__all__ = ["FOREVER", "CubeDisk", "Disk", "LedgerDisk", "PaneDisk"]
