"""What a simulated site has on its disk: a cube, a ledger for each query it answers, commands.

Methods that take an effect are those of the table of effects (``node.effects.WORK``). Every method
is one transaction: it happens wholly or, if the process ends before it, not at all. So crashing is
simple: the machines are thrown away and a new node is made from this. Losing the disk is making a
new one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from math import inf

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder, Remainders
from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import PIECES_MAX, TopAnswer, UpdatesMade
from headwater.edge.record import EdgeRecord, PaneKept, QueryKept
from headwater.edge.report import PaneKeys
from headwater.edge.take_asked import Asked
from headwater.node import effects as do
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.command import Count, Install
from headwater.plan.over_limit import OVER_LIMIT
from headwater.plan.query import Query
from headwater.sim.check.truth import Truth
from headwater.sim.records.admits import row_count, rows_max_of
from headwater.sim.records.aside_book import AsideBook
from headwater.sim.records.asked_panes import AskedPanes
from headwater.sim.records.bag import Bag
from headwater.sim.records.bag_keys import RECORD_BYTES, counts_of, keys_of, leaving, of_keys
from headwater.sim.records.births import Births
from headwater.sim.records.counted_bag import CountedBag
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.records.pane_disk import PaneDisk, Records, Untold
from headwater.sim.records.past_book import PastBook
from headwater.sim.records.state_book import StateBook, StateBooks
from headwater.sim.world.event_queue import Clock

OVER = OVER_LIMIT + "a pane has more values than this site sends"
DECLINED_RANGES_MAX = 10_000
KEPT_BACK_ONE_IN = 3
"""Of the records of a pane, where sites may keep something back."""


class CubeDisk:
    """The partial rows and updates of all queries at one site, in one incarnation."""

    def __init__(
        self,
        ordinal: int,
        incarnation: int,
        truth: Truth,
        clock: Clock,
        *,
        records_max: int,
        slot_count: int,
        births: Births,
        records: type[Bag] | type[CountedBag] = Bag,
    ) -> None:
        self._kind = records
        self._births = births
        self.nothing: Records = records()
        self._ordinal = ordinal
        self._incarnation = incarnation
        self._truth = truth
        self._clock = clock
        self._slot_count = slot_count
        self._records_max = records_max
        """More records than this in a pane make several updates, as ``summary_bytes_max`` does."""
        self.records: dict[str, EdgeRecord] = {}
        self._panes: dict[str, dict[int, PaneDisk]] = {}
        self._over: dict[str, set[int]] = {}
        """Panes of each query that were given up; nothing more is taken for them."""
        self._rows_max: dict[str, int | None] = {}
        self.settings: dict[str, SettingsBook] = {}
        self._panes_of: dict[str, int] = {}
        """Of a window of each query."""
        self._limited: dict[str, set[int]] = {}
        """Panes of growing states beyond the limit: declined, though no record may say so."""
        self._for_questions = AskedPanes(self.nothing)
        self.states = StateBooks()
        self.pasts = PastBook()
        self.asides = AsideBook()
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
    ) -> tuple[tuple[tuple[int, int], ...], int, tuple[PaneKeys, ...]]:
        """Add a batch's (number, time) of one query; (pane, rows) stored, how many too late, and
        the keys of those stored.
        Times are those that panes are numbered by: the records' own, or moved to the root's clock.

        Rows below the first pane, or of panes that are sealed, done or given up, are not stored.
        """
        query_id = str(query.id)
        self._rows_max[query_id] = rows_max_of(query)
        self._panes_of[query_id] = query.window.panes_per_window
        self.settings.setdefault(query_id, SettingsBook(Settings.of(query)))
        record = self.records.get(query_id)
        if record is None or record.first_pane is None:
            return (), 0, ()
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
        keys: tuple[PaneKeys, ...] = ()
        if self.settings[query_id].sends_early(query) and self._kind is Bag:
            keys = tuple(keys_of(pane, numbers) for pane, numbers in by_pane.items())
        return tuple(stored), too_late, keys

    def _rows_of(self, query: Query, pane: int, numbers: list[int]) -> Records:
        if self._kind is Bag:
            return Bag.of(numbers)
        right = sum([self._births.pane_of(query, number) == pane for number in numbers])
        return CountedBag.of(numbers, right=right)

    def make_updates(self, wanted: do.MakeUpdates) -> list[UpdatesMade]:
        self._write_record(wanted.query, wanted.record)
        panes, now_s = self._panes.setdefault(wanted.query, {}), self._clock.now_s()
        book = self.states.of(wanted.query)
        if book is None:
            return [self._make_pane(wanted, pane, panes, now_s) for pane in wanted.panes]
        done = [self._make_state(wanted, pane, panes, book, now_s) for pane in wanted.panes]
        book.closed_below(wanted.record.closed_through)
        return done

    def _make_state(
        self,
        wanted: do.MakeUpdates,
        pane: int,
        panes: dict[int, PaneDisk],
        book: StateBook,
        now_s: float,
    ) -> UpdatesMade:
        """The state of the pane as of now; where it is that of the pane before, it is shared."""
        assert wanted.record.first_pane is not None, "who makes updates answers for some pane"
        numbers, is_whole = book.state(pane, first_pane=wanted.record.first_pane)
        bag, before = self._kind.of(numbers), panes.get(pane - 1)
        self._truth.sites[self._ordinal].states.made(
            book.query, pane, self._incarnation, bag.once, below=self.committed
        )
        if not numbers:
            return UpdatesMade(wanted.query, pane, 1, 0, is_same=before is None, is_whole=is_whole)
        at = panes[pane] = PaneDisk(self.nothing)
        at.updates, at.written_s = bag.split(self._records_max), now_s
        at.is_whole = is_whole
        if before is not None and before.updates == at.updates:
            at.is_same, at.updates = True, list(before.updates)
        for update in at.updates:
            self._truth.add_update(wanted.query, pane, self._ordinal, self._incarnation, update)
        count = len(at.updates)
        at.sent = ((1, count),) if wanted.sent else ()
        return UpdatesMade(
            wanted.query, pane, 1, count, row_bytes=400, is_same=at.is_same, is_whole=is_whole
        )

    def _make_pane(
        self, wanted: do.MakeUpdates, pane: int, panes: dict[int, PaneDisk], now_s: float
    ) -> UpdatesMade:
        at, answer = panes.get(pane), wanted.answer_of(pane)
        if answer is not None and at is not None and at.owes_rest and not at.waiting.once:
            return self._answer(wanted, answer, at, now_s)
        if at is not None and at.owes_rest:
            at.waiting, at.rest, at.owes_rest = at.waiting.merge(at.rest), None, False
        if at is None or not at.waiting.once:
            count = len(at.updates) if at is not None else 0
            return UpdatesMade(wanted.query, pane, count + 1, count)
        first = len(at.updates) + 1
        if self._is_over(wanted.query, at):
            self._limited.setdefault(wanted.query, set()).add(pane)
            self._over.setdefault(wanted.query, set()).add(pane)
            at.waiting = self.nothing
            return UpdatesMade(wanted.query, pane, first, first - 1, over=OVER)
        remainders, counts = self._withhold(wanted, pane, at)
        at.is_closed = True
        for bag in at.waiting.split(self._piece_records(wanted, at)):
            at.updates.append(bag)
            number = self._truth.add_update(
                wanted.query, pane, self._ordinal, self._incarnation, bag
            )
            assert number == len(at.updates), "the truth counts updates as the cube does"
        at.waiting, at.is_acked, at.written_s = self.nothing, False, now_s
        if wanted.sent:
            at.sent = ranges.union(at.sent, ((first, len(at.updates)),))
        if remainders:
            at.withheld = (len(at.updates), remainders)
        return UpdatesMade(
            wanted.query,
            pane,
            first,
            len(at.updates),
            row_bytes=400,
            withheld=remainders,
            wire_bytes=RECORD_BYTES * sum(map(len, at.updates[first - 1 :])),
            row_counts=counts,
        )

    def _piece_records(self, wanted: do.MakeUpdates, at: PaneDisk) -> int:
        """Of one update."""
        if not wanted.piece_bytes:
            return self._records_max
        least = -(-len(at.waiting) // PIECES_MAX)
        return min(self._records_max, max(1, least, wanted.piece_bytes // RECORD_BYTES))

    def make_early(self, wanted: do.MakeEarly) -> list[UpdatesMade]:
        query, pane = wanted.query, wanted.pane
        at = self._panes.get(query, {}).get(pane)
        count = 0 if at is None else len(at.updates)
        chosen = 0 if at is None else leaving(at.waiting.once, wanted.keys.tolist())
        if at is None or not chosen:
            return [UpdatesMade(query, pane, count + 1, count, is_early=True)]
        bag, at.waiting = Bag(chosen), Bag(at.waiting.once & ~chosen, at.waiting.twice)
        at.updates.append(bag)
        number = self._truth.add_update(query, pane, self._ordinal, self._incarnation, bag)
        assert number == len(at.updates), "the truth counts updates as the cube does"
        at.sent = ranges.union(at.sent, ((number, number),))
        at.is_acked, at.written_s = False, self._clock.now_s()
        return [UpdatesMade(query, pane, number, number, row_bytes=400, is_early=True)]

    def _withhold(
        self, wanted: do.MakeUpdates, pane: int, at: PaneDisk
    ) -> tuple[Remainders, tuple[int, ...]]:
        """Of a pane that is first closed, every third record, as far as its share of it goes;
        one is sent in any case. With it, how many would have left with a threshold at each level,
        which keeps back that part of them."""
        query, raised = wanted.query, wanted.raised
        settings = self.settings.get(query, SettingsBook())
        tolerance = settings.at(pane).tolerance
        if tolerance is None or at.is_closed or self._kind is not Bag:
            return (), ()
        has_relays, tolerance = tolerance.relay_share > 0.0, tolerance.at_sites()
        numbers = list(bitset.members(at.waiting.once))
        third = [number for number in numbers[1:] if number % KEPT_BACK_ONE_IN == 0]
        column = tolerance.columns[0]
        if tolerance.top is not None:
            first = counts_of(at.waiting.once).most_common(tolerance.top.count)
            seen = len(numbers), sum(count for _, count in first)
            if not wanted.sends_largest:
                return (), seen
            return self._keep_but(wanted, pane, at, {key for key, _ in first}, tolerance), seen
        if column.form is ErrorForm.ABSOLUTE:
            part = settings.part_at(pane)
            most = int(tolerance.share(column, panes=self._panes_of[query], part=part))
            third = third[:most]
            self._truth.deal(query, pane, self._ordinal, part, of=tolerance.sites)
        elif has_relays:
            total = len(numbers) + sum(map(len, at.updates))
            third = third[: int(column.size * total)]
        counts: tuple[int, ...] = ()
        if tolerance.is_by_link:
            parts = () if raised is None else raised.parts
            counts = tuple(len(numbers) - _raised(third, one) for one in (0.0, *parts))
            third = third[: _raised(third, 0.0 if raised is None else raised.part)]
        kept = bitset.of(third)
        if not kept:
            return (), counts
        at.waiting, at.rest = Bag(at.waiting.once & ~kept, at.waiting.twice), Bag(kept)
        at.owes_rest = tolerance.finally_ is Finally.EXACT
        truth = self._truth.sites[self._ordinal]
        truth.keep_back(query, pane, kept, column.bound, stays=not at.owes_rest)
        count, total = kept.bit_count(), len(numbers) + sum(map(len, at.updates))
        return (Remainder(float(count), float(count), count, float(total)),), counts

    def _keep_but(
        self,
        wanted: do.MakeUpdates,
        pane: int,
        at: PaneDisk,
        sent: Collection[int],
        tolerance: Tolerance,
        asked: int = 0,
    ) -> Remainders:
        """Of what waits the records of other keys stay, and lie where what is owed lies."""
        leaving = of_keys(at.waiting.once, sent)
        kept, total = at.waiting.once & ~leaving, len(at.waiting) + sum(map(len, at.updates))
        if not kept:
            return ()
        at.waiting, at.rest, at.owes_rest = Bag(leaving, at.waiting.twice), Bag(kept), True
        truth, bound = self._truth.sites[self._ordinal], tolerance.columns[0].bound
        stays = tolerance.finally_ is Finally.BOUNDED
        truth.keep_back(wanted.query, pane, kept, bound, stays=stays)
        keys = counts_of(kept)
        largest, count = float(max(keys.values())), float(kept.bit_count())
        return (Remainder(largest, count, len(keys), float(total), asked=asked),)

    def _answer(
        self, wanted: do.MakeUpdates, answer: TopAnswer, at: PaneDisk, now_s: float
    ) -> UpdatesMade:
        """What the root asks for of what was kept back, in one update, be it an empty one."""
        query, asked = wanted.query, answer.asked
        tolerance = self.settings.get(query, SettingsBook()).at(asked.pane).tolerance
        assert tolerance is not None, "nothing is asked for where nothing is kept back"
        at.waiting, at.rest, at.owes_rest = at.rest, None, False
        counts = counts_of(at.waiting.once)
        sent = {key for key, n in counts.items() if n >= asked.least or key in asked.keys}
        remainders = self._keep_but(wanted, asked.pane, at, sent, tolerance, asked.number)
        at.updates.append(at.waiting)
        number = self._truth.add_update(
            query, asked.pane, self._ordinal, self._incarnation, at.waiting
        )
        at.waiting, at.is_acked, at.written_s = self.nothing, False, now_s
        at.sent = ranges.union(at.sent, ((number, number),)) if wanted.sent else at.sent
        at.withheld = (number, remainders) if remainders else at.withheld
        return UpdatesMade(query, asked.pane, number, number, row_bytes=400, withheld=remainders)

    def _is_over(self, query: str, at: PaneDisk) -> bool:
        """As an agent counts rows: those of each update, and of what is to be the next."""
        rows_max = self._rows_max.get(query)
        if rows_max is None:
            return False
        return sum(row_count(bag.once) for bag in (*at.updates, at.waiting)) > rows_max

    def roll_up(self, wanted: do.RollUp) -> list[UpdatesMade]:
        self._write_record(wanted.query, wanted.record)
        self._write_record(wanted.level, wanted.level_record)
        panes, bag = self._panes.get(wanted.query, {}), self.nothing
        for pane in wanted.panes:
            at = panes.get(pane)
            for rows in () if at is None else (*at.updates, at.waiting):
                bag = bag.merge(rows)
        level = self._panes.setdefault(wanted.level, {})
        coarse = level.setdefault(wanted.pane, PaneDisk(self.nothing))
        coarse.waiting, coarse.written_s = coarse.waiting.merge(bag), self._clock.now_s()
        return [UpdatesMade(wanted.level, wanted.pane, 1, 0, is_rolled_up=True)]

    def remember(self, remember: do.Remember) -> None:
        self._write_record(remember.query, remember.record)

    def _write_record(self, query: str, record: EdgeRecord) -> None:
        before, self.records[query] = self.records.get(query), record
        truth = self._truth.sites[self._ordinal]
        truth.recorded(query, offset_s=record.offset_s)
        if before is not None and before.past and not record.past:
            truth.of_past.is_over(query, wall_s=self._clock.wall_s())
        for one in self.untold:
            if one.is_told:
                one.queries.discard(query)
        self.untold = [one for one in self.untold if one.queries]

    def live_anew(self, incarnation: int, *, born_s: float) -> None:
        """The same content under another incarnation: all of it is new to every root."""
        self._truth.lives_anew(self._ordinal, self._incarnation, incarnation, born_s=born_s)
        self._incarnation = incarnation
        for panes in self._panes.values():
            _mark_unacked(panes)

    def mark_sent(self, sent: do.MarkSent) -> None:
        for pane, first, last in sent.updates:
            at = self._panes.get(sent.query, {}).get(pane)
            if at is not None:
                at.sent = ranges.union(at.sent, ((first, last),))

    def mark_acked(self, acked: do.MarkAcked) -> None:
        self._write_record(acked.query, acked.record)
        kept = self._panes.get(acked.query, {})
        for pane in [pane for pane in kept if pane < acked.done_through]:
            self._for_questions.keep(acked.query, pane, kept.pop(pane))
        for pane, at in kept.items():
            if not at.is_acked and ranges.contains(acked.panes, pane):
                at.is_acked = True

    def mark_unacked(self, unacked: do.MarkUnacked) -> None:
        _mark_unacked(self._panes.get(unacked.query, {}))

    def expire(self, expire: do.Expire) -> None:
        self._write_record(expire.query, expire.record)
        for pane in expire.panes:
            self._panes.get(expire.query, {}).pop(pane, None)
            self._over.setdefault(expire.query, set()).add(pane)

    def forget(self, forget: do.Forget) -> None:
        query = forget.query
        self._over.pop(query, None)
        self._limited.pop(query, None)
        for one in self.untold:
            one.queries.discard(query)
        self.records.pop(query, None)
        self._panes.pop(query, None)
        self._for_questions.forget(query)
        self.states.forget(query)
        self.pasts.forget(query)
        self.asides.forget(query)

    def rows(self, query: str, pane: int, updates: Ranges) -> Records | None:
        """The rows of these updates as one; None when the pane is no longer there."""
        at = self._panes.get(query, {}).get(pane)
        if at is None:
            return None
        bag = self.nothing
        for first, last in updates:
            for number in range(first, last + 1):
                bag = bag.merge(at.updates[number - 1])
        return bag

    def look(self, question: Query, stream: Query, *, retention_s: float) -> Asked | None:
        """What there is of the stream is seen, and to be read a moment later; what there is to say
        of the question, if that is all."""
        id_, name = str(question.id), str(stream.id)
        record = self.records[id_]
        if record.closed_through >= (question.ends_at or 0):
            return Asked(id_)
        if name not in self.records:
            return Asked(id_, refused=f"stream {name}: it is not installed here")
        self._for_questions.let_go(name, before_s=self._clock.now_s() - retention_s)
        self._for_questions.look(question, stream, self.records[name])
        return None

    def ask(self, question: Query, stream: Query) -> Asked:
        """What was seen of the stream, as rows of the question. In every other case the disk has
        been full meanwhile, so that all goes which may."""
        id_, name = str(question.id), str(stream.id)
        if id_ not in self.records or name not in self.records:
            return Asked(id_, refused=f"stream {name}: it is not installed here")
        if question.id.counter % 2:
            self._for_questions.let_go(name, before_s=inf)
        found, rows = self._for_questions.asked(question, stream, self._panes.get(name, {}))
        self._panes[id_] = {pane: PaneDisk(bag) for pane, bag in rows.items()}
        return found

    def held(self, query: str) -> dict[int, PaneDisk]:
        """What a checker looks at."""
        return self._panes.get(query, {})

    def restore(self) -> list[QueryKept]:
        self._for_questions.begin_life()
        return [
            QueryKept(query, self._declined(query, record), self._kept(query, record))
            for query, record in self.records.items()
        ]

    def _declined(self, query: str, record: EdgeRecord) -> EdgeRecord:
        """The record, with what the cube knows to be declined."""
        for pane in sorted(self._limited.get(query, ())):
            if pane >= record.done_through:
                record = record.decline(pane, pane, Reason.LIMIT, ranges_max=DECLINED_RANGES_MAX)
        return record

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
                at.withheld,
                at.owes_rest,
            )
            for pane, at in sorted(self._panes.get(query, {}).items())
            if pane >= record.done_through
        )


def _mark_unacked(panes: dict[int, PaneDisk]) -> None:
    for at in panes.values():
        at.is_acked = False


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

    def look(self, question: Query, *, retention_s: float) -> Asked | None:
        """None: it is to be asked a moment later."""
        stream = self._stream_of(question)
        if stream is None:
            return self._not_here(question)
        return self.cube.look(question, stream, retention_s=retention_s)

    def ask(self, question: Query) -> Asked:
        stream = self._stream_of(question)
        return self._not_here(question) if stream is None else self.cube.ask(question, stream)

    def may_be_asked(self, question: Query) -> bool:
        """Else later."""
        return not self.is_full and str(question.id) in self.cube.records

    def _stream_of(self, question: Query) -> Query | None:
        assert question.asked is not None, "only questions are asked"
        stream = self.installs.get(question.asked.stream)
        return None if stream is None else stream.query

    def _not_here(self, question: Query) -> Asked:
        assert question.asked is not None, "only questions are asked"
        why = f"stream {question.asked.stream}: it is not installed here"
        return Asked(str(question.id), refused=why)

    def questions_over(self, site: str, *, wall_s: float) -> list[str]:
        """Those that were taken at this site, and are over by its clock."""
        asked = ((one.query.asked, one.query.id) for one in self.installs.values())
        return [
            str(id_)
            for ask, id_ in asked
            if ask is not None and id_.installer == site and wall_s * MICROS > ask.until_us
        ]

    def keep_command(self, keep: do.KeepCommand) -> None:
        self.keep_counts(keep)
        if isinstance(keep.command, Install):
            self.installs[str(keep.command.query.id)] = keep.command
        else:
            self.installs.pop(str(keep.command.id), None)

    def keep_counts(self, keep: do.KeepCommand | do.KeepCounts) -> None:
        self.counts.update((count.installer, count) for count in keep.counts)


def _raised(rows: list[int], part: float) -> int:
    """How many of them a threshold keeps back at this part of its limit."""
    return math.ceil(part * len(rows)) if part else 0
