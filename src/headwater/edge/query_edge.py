"""One query at one site: what to close, to cut, to seal and to say.

All of that happens in ``settle``, once a tick, whatever came in between; so one tick writes at
most one record and one cut for a query. What a cut has made is told by ``cut_done``; until then
nothing further is closed.

Of a state query every pane is cut, with or without rows of its own: it has the state in which the
records left the site by the pane's end, or the former one. What is read after a pane was closed
counts for the panes that are not, so a pane of a state query has no late updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headwater.algebra.panes import MICROS
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.summary import Lane
from headwater.algebra.words.close_digest import Close
from headwater.algebra.words.site_state import FOREVER, Reason, SiteState, Tally
from headwater.edge.closing.begin import first_pane_of, missed, pane_from
from headwater.edge.closing.belief import Belief
from headwater.edge.closing.closing import SourceClock, closable_through, sealable_through
from headwater.edge.closing.root_time import RootTime
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.pane_book import EMPTY_CLOSE, PaneBook
from headwater.edge.outputs import Cut, CutDone, Expire, Remember, Suspended
from headwater.edge.record import REFUSED, RUNNING, SUSPENDED, EdgeRecord
from headwater.edge.words.close_words import CloseWords
from headwater.edge.words.site_word import ALWAYS_S, NEVER_S, SiteWord
from headwater.plan.query import Query, TimeKind

CLOCK_NEWS_S = 1.0
"""The root is told of an offset to its clock that differs by more than this from the one told."""
EMPTY_RUN_MIN = 8
"""Runs of empty panes that are closed at once and are this long go into the state."""
EMPTY_RUN_ALWAYS = 64
"""Runs this long go there also when the state is full: they are too many to send."""

Write = Cut | Remember | Expire | Suspended


class QueryEdge:
    """Driven by ``Edge``, which knows the sources and the other queries."""

    def __init__(
        self,
        query: Query,
        *,
        ordinal: int,
        incarnation: int,
        config: EdgeConfig,
        retention_s: float,
        ahead_s: float = 0.0,
    ) -> None:
        """``ahead_s``: how far the wall clock is ahead of the steady one."""
        self.query = query
        self.id = str(query.id)
        self.word = SiteWord(self.id, ordinal, incarnation, config)
        self.book = PaneBook()
        self.closes = CloseWords(config, is_finite=query.ends)
        self.resent_s: dict[int, float] = {}
        """Panes that the root wants from this site alone, and when they were last asked for."""
        self.closed_through = -FOREVER
        self.sure_through = -FOREVER
        """Panes below were closed by reads that reached the end of the input."""
        self.root_incarnation = 0
        self.ack_number = 0
        """Of the newest acknowledgement of that root that this process heard."""
        self.former_through: int | None = None
        """Panes below may be held from a former life of this site; None: not told yet."""
        self.failures = 0
        self.failure_heard = 0
        self.loss_heard = 0
        self.cutting: dict[int, float] = {}
        """Panes of the cut that is under way, and when they were closed."""
        self.cutting_sent = False
        self.time = RootTime(
            is_used=query.time is TimeKind.AGE, ahead_s=ahead_s, slew_max=config.slew_max
        )
        self._is_unconfirmed = False
        """By age: fewer than three neighbours agree on the clock that records are placed by."""
        self.belief = Belief(self.time, config)
        self.awaits_greeting = False
        self._cube_made_s: float | None = None
        """When the cube was made; None: in a former process."""
        self._told_offset_s: float | None = None
        """Of the root's clock, as the newest state tells it."""
        self._reading_s: float | None = None
        """When reading for this query began, in this process."""
        self.doubtful = IntervalSet()
        """Empty closes of which it isn't known whether the root has them; see ``read_ack``."""
        self.doubtful_s = NEVER_S
        self.reopened = IntervalSet()
        self.record_changed = False
        self.config = config
        self._retention_s = retention_s
        timing = query.timing
        lateness_s = retention_s if timing.lateness_s is None else timing.lateness_s
        self._lateness_s = min(lateness_s, timing.revise_for_s)
        self._sealed_s = NEVER_S
        self._is_suspension_told = False
        self.has_work = True
        self._awaits_cut = False
        """There is more to close or to seal when what is being cut is cut."""

    # Beginning

    def begin(self, *, now_s: float, born_s: float, made_s: float | None = None) -> None:
        """``made_s``: when the cube was made, if this process did."""
        self._cube_made_s = made_s
        self.awaits_greeting = made_s is not None and self.query.begin_pane is not None
        tolerance_s = self.query.future_tolerance_s(self.config.future_tolerance_s)
        begun_s = self.time.of(now_s)
        first = first_pane_of(self.query, now_s=begun_s, future_tolerance_s=tolerance_s)
        self.word.first_pane = self.closed_through = first
        self.word.status = RUNNING
        self.word.catching_up = self.query.begin_pane is None or self.query.ends
        for declined in missed(self.query, first_pane=first, born_s=self.time.of_wall(born_s)):
            self.word.decline(declined.first, declined.last, declined.reason)
        self.word.has_changed = True

    def read_from(self, at_s: float) -> None:
        """Batches have this query, and its source is read, from this time on: see ``Edge``."""
        self._reading_s = at_s
        first = self.word.first_pane
        if self.query.begin_pane is None or first is None:
            return
        readable = pane_from(self.query, self.time.of(at_s))
        if readable > first:
            self.word.decline(first, readable - 1, Reason.NOT_INSTALLED)
            self.word.first_pane = readable
            self.closed_through = max(self.closed_through, readable)
            self.word.has_changed = True

    def hear_clock(self, offset_s: float, *, is_confirmed: bool = True, now_s: float) -> None:
        """The root's clock is ahead by this much. When that is heard for the first time, reading
        may prove to have begun later, in the root's time, than the first pane says."""
        is_first = self.time.known_s is None
        is_unconfirmed = self.time.is_used and not is_confirmed
        if is_unconfirmed != self._is_unconfirmed:
            self._is_unconfirmed = is_unconfirmed
            self.word.has_changed = self.has_work = True
        self.time.hear(offset_s, now_s=now_s)
        if is_first and self._reading_s is not None:
            self.read_from(self._reading_s)
        known_s, told_s = self.time.known_s, self._told_offset_s
        if known_s is not None and (told_s is None or abs(known_s - told_s) > CLOCK_NEWS_S):
            self._told_offset_s = known_s
            self.word.has_changed = self.has_work = True

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        self.time.set_wall(ahead_s, now_s=now_s)

    def snapshot(self) -> SiteState:
        lowest = self.lowest()
        return self.word.snapshot(
            offset_s=self.time.known_s,
            root_incarnation=self.root_incarnation,
            is_clock_unconfirmed=self._is_unconfirmed,
            digests=self.closes.digests(lowest, self.word.incarnation, self._closes_of),
            closes=self.closes.answers(lowest, self._closes_of, open_from=self.closed_through),
        )

    def _closes_of(self, first: int, last: int) -> Iterator[Close]:
        """Panes that were closed with updates, and how many; what is declined is left out."""
        for a, b in self.book.filled.within(first, last):
            for start, end in self.word.undeclined(a, b):
                for pane in range(start, end + 1):
                    yield pane, self.book.updates_of(pane)

    def live_anew(self, incarnation: int) -> None:
        """As when a root begins anew: what was sent was sent by another."""
        self.word.incarnation = incarnation
        self.former_through = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """The root may lack all that was ever sent."""
        self.word.forget_greeting()
        self.closes.forget_agreement()
        self.resent_s.clear()
        self.book.fly_again(self.word.done_through, sent_s=NEVER_S)
        for pane in [p for p, flight in self.book.flights.items() if EMPTY_CLOSE in flight]:
            self.book.land(pane, EMPTY_CLOSE)
        self.doubt_empty(now_s=NEVER_S)
        self.has_work = self.record_changed = True

    def hear_former(self, clock_s: float | None, *, now_s: float) -> None:
        """The root has greeted this life of the site. ``clock_s``: what the clock of its former
        life would show now, if it had one. What that had stamped when it ended is lost, and if our
        clock is an earlier one, it lies in panes that we would answer for."""
        if not self.awaits_greeting:
            return
        self.awaits_greeting, self.has_work, self.record_changed = False, True, True
        if clock_s is None or self.time.is_used:
            return
        tolerance_s = self.query.future_tolerance_s(self.config.future_tolerance_s)
        age_s = 0.0 if self._cube_made_s is None else now_s - self._cube_made_s
        whole = pane_from(self.query, clock_s - age_s + tolerance_s)
        first = self.word.first_pane
        if first is not None and whole > first:
            self.word.decline(first, whole - 1, Reason.LOST)
            self.word.first_pane = whole
            self.closed_through = max(self.closed_through, whole)
            self.word.has_changed = True

    def hear_others(self, clock_s: float | None, *, now_s: float) -> None:
        """An acknowledgement tells what the sites' clocks show now, in the middle."""
        self.has_work |= self.belief.closing_s(now_s) is None
        self.belief.hear(clock_s, left_s=self._closed_s(), now_s=now_s)

    def _closed_s(self) -> float | None:
        """The time by which the newest pane was closed, at least; None: none was, or the last."""
        if self.closed_through in (-FOREVER, FOREVER):
            return None
        end_us = self.query.window.pane_end_us(self.closed_through - 1)
        return end_us / MICROS + self.query.timing.disorder_s

    def begin_late(self, at_s: float) -> None:
        """What was read before ``at_s`` was read without this query: see ``Edge``."""
        if self.query.begin_pane is not None or self.word.first_pane != -FOREVER:
            return
        tolerance_s = self.query.future_tolerance_s(self.config.future_tolerance_s)
        first = pane_from(self.query, self.time.of(at_s) + tolerance_s)
        self.word.decline(-FOREVER, first - 1, Reason.NOT_INSTALLED)
        self.word.first_pane = first
        self.closed_through = max(self.closed_through, first)
        self.word.has_changed = self.has_work = True

    def refuse(self, reason: str) -> None:
        """This site's policy does not admit the query: all of it is declined for ever."""
        self.word.status, self.word.message = REFUSED, reason
        self.word.decline(-FOREVER, FOREVER, Reason.REFUSED)
        self.word.ended = True
        self.word.seal(FOREVER)
        self.closed_through = FOREVER

    def doubt_empty(self, *, now_s: float) -> None:
        """Count all empty closes that no state tells as sent now."""
        self.doubtful, self.doubtful_s = IntervalSet(), now_s
        for first, last in self._undeclined(self.lowest(), self.closed_through - 1):
            for gap_first, gap_last in self.book.filled.gaps(first, last):
                self.doubtful.add(gap_first, gap_last)
        for first, last in self.word.empty():
            self.doubtful.remove(first, last)

    # Rows

    def rows_in(self, pane: int, rows: int, *, now_s: float) -> None:
        """Rows of a committed batch that are in no update yet."""
        self.has_work = True
        if self.query.holds_states:
            return
        first = self.word.first_pane
        if first is not None and pane < first:
            self.word.add_tally(Tally(before_begin=rows))
        elif pane < max(self.lowest(), self.word.sealed_through):
            self.word.add_tally(Tally(too_late=rows))
        elif pane >= self.closed_through:
            self.book.add_open(pane)
        else:
            self.book.late.setdefault(pane, now_s)

    # One tick

    def settle(
        self, clock: SourceClock, *, now_s: float, has_room: Callable[[str], bool]
    ) -> list[Write]:
        """Close, cut, seal and number what is due; the writes, in order. ``has_room`` says whether
        a query's updates may be sent as soon as they are cut."""
        self.has_work = False
        clock = self.time.of_source(clock)
        writes = self._tell_suspension()
        writes += self._expire(now_s=now_s)
        panes: list[int] = []
        self._awaits_cut = bool(self.cutting)
        if not self.cutting:
            panes = self._close(clock, now_s=now_s)
            panes += self._take_late(self.config.panes_per_cut_max - len(panes), now_s=now_s)
            self.cutting = dict.fromkeys(panes, now_s)
        self._seal(clock, now_s=now_s)
        self._tell_closes()
        is_numbered = self.word.number_changes(now_s=now_s)
        if is_numbered:
            self.closes.numbered(self.word.number)
        if panes:
            self.cutting_sent = self._is_live and has_room(self.id)
            writes.append(Cut(self.id, tuple(panes), self.record(), self.cutting_sent))
        elif is_numbered or self.record_changed:
            writes.append(Remember(self.id, self.record()))
        self.record_changed = False
        return writes

    def _close(self, clock: SourceClock, *, now_s: float) -> list[int]:
        """Move ``closed_through`` as far as one cut reaches; the panes with rows in between."""
        is_running = self.word.status == RUNNING
        through = FOREVER
        if is_running:
            is_waiting = self.awaits_greeting or self._awaits_input(clock, now_s=now_s)
            closing_s = None if is_waiting else self.belief.closing_s(now_s)
            through = closable_through(self.query, clock, now_s=closing_s)
            if clock.read_through_s is not None and through > self.sure_through:
                self.sure_through, self.record_changed = through, True
        if through <= self.closed_through:
            return []
        if clock.unread_since_s is not None:
            self.damage(self.closed_through, through - 1)
        if self.query.holds_states:
            return self._close_states(through)
        panes = self.book.take_open(through, self.config.panes_per_cut_max)
        next_open = self.book.lowest_open()
        if next_open is not None and next_open < through:
            through, self.has_work = next_open, True
        self._close_empty(self.closed_through, through - 1, panes, now_s=now_s)
        self.closed_through, self.record_changed = through, True
        return panes

    def _awaits_input(self, clock: SourceClock, *, now_s: float) -> bool:
        """Some can't be read, and may be soon: a file is opened when there are descriptors again,
        or its owner has set its permissions."""
        since_s = clock.unread_since_s
        return since_s is not None and now_s < since_s + self.config.unread_wait_s

    def next_close_s(self, *, after_s: float, now_s: float) -> float:
        """From when on (steady time) a read closes a pane that one at ``after_s`` could not.

        The clocks by which panes are closed run as fast as the steady one, so what one of them is
        ahead now it will be then. One that is in doubt closes nothing before that is over.
        """
        if self.word.status != RUNNING or self.word.ended:
            return ALWAYS_S
        closing_s = self.belief.closing_s(now_s)
        if closing_s is None:
            return max(self.belief.doubt_until_s, after_s)
        ahead_s, disorder_s = closing_s - now_s, self.query.timing.disorder_s
        window, first = self.query.window, self.word.first_pane
        read_s = min(self.time.of_read(after_s), after_s + ahead_s)
        pane = window.pane_at(round((read_s - disorder_s) * MICROS))
        pane = pane if first is None else max(pane, first)
        return window.pane_end_us(pane) / MICROS + disorder_s - ahead_s

    def _close_states(self, through: int) -> list[int]:
        """Every pane that is not declined has a state; as many as one cut takes."""
        count_max, panes = self.config.panes_per_cut_max, list[int]()
        for first, last in self._undeclined(self.closed_through, through - 1):
            panes += range(first, min(last + 1, first + count_max - len(panes)))
            if len(panes) == count_max:
                self.has_work |= panes[-1] + 1 < through
                through = panes[-1] + 1
                break
        self.closed_through, self.record_changed = through, True
        return panes

    def _close_empty(self, first: int, last: int, filled: list[int], *, now_s: float) -> None:
        """``filled`` are the panes with rows among first … last."""
        if len(filled) == last - first + 1:
            return
        others = IntervalSet((pane, pane) for pane in filled)
        for a, b in self._undeclined(first, last):
            for run in others.gaps(a, b):
                self._close_run(*run, now_s=now_s)

    def _close_run(self, first: int, last: int, *, now_s: float) -> None:
        """Long runs are told by the state; at the end of input all are, so that it is complete,
        and those with damage, so that no close overtakes it."""
        is_full = self.word.empty_ranges >= self.config.empty_ranges_max
        has_damage = self.word.has_damage(first, last)
        run_min = 1 if self.query.ends or has_damage else EMPTY_RUN_MIN
        if last - first + 1 >= (EMPTY_RUN_ALWAYS if is_full else run_min):
            self.word.close_empty(first, last)
            return
        for pane in range(first, last + 1):
            self.book.add_unsent(pane, [EMPTY_CLOSE], closed_s=now_s, live=self._is_live)
            self.book.written(pane, now_s=now_s)

    def _take_late(self, count_max: int, *, now_s: float) -> list[int]:
        if not self.book.late:
            return []
        wait_s = self.config.late_coalesce_s
        due = [pane for pane, since_s in self.book.late.items() if since_s + wait_s <= now_s]
        for pane in due[:count_max]:
            del self.book.late[pane]
            if not self.book.updates_of(pane) and not self.word.is_declined(pane):
                self.reopened.add(pane, pane)
        self.has_work |= len(due) > count_max
        return due[:count_max]

    def _seal(self, clock: SourceClock, *, now_s: float) -> None:
        """A pane with rows that are in no update yet is not sealed."""
        if self.word.status == RUNNING:
            self._doubt_seals(clock, now_s=now_s)
            through = sealable_through(
                self.query, clock, lateness_s=self._lateness_s, now_s=self.belief.sealing_s(now_s)
            )
        else:
            through = FOREVER
        if self.cutting:
            self._awaits_cut |= min(self.cutting) < through
        through = min([through, self.closed_through, *self.cutting, *self.book.late])
        if through <= max(self.word.sealed_through, self.lowest()):
            return
        every_s = max(min(self.config.seal_every_s, self._lateness_s), self._lateness_s / 100.0)
        if through == FOREVER or now_s >= self._sealed_s + every_s:
            self._sealed_s = now_s
            self.word.seal(through)
            self.word.ended = through == FOREVER
            self.word.catching_up &= not self.word.ended

    def _tell_closes(self) -> None:
        """Of panes that are being cut for the first time the updates are not known yet."""
        uncut = (pane for pane in self.cutting if not self.book.updates_of(pane))
        is_more = self.closes.close(
            self.lowest(),
            closed_through=self.closed_through,
            sealed_through=self.word.sealed_through,
            cut_through=min(uncut, default=FOREVER),
        )
        self.word.has_changed |= is_more

    def _doubt_seals(self, clock: SourceClock, *, now_s: float) -> None:
        """The clock was set back: what it had sealed too early may lack the records that come now
        and are too late for it. Such a pane is never called exact. What was sealed because the
        input has ended was not sealed by a clock."""
        sealed = self.word.sealed_through
        has_end = self.query.ends or clock.ended
        if has_end or sealed in (-FOREVER, FOREVER) or now_s < self.belief.doubt_until_s:
            return
        sure_s = self.time.of(now_s) - self._lateness_s + self.query.timing.disorder_s
        first = max(self.query.window.pane_at(round(sure_s * MICROS)), self.lowest())
        if first < sealed:
            self.damage(first, sealed - 1)

    def damage(self, first: int, last: int) -> None:
        """These panes can't be exact; the state says so and, from now on, tells their closes."""
        self.word.damage(first, last)
        for a, b in list(self.book.filled.within(first, last)):
            for pane in range(a, b + 1):
                self.count(pane, self.book.updates_of(pane))

    def cut_done(self, done: CutDone, *, now_s: float) -> list[int]:
        """The new updates of the pane, to be sent now if the cut said so; else they are queued."""
        self.has_work |= self._awaits_cut or not self.cutting_sent
        pane, closed_s = done.pane, self.cutting.pop(done.pane, now_s)
        updates = list(range(done.first_update, done.last_update + 1))
        if done.is_same:
            self.book.same.add(pane, pane)
        if not done.is_whole:
            self._not_whole(pane)
        if not updates:
            self.has_work = True
            self._nothing_cut(pane, closed_s=closed_s)
            return []
        self.book.set_updates(pane, done.last_update, row_bytes=done.row_bytes)
        self.doubtful.remove(pane, pane)
        self.count(pane, done.last_update)
        self.book.written(pane, now_s=now_s)
        if self.cutting_sent:
            self.book.fly(pane, updates, now_s=now_s)
            self.has_work |= bool(self.book.beyond(self.config.panes_waiting_max))
            return updates
        live = self.lane_of(done, now_s=now_s) is Lane.LIVE
        self.book.add_unsent(pane, updates, closed_s=closed_s, live=live)
        return []

    def _nothing_cut(self, pane: int, *, closed_s: float) -> None:
        """The rows were in an earlier cut already, or there were none after all."""
        is_known = self.book.updates_of(pane) or self.word.is_told_empty(pane)
        if not is_known and not self.word.is_declined(pane) and pane not in self.reopened:
            self.book.add_unsent(pane, [EMPTY_CLOSE], closed_s=closed_s, live=self._is_live)

    def _not_whole(self, pane: int) -> None:
        """Before its close is told: so the state tells it, and no answer is called exact before."""
        if self.query.holds_states:
            self.word.damage(pane, pane)
        else:
            self.word.decline(pane, pane, Reason.LOST)

    def lane_of(self, done: CutDone, *, now_s: float) -> Lane:
        """A late update of an old pane would be held on the way for partners that never come."""
        is_first_close = done.first_update == 1 and done.pane not in self.reopened
        age_s = self.time.of(now_s) - self.query.window.pane_end_us(done.pane) / MICROS
        is_recent = is_first_close or age_s <= self.config.live_for_s
        return Lane.LIVE if self._is_live and is_recent else Lane.BACKLOG

    def count(self, pane: int, updates: int) -> None:
        """Tell how many updates the pane has, where that isn't one and nothing else was said.

        Of a pane that can't be exact only the state tells the close. Were it sent with the rows,
        it could overtake the state, and the root would call the answer exact for a while.
        """
        after_word = pane in self.reopened or self.word.is_declined(pane)
        if updates > 1 or after_word or self.word.is_doubted(pane):
            self.word.count(pane, updates, after_word=after_word)

    @property
    def _is_live(self) -> bool:
        """While a site catches up, and at the end of a finite input, all it sends is backlog."""
        return not (self.word.catching_up or self.query.ends)

    def _tell_suspension(self) -> list[Write]:
        if self.word.status != SUSPENDED or self._is_suspension_told:
            return []
        self._is_suspension_told = True
        return [Suspended(self.id, self.word.message)]

    # Retention

    def _expire(self, *, now_s: float) -> list[Write]:
        """Panes that nobody acknowledged in time are declined and dropped, in one step."""
        panes = self.book.expired(self._retention_s, now_s=now_s)
        panes += self.book.beyond(self.config.panes_waiting_max)
        return self.expire([pane for pane in panes if pane not in self.cutting]) if panes else []

    def expire(self, panes: Iterable[int], reason: Reason = Reason.EXPIRED) -> list[Write]:
        gone = tuple(sorted(set(panes)))
        if not gone:
            return []
        for pane in gone:
            self.word.decline(pane, pane, reason)
            self.book.drop(pane)
            self.doubtful.remove(pane, pane)
        return [Expire(self.id, gone, self.record())]

    # The record

    def record(self) -> EdgeRecord:
        word = self.word
        return EdgeRecord(
            first_pane=word.first_pane,
            closed_through=self.closed_through,
            sealed_through=word.sealed_through,
            ended=word.ended,
            catching_up=word.catching_up,
            status=word.status,
            message=word.message,
            failures=self.failures,
            state_number=word.number,
            done_through=word.done_through,
            root_incarnation=self.root_incarnation,
            empty=word.empty(),
            reopened=self.reopened.ranges(),
            declined=word.declined(),
            damaged=word.damaged(),
            tally=word.tally,
            failure_heard=self.failure_heard,
            source=self.query.source_name,
            loss_heard=self.loss_heard,
            sure_through=self.sure_through,
            offset_s=self.time.known_s,
            awaits_greeting=self.awaits_greeting,
            alarms=word.alarms(),
        )

    def drop_below(self, done_through: int) -> None:
        self.word.drop_below(done_through)
        self.book.drop_below(done_through)
        self.reopened.remove(-FOREVER, done_through - 1)
        self.doubtful.remove(-FOREVER, done_through - 1)

    def next_deadline_s(self) -> float:
        if self.has_work or self.record_changed:
            return NEVER_S
        late_s = next(iter(self.book.late.values()), ALWAYS_S) + self.config.late_coalesce_s
        expiry_s = self.book.next_expiry_s()
        return min(
            self.word.next_deadline_s(),
            ALWAYS_S if self.cutting else late_s,
            ALWAYS_S if expiry_s is None else expiry_s + self._retention_s,
        )

    def lowest(self) -> int:
        """The lowest pane that this site still answers for."""
        first = self.word.first_pane
        return max(FOREVER if first is None else first, self.word.done_through)

    def lowest_unclosed(self) -> int:
        return max(self.closed_through, self.lowest())

    def _undeclined(self, first: int, last: int) -> Iterator[Range]:
        return iter(self.word.undeclined(max(first, self.lowest()), last))
