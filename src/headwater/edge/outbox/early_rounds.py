"""When keys of an open pane leave, and how many: one query at one site.

The books of its open panes (``early.key_book``) hear each batch. At the first reading of a round
they are asked which keys go now, if that helps anybody: as far as what would be left for the flush
after the close takes the way longer than ``early_worth_s``, and no more than the way carries in a
round, or in several where one has no room for the smallest update. Where nothing is known of the
way, or the last flush was short, no reading is asked for and nothing leaves early.

What the books know is lost with the process, and may be wrong: they choose, and the cube knows what
was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import msgspec
import numpy as np

from headwater.algebra.capacity.smoothed import Smoothed
from headwater.algebra.capacity.way_capacity import WayCapacity
from headwater.algebra.coverage import EARLY_UPDATES_MAX
from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.words.site_state import RUNNING, flush_level
from headwater.edge.closing.closing import SourceClock
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.site_keys import SiteKeys
from headwater.edge.outbox.early_plan import EarlyPlan
from headwater.edge.outputs import MakeEarly, UpdatesMade
from headwater.edge.query_state import News, QueryState
from headwater.edge.report import PaneKeys
from headwater.plan.altered.settings import Settings

RATE_OVER_S = 4.0
"""What the way carries is taken as its mean over about this time: keys that have left can't be
taken back when a link was only busy for a moment."""
BATCH_PARTS = 4
"""A batch of more new keys than a book follows is taken in, and put aside, by parts: what a book
takes is never above its limit by more than one of them, a share of it."""
BOOKS_MAX = 64
"""Open panes of one query whose keys are followed; of further ones nothing leaves early."""


class EarlyRounds:
    def __init__(self, state: QueryState, keys: SiteKeys | None = None) -> None:
        """``keys``: of all queries of the site; None: there is no other."""
        self._state = state
        self._keys = keys or SiteKeys(state.config.outbox_keys_site_max)
        self._pane_s = state.query.window.pane_us / MICROS
        self._known: dict[int, tuple[Settings | None, EarlyPlan]] = {}
        """By the number of the settings."""
        self._plans: dict[int, EarlyPlan] = {}
        """Of the panes that have books."""
        self._pasts: dict[tuple[str, tuple[str, ...]], KeyPast] = {}
        self._books: dict[int, KeyBook] = {}
        self._rounds_done: dict[int, int] = {}
        """By pane, the round that was looked at last."""
        self._rounds_spent: dict[int, int] = {}
        """By pane, the round up to which what the way carries has been used."""
        self._flush_bytes = 0.0
        """Of the newest pane that was closed, had nothing left early."""
        self._told = Smoothed()
        self._rate: float | None = None
        """Of the way to the root, in bytes of rows a second, as it was told last."""
        self.travel_s: float | None = None
        """How long summaries take to the root, as it told last."""
        self.keys_sent = 0
        """Each time counted."""
        self.flush_s = 0.0
        """What was left to send of the newest pane at its close takes the way so long; 0.0 also
        where nobody knows what that carries."""
        self.piece_bytes = 0
        """As ``MakeUpdates`` has it, for the panes that were closed just now."""
        self.keys_again = 0
        """Of them those that had left before in the same pane."""

    @property
    def is_used(self) -> bool:
        """By settings that hold for some pane which is not closed, or will."""
        return bool(self._books) or self._plan_of(self._state.settings.newest_number).is_used

    def plan_at(self, pane: int) -> EarlyPlan:
        """What has begun goes on as it began."""
        begun = self._plans.get(pane)
        return begun or self._plan_of(self._state.settings.number_at(pane))

    def _plan_of(self, number: int) -> EarlyPlan:
        state = self._state
        settings = state.settings.of(number) if number else None
        known = self._known.get(number)
        if known is None or known[0] is not settings:
            keys_max = state.config.outbox_keys_max
            known = settings, EarlyPlan.of(state.query, settings, keys_max=keys_max)
            self._known[number] = known
        return known[1]

    def hear(self, batch: PaneKeys, *, now_s: float) -> None:
        """A batch had these keys of a pane that is open."""
        state, plan = self._state, self.plan_at(batch.pane)
        if not plan.is_used or batch.pane < state.record.lowest_unclosed():
            return
        values = plan.values(batch)
        if values is None:
            return
        book = self._books.get(batch.pane)
        if book is None:
            if len(self._books) >= BOOKS_MAX:
                return
            book = self._books[batch.pane] = KeyBook(
                plan.measures(state.settings.part_at(batch.pane)),
                self._past_of(plan),
                plan.config,
                start_s=self._start_s(batch.pane),
                pane_s=self._pane_s,
                chance=np.random.default_rng(0),
            )
            self._plans[batch.pane] = plan
        batch = msgspec.structs.replace(batch, values=values)
        for part in batch.parts(max(1, state.config.outbox_keys_max // BATCH_PARTS)):
            before = book.key_count
            book.add(
                part.keys,
                part.values,
                records=part.records,
                row_bytes=part.row_bytes,
                now_s=state.time.of(now_s),
            )
            self._keys.books.came(book, book.key_count - before)

    def _past_of(self, plan: EarlyPlan) -> KeyPast:
        if plan.past not in self._pasts:
            self._pasts[plan.past] = KeyPast(plan.config, column_count=plan.column_count)
        return self._pasts[plan.past]

    def close(self) -> None:
        """Some panes may be closed now: what they teach is learned, and their books go."""
        self.piece_bytes = 0
        if not self._books:
            return
        closed_through = self._state.record.lowest_unclosed()
        for pane in sorted(pane for pane in self._books if pane < closed_through):
            book, plan = self._books.pop(pane), self._plans.pop(pane)
            self._rounds_done.pop(pane, None)
            self._rounds_spent.pop(pane, None)
            flush_bytes = self._flush_room_bytes(pane, plan)
            book.close(ahead_bytes=flush_bytes)
            self._flush_bytes = book.due_bytes()
            self.keys_again += book.again
            self.flush_s = book.left_bytes() / self._rate if self._rate else 0.0
            self.piece_bytes = max(self.piece_bytes, self._piece_bytes(book))
            if plan.tolerance is None:  # what is left at the deadline, and no bound, is the error
                book.take(int(flush_bytes), now_s=0.0)
            self._tell_flush(plan.tolerance, book.key_count * book.row_bytes())
            past = self._past_of(plan)
            before = past.key_count
            book.end()
            self._keys.pasts.came(past, past.key_count - before)
        self._forget()

    def _piece_bytes(self, book: KeyBook) -> int:
        """A deadline cuts off what is not through, and the piece in the midst of which it comes."""
        config = self._state.config
        if self._rate is None or self.flush_s <= config.flush_piece_s:
            return 0
        least_bytes = book.bytes_of(config.early_keys_min)
        return max(1, round(self._rate * config.flush_piece_s), least_bytes)

    def _flush_room_bytes(self, pane: int, plan: EarlyPlan) -> float:
        """What can arrive for the first answer of what is left at the close; 0.0 where an error
        says what goes."""
        if plan.tolerance is not None or self._rate is None:
            return 0.0
        closed_s = self._start_s(pane) + self._pane_s + self._state.query.timing.disorder_s
        left_s = self._answered_s(pane) - (self.travel_s or 0.0) - closed_s
        return self._rate * max(0.0, left_s)

    def _forget(self) -> None:
        """What panes under former settings have taught, when none of them is open any more."""
        newest = self._plan_of(self._state.settings.newest_number)
        used = {plan.past for plan in (*self._plans.values(), newest)}
        self._pasts = {past: known for past, known in self._pasts.items() if past in used}
        self._known = {
            number: known
            for number, known in self._known.items()
            if self._state.settings.of(number)
        }

    def _tell_flush(self, tolerance: Tolerance | None, byte_count: float) -> None:
        """Of a pane that was closed, had all of it left then: the root deals out shares by it."""
        rate = self._rate
        if tolerance is not None and tolerance.can_move:
            lasts_s = byte_count / rate if rate else 0.0
            is_worth = lasts_s > self._state.config.early_worth_s / 2.0
            self._state.telling.flush_level = flush_level(lasts_s) if is_worth else 0

    def next_moment_s(self, read_s: float) -> float:
        """The next end of a round after this time, at which a reading would help; by the time that
        panes are numbered by."""
        if not self._is_worth(self._flush_bytes):
            return NEVER_DUE_S
        pane = self._state.query.window.pane_at(round(read_s * MICROS))
        plan = self.plan_at(pane)
        if not plan.is_used:
            return NEVER_DUE_S
        at = self._round_at(pane, read_s) + 1
        return self._start_s(pane) + at * plan.round_s

    def cuts(
        self,
        clock: SourceClock,
        *,
        now_s: float,
        has_room: Callable[[str], bool],
        capacity: Callable[[str], WayCapacity],
    ) -> list[MakeEarly]:
        """What leaves now; asked when nothing is to be closed."""
        state = self._state
        if not self.is_used:
            return []
        told = capacity(state.id).rows_bytes_per_s
        self._told = self._told.add(told, over_s=RATE_OVER_S, now_s=now_s)
        self._rate = self._told.value
        if self._rate is None or not (self._books and self._may_send() and has_room(state.id)):
            return []
        read_s = state.time.of_source(clock).read_through_s
        return [] if read_s is None else self._choose(read_s, self._rate, now_s=now_s)

    def take(self, done: UpdatesMade, *, now_s: float) -> list[int]:
        """What came of a cut, to be sent now. The pane may have been given up since."""
        state = self._state
        state.hear(News.WORK)
        if done.pane < state.record.lowest():
            return []
        updates = state.book.made_early(done, now_s=now_s)
        if done.pane in state.unwanted:
            state.book.leave(state.unwanted)
            return []
        return updates

    def _choose(self, read_s: float, rate: float, *, now_s: float) -> list[MakeEarly]:
        """``read_s``: all up to there is read, by the time that panes are numbered by."""
        time_s = self._state.time.of(now_s)
        found: list[MakeEarly] = []
        for pane, book in sorted(self._books.items()):
            if not self._is_due(pane, read_s=read_s, time_s=time_s):
                continue
            room_bytes = self._room_bytes(pane, book, rate, time_s)
            keys = book.take(
                int(min(room_bytes, self._excess_bytes(pane, book, rate, time_s))),
                now_s=time_s,
                ahead_bytes=rate * max(0.0, self._ahead_until_s(pane) - time_s),
                keys_min=self._state.config.early_keys_min,
            )
            if len(keys):
                self._spend(pane, room_bytes, rate)
                self.keys_sent += len(keys)
                self._state.book.cutting[pane] = None
                found.append(MakeEarly(self._state.id, pane, keys))
        return found

    def _may_send(self) -> bool:
        record = self._state.record
        is_steady = record.status == RUNNING and not record.past and not record.awaits_greeting
        return is_steady and self._state.is_live

    def _is_due(self, pane: int, *, read_s: float, time_s: float) -> bool:
        """A round has ended since the last time, all of it is read, and the pane goes on. Who was
        started again may cut a round once more, but there are never more updates than members
        take."""
        state, at = self._state, self._round_at(pane, read_s)
        if state.book.updates_of(pane) >= EARLY_UPDATES_MAX:
            return False
        is_late = time_s + (self.travel_s or 0.0) > self._answered_s(pane)
        is_busy = is_late or pane in state.book.cutting or pane in state.book.making
        is_over = time_s >= self._start_s(pane) + self._pane_s or state.is_doubted(pane)
        is_over = is_over or pane in state.unwanted or state.pause.holds(pane)
        if at <= self._rounds_done.get(pane, 0) or is_busy or is_over:
            return False
        self._rounds_done[pane] = at
        return True

    def live_s(self) -> float:
        """For so long after its close a pane's updates are live. Where nothing leaves early, as the
        configuration says; otherwise as long as they can arrive for the first answer. What is left
        then makes way for the panes that come after."""
        state, live_for_s = self._state, self._state.config.live_for_s
        if not self._plan_of(state.settings.newest_number).is_used:
            return live_for_s
        answered_s = state.settings.newest.deadline_s + state.query.window.slide_us / MICROS
        left_s = answered_s - self._pane_s - state.query.timing.disorder_s - (self.travel_s or 0.0)
        return max(0.0, min(live_for_s, left_s))

    def _answered_s(self, pane: int) -> float:
        """When the first window that has the pane is answered at the latest."""
        window = self._state.query.window
        end_us = window.window_end_us(window.windows_of(pane).start)
        return end_us / MICROS + self._state.settings.at(pane).deadline_s

    def _ahead_until_s(self, pane: int) -> float:
        """Up to when what the way carries counts: to the close where an error is bounded; else as
        long as something can arrive for the first answer."""
        closed_s = self._start_s(pane) + self._pane_s
        if self.plan_at(pane).tolerance is not None:
            return closed_s
        return max(closed_s, self._answered_s(pane) - (self.travel_s or 0.0))

    def _excess_bytes(self, pane: int, book: KeyBook, rate: float, time_s: float) -> float:
        """As far as the flush would last too long."""
        left = max(0.0, 1.0 - (time_s - self._start_s(pane)) / self._pane_s)
        expected = book.waiting_bytes() + left * self._flush_bytes
        return max(0.0, expected - rate * self._state.config.early_worth_s)

    def _room_bytes(self, pane: int, book: KeyBook, rate: float, time_s: float) -> float:
        """As much as the way carries in a round. Where that is less than the smallest update,
        rounds are joined: their room is saved up until such an update fits, or until it would not
        be through by the close if it waited any longer."""
        round_bytes = rate * self.plan_at(pane).round_s
        least_bytes = book.bytes_of(self._state.config.early_keys_min)
        joined = max(1, ceil(least_bytes / max(round_bytes, 1e-9)))
        saved = self._rounds_done[pane] - self._rounds_spent.get(pane, 0)
        if saved <= 0:
            return 0.0
        closed_s = self._start_s(pane) + self._pane_s + self._state.query.timing.disorder_s
        left_bytes = rate * max(0.0, closed_s - time_s)
        room_bytes = round_bytes * min(saved, joined)
        is_last_chance = left_bytes - round_bytes < least_bytes <= left_bytes
        if room_bytes < least_bytes and is_last_chance:
            return least_bytes
        return room_bytes if joined == 1 else min(room_bytes, left_bytes)

    def _spend(self, pane: int, room_bytes: float, rate: float) -> None:
        """Rounds whose room was lent are over before anything more is cut."""
        saved = self._rounds_done[pane] - self._rounds_spent.get(pane, 0)
        lent = room_bytes / (rate * self.plan_at(pane).round_s) - saved
        self._rounds_spent[pane] = self._rounds_done[pane] + max(0, ceil(lent - 1e-6))

    def _is_worth(self, flush_bytes: float) -> bool:
        rate = self._rate
        return rate is not None and flush_bytes > rate * self._state.config.early_worth_s

    def _round_at(self, pane: int, time_s: float) -> int:
        """How many rounds of the pane have ended; the last one ends with the close."""
        plan = self.plan_at(pane)
        ended = int((time_s - self._start_s(pane)) // plan.round_s)
        return max(0, min(ended, plan.count - 1))

    def _start_s(self, pane: int) -> float:
        return self._state.query.window.pane_start_us(pane) / MICROS
