"""One query at one site: what is closed, made, sealed and written of it.

All of that happens in ``advance``, once a tick, whatever came in between; so one tick writes at
most one record and one ``MakeUpdates`` for a query. What that has made comes by ``take_updates``;
until then nothing further is closed.

Of a state query every pane has an update, with or without rows of its own: it has the state in
which the records left the site by the pane's end, or the former one. What is read after a pane was
closed counts for the panes that are not, so a pane of a state query has no late updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headwater.algebra.far_times import DUE_NOW_S, LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.summary import Lane
from headwater.algebra.words.site_state import FOREVER, RUNNING, SUSPENDED, Reason, Tally
from headwater.edge.closing.begin import Beginning
from headwater.edge.closing.closing import (
    SourceClock,
    closable_through,
    passed_through,
    sealable_through,
)
from headwater.edge.closing.reached import (
    READ_EVERY_S,
    SEAL_EVERY_S,
    closable_by_number,
    sealable_by_number,
)
from headwater.edge.degrade.answering import Answering
from headwater.edge.degrade.degrading import Degrading
from headwater.edge.levels import Levels
from headwater.edge.outbox.early.site_keys import SiteKeys
from headwater.edge.outbox.early_rounds import EarlyRounds
from headwater.edge.outbox.pane_book import EMPTY_CLOSE
from headwater.edge.outputs import Expire, MakeUpdates, Remember, TopAnswer, UpdatesMade, Withdrawn
from headwater.edge.query_state import News, QueryState
from headwater.edge.shedding.pane_estimate import PaneEstimate
from headwater.edge.shedding.shed_panes import is_given_up, shed_within
from headwater.plan.notice import Notice

MESSAGE_CHARS_MAX = 500
"""Of why a pane is declined, as much as a site tells."""
EMPTY_RUN_MIN = 8
"""Runs of empty panes that are closed at once and are this long go into the state."""
EMPTY_RUN_ALWAYS = 64
"""Runs this long go there also when the state is full: they are too many to send."""

Write = MakeUpdates | Remember | Expire | Withdrawn | Notice


class QueryEdge:
    """Driven by ``Edge``, which knows the sources and the other queries."""

    def __init__(
        self,
        state: QueryState,
        *,
        retention_s: float,
        made_s: float | None,
        keys: SiteKeys | None = None,
    ) -> None:
        self.state = state
        self.beginning = Beginning(state, made_s=made_s)
        self.early = EarlyRounds(state, keys)
        self.levels = Levels(state)
        self.full: QueryEdge | None = None
        """Of a level: the query that it stands for."""
        self.degrading = Degrading(state)
        self.answering: Answering | None = None
        """Where the largest groups alone were sent, or are asked for."""
        self.estimate = PaneEstimate()
        """Where the site may leave out panes that it can't read in time."""
        self._late_again: dict[int, float] = {}
        """From which panes on lateness counts anew, and from when: as of a stretch that was set
        aside and is over now."""
        self._retention_s = retention_s
        timing = state.query.timing
        lateness_s = retention_s if timing.lateness_s is None else timing.lateness_s
        self._lateness_s = min(lateness_s, timing.revise_for_s)
        self._sealed_s = LONG_AGO_S
        self._ticked_s = 0.0
        self._is_end_told = False
        self._are_updates_sent = False
        """What is being made leaves as soon as it is."""
        self._awaits_updates = False
        """There is more to close or to seal when what is being made is made."""
        self._has_more = False
        """There is more to close than one tick takes."""

    def answers_requests(self) -> Answering:
        """From now on."""
        if self.answering is None:
            self.answering = Answering(self.state)
        return self.answering

    def rows_in(self, pane: int, rows: int, *, now_s: float) -> None:
        """Rows of a committed batch that are in no update yet."""
        state, record = self.state, self.state.record
        state.hear(News.WORK)
        if state.query.holds_states or not state.takes(pane):
            return
        if record.first_pane is not None and pane < record.first_pane:
            state.add_tally(Tally(before_begin=rows))
        elif pane < max(record.lowest(), record.sealed_through):
            state.add_tally(Tally(too_late=rows))
        elif pane >= record.closed_through:
            state.book.open.add(pane, pane)
        elif not (
            pane in state.unwanted or state.waits_with_level(pane) or is_given_up(state, pane)
        ):
            state.book.add_late(pane, now_s=now_s)

    def advance(
        self,
        clock: SourceClock,
        past: SourceClock | None = None,
        *,
        now_s: float,
        has_room: Callable[[str], bool],
    ) -> list[Write]:
        """Close, make, seal and number what is due; the writes, in order. ``past``: how far the
        reading of the past has come. ``has_room`` says whether a query's updates may be sent as
        soon as they are made."""
        state = self.state
        self._ticked_s = now_s
        clock = state.time.of_source(clock)
        writes: list[Write] = [*self._expire(now_s=now_s)]
        panes: list[int] = []
        answers: tuple[TopAnswer, ...] = ()
        are_due = False
        self._has_more, self._awaits_updates = False, bool(state.book.making)
        if not state.book.making:
            self.levels.settle()
            panes = self._close(clock, past, now_s=now_s)
            panes += self._take_late(state.config.panes_per_cut_max - len(panes), now_s=now_s)
            if self.answering is not None:
                count_max = state.config.panes_per_cut_max - len(panes)
                answers = self.answering.take(count_max, but=panes)
                panes += [one.asked.pane for one in answers]
            are_due = bool(panes) and not any(pane in state.book.following for pane in panes)
            panes = panes or self._take_rests(has_room) or self._take_deferred(has_room)
            state.book.make(panes, now_s=now_s)
        self.early.close()
        self._seal(clock, now_s=now_s)
        self._tell_closes()
        state.number(now_s=now_s)
        news = state.take_news()
        if panes:
            are_due = are_due and not any(map(state.pause.holds, panes))
            are_due = are_due and not self.early.piece_bytes  # pieces leave one by one, into room
            self._are_updates_sent = are_due and state.is_live and has_room(state.id)
            writes.append(self._make(panes, answers))
        elif news >= News.RECORD:
            writes.append(Remember(state.id, state.record))
        writes += self._tell_end()
        if self._has_more:
            state.hear(News.WORK)
        return writes

    def _make(self, panes: list[int], answers: tuple[TopAnswer, ...]) -> MakeUpdates:
        state, degrading = self.state, self.degrading
        full = self.full or self
        if self.answering is not None:
            self.answering.begin(answers)
        return MakeUpdates(
            state.id,
            tuple(panes),
            state.record,
            self._are_updates_sent,
            is_measured=bool(full.degrading),
            raised=full.degrading.raised(full.levels.told) if full.degrading else None,
            sends_largest=bool(degrading) and degrading.sends_largest,
            answers=answers,
            piece_bytes=self.early.piece_bytes,
        )

    def next_deadline_s(self) -> float:
        state, book = self.state, self.state.book
        if state.news > News.NONE:
            return DUE_NOW_S
        late_s = next(iter(book.late.values()), NEVER_DUE_S) + state.config.late_coalesce_s
        return min(
            self.levels.next_choice_s(now_s=self._ticked_s),
            state.telling.next_deadline_s(state.record),
            NEVER_DUE_S if book.making else late_s,
            book.next_expiry_s() + self._retention_s,
            state.pause.next_lapse_s(),
        )

    # Closing

    def _close(self, clock: SourceClock, past: SourceClock | None, *, now_s: float) -> list[int]:
        """Move ``closed_through`` as far as one tick reaches; the panes with rows in between."""
        state, record = self.state, self.state.record
        through = FOREVER
        if record.status == RUNNING:
            through = self._closable(clock, past, now_s=now_s)
            is_read_through = clock.read_through_s is not None and not record.past
            if is_read_through and through > record.surely_through:
                state.change(News.RECORD, sure_through=through)
            through = min(through, FOREVER if record.end_pane is None else record.end_pane)
            through = min(through, state.ahead_through)
        if through <= record.closed_through:
            return []
        if clock.unread_since_s is not None:
            state.damage(record.closed_through, through - 1)
        if state.query.holds_states:
            panes, through = self._states_below(through)
        else:
            panes, through = self._rows_below(through, now_s=now_s)
        state.change(News.RECORD, closed_through=through)
        return panes

    def _closable(self, clock: SourceClock, past: SourceClock | None, *, now_s: float) -> int:
        """Panes below may be closed."""
        query, record = self.state.query, self.state.record
        if query.reads_cube and record.awaits_greeting:  # its input has ended before that is known
            return -FOREVER
        is_waiting = record.awaits_greeting or self._awaits_input(clock, now_s=now_s)
        if query.numbers is not None:
            reached = self.state.reached.pane(awaits_past=bool(record.past))
            is_waiting = is_waiting or record.begins_after is not None
            reached = None if is_waiting else reached
            return closable_by_number(query, query.numbers, clock, reached)
        closing_s = None if is_waiting else self.state.belief.closing_s(now_s)
        through = closable_through(query, clock, now_s=closing_s)
        return min(through, passed_through(query, past)) if record.past else through

    def _awaits_input(self, clock: SourceClock, *, now_s: float) -> bool:
        """Some can't be read, and may be soon: a file is opened when there are descriptors again,
        or its owner has set its permissions."""
        since_s = clock.unread_since_s
        return since_s is not None and now_s < since_s + self.state.config.unread_wait_s

    def _states_below(self, through: int) -> tuple[list[int], int]:
        """Every pane that is not declined has a state; as many as one tick takes. Of an input that
        ends nothing is asked for beyond the last of its records."""
        count_max, panes = self.state.config.panes_per_cut_max, list[int]()
        state = self.state
        below = min(through, FOREVER if state.query.ends_at is None else state.query.ends_at)
        for first, last in state.owed_of(state.record.lowest_unclosed(), below - 1):
            panes += range(first, min(last + 1, first + count_max - len(panes)))
            if len(panes) == count_max:
                self._has_more = panes[-1] + 1 < through
                return panes, panes[-1] + 1
        if below < through:
            state.close_empty(*state.owed_of(below, through - 1))
        return panes, through

    def _rows_below(self, through: int, *, now_s: float) -> tuple[list[int], int]:
        """Those with rows, as many as one tick takes; the others up to there are closed empty."""
        state, book = self.state, self.state.book
        panes = book.take_open(through, self.state.config.panes_per_cut_max)
        next_open = next(book.open.numbers(-FOREVER, through - 1), None)
        if next_open is not None:
            through, self._has_more = next_open, True
        filled = IntervalSet((pane, pane) for pane in panes)
        lowest, coarse = state.record.lowest_unclosed(), list[Range]()
        if self.levels:
            coarse = self.levels.taken_within(lowest, through - 1)
        elif state.record.set_aside:
            coarse = list(ranges.normal(shed_within(state, lowest, through - 1)))
        if coarse:
            state.defer(coarse, now_s=now_s)
            panes = [pane for pane in panes if pane not in state.book.deferred]
            for one in coarse:
                filled.add(*one)
        panes = [p for p in panes if p not in state.unwanted and not is_given_up(state, p)]
        unclosed = state.owed_of(lowest, through - 1)
        self._close_runs([run for one in unclosed for run in filled.gaps(*one)], now_s=now_s)
        return panes, through

    def _close_runs(self, runs: Sequence[Range], *, now_s: float) -> None:
        """Long runs of empty panes are told by the state; at the end of input all are, so that it
        is complete, and those with damage, so that no close overtakes it."""
        state, told = self.state, list[Range]()
        runs = state.taken_alone(runs) if state.is_level else runs
        for first, last in runs:
            if not any(map(state.takes, range(first, last + 1))):
                continue
            is_full = len(state.record.empty) + len(told) >= state.config.empty_ranges_max
            is_doubted = ranges.intersects(state.record.damaged, ((first, last),))
            run_min = 1 if state.query.ends or is_doubted else EMPTY_RUN_MIN
            if state.is_level or last - first + 1 >= (EMPTY_RUN_ALWAYS if is_full else run_min):
                told.append((first, last))
                continue
            for pane in filter(state.takes, range(first, last + 1)):
                state.book.add_unsent(pane, [EMPTY_CLOSE], closed_s=now_s, live=state.is_live)
                state.book.written(pane, now_s=now_s)
        if told:
            state.close_empty(*told)

    def _take_late(self, count_max: int, *, now_s: float) -> list[int]:
        state, book = self.state, self.state.book
        due = book.late_for(state.config.late_coalesce_s, now_s=now_s)
        self._has_more |= len(due) > count_max
        state.reopen(pane for pane in due[:count_max] if not book.updates_of(pane))
        return due[:count_max]

    def _take_rests(self, has_room: Callable[[str], bool]) -> list[int]:
        """What was kept back and follows: into room that nothing else of the query needs."""
        state, book = self.state, self.state.book
        if not book.owing or book.waits_for_room or not has_room(state.id):
            return []
        return book.rests(state.config.rests_per_tick_max)

    def _take_deferred(self, has_room: Callable[[str], bool]) -> list[int]:
        """What a level stood for, into room that nothing else of the query needs; what nothing
        stands for any more does not wait for it."""
        state, book = self.state, self.state.book
        if not book.deferred:
            return []
        room = not book.waits_for_room and has_room(state.id)
        panes = self.levels.follow(state.config.rests_per_tick_max, has_room=room)
        state.undefer(panes)
        for pane in panes:
            made = list(range(1, book.updates_of(pane) + 1))
            if made:  # before a level stood for it
                book.add_unsent(pane, made, closed_s=LONG_AGO_S, live=False)
        self._has_more |= bool(panes)
        return panes

    def next_close_s(self, *, after_s: float, now_s: float) -> float:
        """From when on (steady time) a read closes a pane that one at ``after_s`` could not.

        The clocks by which panes are closed run as fast as the steady one, so what one of them is
        ahead now it will be then. One that is in doubt closes nothing before that is over.
        """
        state, record = self.state, self.state.record
        if not record.is_running:
            return NEVER_DUE_S
        if state.query.numbers is not None:
            return after_s + READ_EVERY_S
        closing_s = state.belief.closing_s(now_s)
        if closing_s is None:
            return max(state.belief.doubt_until_s, after_s)
        ahead_s, disorder_s = closing_s - now_s, state.query.timing.disorder_s
        window, first = state.query.window, record.first_pane
        read_s = min(state.time.of_read(after_s), after_s + ahead_s)
        pane = window.pane_at(round((read_s - disorder_s) * MICROS))
        pane = pane if first is None else max(pane, first)
        pane = next(state.unwanted.gaps(pane, FOREVER), (FOREVER, FOREVER))[0]
        if record.end_pane is not None and pane >= record.end_pane:
            return NEVER_DUE_S
        close_s = window.pane_end_us(pane) / MICROS + disorder_s - ahead_s
        return min(close_s, self.early.next_moment_s(read_s) - ahead_s)

    # What was made

    def take_updates(self, done: UpdatesMade, *, now_s: float) -> list[int]:
        """The new updates of the pane, to be sent now if that was said; else they are queued."""
        state, book, pane = self.state, self.state.book, done.pane
        if done.is_early:
            return self.early.take(done, now_s=now_s)
        if done.is_rolled_up:
            state.hear(News.WORK)
            book.add_late(pane, now_s=LONG_AGO_S)
            book.following[pane] = None
            return []
        if self.early.is_used or self._awaits_updates or not self._are_updates_sent:
            state.hear(News.WORK)
        is_answer = self.answering is not None and self.answering.is_answer(pane)
        was_early = pane in book.early
        is_rest = not is_answer and (pane in book.owing or pane in book.following)
        book.following.pop(pane, None)
        owes_rest = state.settings.at(pane).owes_rest
        closed_s = book.made(done, owes_rest=owes_rest, now_s=now_s)
        if done.withheld and not is_answer:
            self.answers_requests().closed(pane, now_s=now_s)
        updates = list(range(done.first_update, done.last_update + 1))
        if pane in state.unwanted:  # it was cut before the word, and keeps its number
            state.hear(News.WORK)
            book.leave(state.unwanted)
            return []
        if done.over:
            state.decline(pane, pane, Reason.LIMIT)
            state.change(News.WORD, message=done.over[:MESSAGE_CHARS_MAX])
        elif not done.is_whole:
            self._not_whole(pane)
        if not updates:
            state.hear(News.WORK)
            self._nothing_made(pane, closed_s=closed_s, was_early=was_early)
            return []
        is_reopened = ranges.contains(state.record.reopened, pane)
        is_late = (done.first_update > 1 and not was_early) or is_reopened
        is_first = state.is_live and (is_answer or not (is_late or is_rest))
        self._measure(done, is_first=is_first, is_answer=is_answer)
        if not is_late:
            book.close_first(pane, done.last_update)
        state.count(pane, done.last_update, is_late=is_late)
        if self._are_updates_sent:
            book.fly(pane, updates, now_s=now_s)
            if book.beyond(state.config.panes_waiting_max):
                state.hear(News.WORK)
            return updates
        live = not is_rest and self.lane_of(done, now_s=now_s) is Lane.LIVE
        book.add_unsent(pane, updates, closed_s=closed_s, live=live)
        return []

    def _measure(self, done: UpdatesMade, *, is_first: bool, is_answer: bool) -> None:
        """What a query needs is what leaves in its place, at the level that it is at now."""
        full, level = self.full or self, self.state.query.stands_for
        if full.degrading and full.levels.is_at(0 if level is None else level.step):
            panes = self.state.query.window.pane_us // full.state.query.window.pane_us
            full.degrading.made(done, is_first=is_first, panes=0 if is_answer else panes)

    def _not_whole(self, pane: int) -> None:
        """Before its close is told: so the state tells it, and no answer is called exact before."""
        if self.state.query.holds_states:
            self.state.damage(pane, pane)
        else:
            self.state.decline(pane, pane, Reason.LOST)

    def _nothing_made(self, pane: int, *, closed_s: float, was_early: bool) -> None:
        """The rows were in an earlier update already, or there were none after all."""
        state, record = self.state, self.state.record
        if state.is_level:
            state.close_empty((pane, pane))
            return
        if was_early:
            state.tell_close(pane, state.book.updates_of(pane))
        is_told = any(ranges.contains(panes, pane) for panes in (record.empty, record.reopened))
        if not (is_told or state.book.updates_of(pane) or pane in state.declined):
            state.book.add_unsent(pane, [EMPTY_CLOSE], closed_s=closed_s, live=state.is_live)

    def lane_of(self, done: UpdatesMade, *, now_s: float) -> Lane:
        """A late update of an old pane would be held on the way for partners that never come."""
        state = self.state
        is_reopened = ranges.contains(state.record.reopened, done.pane)
        is_first_close = done.first_update == 1 and not is_reopened
        age_s = state.time.of(now_s) - state.query.window.pane_end_us(done.pane) / MICROS
        is_young = state.query.numbers is None and age_s <= state.config.live_for_s
        is_recent = is_first_close or is_young
        return Lane.LIVE if state.is_live and is_recent else Lane.BACKLOG

    # Sealing

    def _seal(self, clock: SourceClock, *, now_s: float) -> None:
        """A pane with rows that are in no update yet is not sealed, nor one that a reading of the
        past, or of what was set aside, may still bring rows of. Lateness counts from its end."""
        state, book, through = self.state, self.state.book, FOREVER
        if (state.record.past or state.record.set_aside) and state.record.status == RUNNING:
            return
        late_s = self._lateness_s
        if state.record.status == RUNNING:
            through = self._sealable(clock, now_s=now_s)
        self._awaits_updates |= any(pane < through for pane in book.making)
        waiting = [*book.making, *book.late, *book.owing, *(a for a, _ in state.record.deferred)]
        waiting += self.answering.holds_up(now_s=now_s) if self.answering is not None else []
        waiting += self._unsealed(late_s, now_s=now_s)
        through = min([through, state.record.closed_through, *waiting])
        if through <= max(state.record.sealed_through, state.record.lowest()):
            return
        every_s = max(min(state.config.seal_every_s, late_s), late_s / 100.0)
        if state.query.numbers is not None:
            every_s = min(SEAL_EVERY_S, state.config.seal_every_s)
        has_ended = through in (FOREVER, state.record.end_pane)
        if has_ended or now_s >= self._sealed_s + every_s:
            self._sealed_s = now_s
            behind = state.record.catching_up and not has_ended
            state.change(News.WORD, sealed_through=through, ended=has_ended, catching_up=behind)

    def unseal_from(self, pane: int, *, now_s: float) -> None:
        """What was set aside of panes from this one on has been read, or is given up."""
        self._late_again = {first: s for first, s in self._late_again.items() if first < pane}
        self._late_again[pane] = now_s

    def _unsealed(self, late_s: float, *, now_s: float) -> list[int]:
        self._late_again = {
            pane: since_s for pane, since_s in self._late_again.items() if now_s < since_s + late_s
        }
        return list(self._late_again)

    def _sealable(self, clock: SourceClock, *, now_s: float) -> int:
        """Panes below may be sealed."""
        state, query = self.state, self.state.query
        if query.numbers is not None:
            reached = state.reached.pane(awaits_past=False)
            return sealable_by_number(query, query.numbers, clock, reached)
        self._doubt_seals(clock, now_s=now_s)
        sealing_s = state.belief.sealing_s(now_s)
        return sealable_through(query, clock, lateness_s=self._lateness_s, now_s=sealing_s)

    def _doubt_seals(self, clock: SourceClock, *, now_s: float) -> None:
        """The clock was set back: what it had sealed too early may lack the records that come now
        and are too late for it. Such a pane is never called exact. What was sealed because the
        input has ended was not sealed by a clock."""
        state, query = self.state, self.state.query
        sealed = state.record.sealed_through
        has_end = query.ends or clock.ended
        if has_end or sealed in (-FOREVER, FOREVER) or now_s < state.belief.doubt_until_s:
            return
        sure_s = state.time.of(now_s) - self._lateness_s + query.timing.disorder_s
        first = max(query.window.pane_at(round(sure_s * MICROS)), state.record.lowest())
        if first < sealed:
            state.damage(first, sealed - 1)

    # What is told, and what is over

    def _tell_closes(self) -> None:
        """Of panes whose first updates are being made the number are not known yet."""
        state, record = self.state, self.state.record
        book = state.book
        unmade = [p for p in book.making if p in book.early or not book.updates_of(p)]
        unmade += [first for first, _ in record.deferred]
        is_more = state.closes.close(
            record.lowest(),
            closed_through=record.closed_through,
            sealed_through=record.sealed_through,
            made_through=min(unmade, default=FOREVER),
        )
        if is_more:
            state.hear(News.WORD)

    def _tell_end(self) -> Iterator[Withdrawn | Notice]:
        """Its site part is not to be run any more: it was suspended, or all that its extent has is
        sealed."""
        record = self.state.record
        if self._is_end_told:
            return
        if record.status == SUSPENDED:
            self._is_end_told = True
            yield Withdrawn(self.state.id)
            yield Notice("edge", "suspended", f"{self.state.id}: {record.message}")
        elif record.ended and record.end_pane is not None:
            self._is_end_told = True
            yield Withdrawn(self.state.id)
            yield Notice("edge", "extent is over", self.state.id)

    def _expire(self, *, now_s: float) -> list[Expire]:
        """Panes that nobody acknowledged in time are declined and dropped, in one step."""
        book = self.state.book
        panes = book.expired(self._retention_s, now_s=now_s)
        panes += book.beyond(self.state.config.panes_waiting_max)
        return self.state.expire(pane for pane in panes if pane not in book.making)
