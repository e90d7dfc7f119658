"""One query at one site: its state, what surrounds it, and the one door by which it changes.

The state is a value (``EdgeRecord``). Beginning, closing, reports, acknowledgements and sending
read it and hand a new one to ``put`` or ``change``, with what must follow of that. Beside it stand
where each update is, what the root has heard, and by which clock the query goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import Any

import msgspec

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.share_table import ShareTable, known_after
from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range, Ranges
from headwater.algebra.words.close_digest import Close
from headwater.algebra.words.site_state import FOREVER, Reason, SiteFacts, SiteState, Tally
from headwater.edge.closing.belief import Belief
from headwater.edge.closing.reached import Reached
from headwater.edge.closing.root_time import RootTime
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.pane_book import PaneBook
from headwater.edge.outbox.pause_book import PauseBook
from headwater.edge.outputs import Expire
from headwater.edge.record import EdgeRecord
from headwater.edge.words.close_words import CloseWords
from headwater.edge.words.telling import Telling
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX, Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.query import Query, TimeKind

NOTHING = Tally()
UNWANTED_RANGES_MAX = 1_024
"""Of unwanted panes above ``done_through``, that a record has."""


class News(IntEnum):
    """What has happened since the last tick, by what must follow of it; the most of it counts."""

    NONE = 0
    WORK = 1
    """There may be something to close, to make, to seal or to tell."""
    RECORD = 2
    """The record must be written."""
    WORD = 3
    """The root must hear of it: the state gets a new number, is written and told."""


class QueryState:
    def __init__(
        self,
        query: Query,
        *,
        ordinal: int,
        incarnation: int,
        config: EdgeConfig,
        ahead_s: float = 0.0,
        others_s: float | None = None,
    ) -> None:
        """``ahead_s``: how far the wall clock is ahead of the steady one; ``others_s``: how far the
        other sites' are, if that is known."""
        self.query = query
        self.id = str(query.id)
        self._draw = query.draw
        self.config = config
        self.record = EdgeRecord(source=query.source_name, sure_through=-FOREVER)
        self.news = News.WORK
        self.book = PaneBook()
        self.telling = Telling(ordinal, incarnation, config, is_level=query.stands_for is not None)
        self.closes = CloseWords(config, is_finite=query.ends)
        is_by_age = query.time is TimeKind.AGE
        self.time = RootTime(is_used=is_by_age, ahead_s=ahead_s, slew_max=config.slew_max)
        self.belief = Belief(self.time, config, others_s=others_s)
        self.awaited_from = -FOREVER
        """The lowest pane that the root awaits from somebody who catches up, as it last told."""
        self.reached = Reached()
        self.settings = SettingsBook(Settings.of(query))
        """By which the site goes, pane by pane."""
        self.declined = IntervalSet()
        """The panes that the record declines, for whatever reason."""
        self.is_level = query.stands_for is not None
        """It stands for another query, and has the panes that it takes alone."""
        self.unwanted = IntervalSet()
        """Those that no window wants any more."""
        self.pause = PauseBook()

    # The door

    def put(self, record: EdgeRecord, news: News) -> None:
        """Nothing happens where it is the same record."""
        former, self.record = self.record, record
        if record.declined is not former.declined:
            self.declined = IntervalSet((one.first, one.last) for one in record.declined)
        if record.deferred is not former.deferred:
            self.book.deferred = IntervalSet(record.deferred)
        if record.unwanted is not former.unwanted:
            self.unwanted = IntervalSet(record.unwanted)
        if record is not former:
            self.hear(news)

    def change(self, news: News, **facts: Any) -> None:
        self.put(msgspec.structs.replace(self.record, **facts), news)

    def hear(self, news: News) -> None:
        self.news = max(self.news, news)

    def take_news(self) -> News:
        news, self.news = self.news, News.NONE
        return news

    # What is said of panes

    def takes(self, pane: int) -> bool:
        """Whether the pane is any of the query's at this site: a random demand has not drawn all,
        and a level stands for some. What is not is not made, and no word is said of it."""
        if self.is_level:
            return ranges.contains(self.record.taken, pane)
        return self._draw is None or self._draw.has(pane, self.telling.ordinal)

    def owes(self, pane: int) -> bool:
        """Whether the pane is to be made and told when it is closed."""
        return self.takes(pane) and pane not in self.unwanted

    def owed_of(self, first: int, last: int) -> Iterator[Range]:
        """Of these panes those that are neither declined nor unwanted."""
        return (two for one in self.declined.gaps(first, last) for two in self.unwanted.gaps(*one))

    def want_no_more(self, panes: Ranges) -> bool:
        """The root says so of these. What is under way of them is let go of; what was made is kept,
        and still counts in digests, since the root may hold it. False: it is known. Of more ranges
        than are kept here nothing is taken: what is sent then is refused by the root."""
        first = self.record.lowest()
        news = ranges.normal((max(a, first), b) for a, b in panes)
        unwanted = ranges.union(self.record.unwanted, news)
        if unwanted == self.record.unwanted or len(unwanted) > UNWANTED_RANGES_MAX:
            return False
        self.change(News.WORK, unwanted=unwanted)
        self.book.leave(self.unwanted)
        return True

    def taken_of(self, panes: Range) -> Iterator[Range]:
        """All of them, or of those that were drawn the first; each block of a draw has one."""
        if self._draw is None:
            yield panes
            return
        first, last = panes
        near = range(first, min(last, first + 2 * self._draw.panes) + 1)
        yield from ((pane, pane) for pane in islice(filter(self.takes, near), 1))

    def taken_alone(self, runs: Sequence[Range]) -> Sequence[Range]:
        """Of a level: what it takes of these."""
        taken = IntervalSet(self.record.taken)
        return [one for run in runs for one in taken.within(*run)]

    def decline(self, first: int, last: int, reason: Reason) -> None:
        limit = self.config.declined_ranges_max
        self.put(self.record.decline(first, last, reason, ranges_max=limit), News.WORD)

    def defer(self, panes: Sequence[Range], *, now_s: float) -> None:
        """They are closed, a level stands for them, and their own updates follow."""
        self.change(News.WORD, deferred=ranges.union(self.record.deferred, ranges.normal(panes)))
        for first, last in panes:
            for pane in range(first, last + 1):
                self.book.written(pane, now_s=now_s)

    def undefer(self, panes: Iterable[int], news: News = News.WORD) -> None:
        """Their updates are made now, or will never be."""
        gone = ranges.normal((pane, pane) for pane in panes)
        if gone and ranges.intersects(self.record.deferred, gone):
            self.change(news, deferred=ranges.difference(self.record.deferred, gone))

    def waits_with_level(self, pane: int) -> bool:
        """Rows of this closed pane follow with the others, or not at all, as a level stands for
        it."""
        return pane in self.book.deferred or any(
            one.reason is Reason.COARSE and one.first <= pane <= one.last
            for one in self.record.declined
        )

    def damage(self, first: int, last: int) -> None:
        """These panes can't be exact; the state says so and, from now on, tells their closes."""
        self.put(self.record.damage(first, last), News.WORD)
        self.count_filled(first, last)

    def alter(self, commanded: SettingsBook) -> SettingsBook | None:
        """Settings hold from their pane on, or from the next one here where that has come: what is
        closed was made by others, and what has begun goes on as it began. The root is told.
        Those that are commanded no more are kept while panes that went by them are wanted.
        None: they are the same as before."""
        from_pane = dict(self.record.settings)
        for one in commanded.changes:
            from_pane.setdefault(one.number, max(one.pane, self._next_pane()))
        applied = tuple(sorted(from_pane.items()))[-SETTINGS_KEPT_MAX:]
        if applied != self.record.settings:
            self.change(News.WORD, settings=applied)
        known = {one.number: one for one in (*self.settings.changes, *commanded.changes)}
        changes = tuple(
            msgspec.structs.replace(known[number], pane=pane)
            for number, pane in applied
            if number in known
        )
        if changes == self.settings.changes:
            return None
        self.settings = msgspec.structs.replace(self.settings, changes=changes)
        return self.settings

    def hear_shares(self, tables: Sequence[ShareTable]) -> SettingsBook | None:
        """What the root has dealt out; None: it is known, or nothing."""
        own = known_after(self.settings.own, tables, self.telling.ordinal)
        if own == self.settings.own:
            return None
        self.settings = msgspec.structs.replace(self.settings, own=own)
        return self.settings

    def _next_pane(self) -> int:
        """The first that nothing has come for, and that is not closed."""
        begun = [last for _, last in self.book.open.within(-FOREVER, FOREVER)]
        return min(FOREVER, max(self.record.closed_through, max(begun, default=-FOREVER) + 1))

    def close_empty(self, *runs: Range) -> None:
        self.change(News.WORD, empty=ranges.union(self.record.empty, ranges.normal(runs)))

    def reopen(self, panes: Iterable[int]) -> None:
        """They were closed empty and have rows now; their first update is still to be made."""
        found = ranges.normal((pane, pane) for pane in panes if pane not in self.declined)
        if found:
            self.change(News.NONE, reopened=ranges.union(self.record.reopened, found))

    def count_filled(self, first: int, last: int) -> None:
        """The state says of these panes that they can't be exact; now it tells their closes too."""
        for pane in self.book.filled.numbers(first, last):
            if pane not in self.book.early:
                self.count(pane, self.book.updates_of(pane))

    def count(self, pane: int, updates: int, *, is_late: bool = False) -> None:
        """Tell how many updates the pane has, where its first close does not or may not: see "Held
        means all that the root knows to be closed".

        Of a pane that can't be exact only the state tells the close. Were it sent with the rows,
        it could overtake the state, and the root would call the answer exact for a while.
        """
        record = self.record
        after_word = pane in self.declined or ranges.contains(record.reopened, pane)
        after_word = after_word or self.is_level  # the root awaits nobody before a state says so
        if is_late or after_word or self.is_doubted(pane):
            self.telling.count(record, pane, updates, after_word=after_word)
            self.hear(News.WORD)
            if ranges.contains(record.empty, pane):
                self.change(News.WORD, empty=ranges.difference(record.empty, ((pane, pane),)))

    def landed(self, pane: int) -> None:
        """The root holds all of it. Its close came with the updates, so no state need tell it any
        more, but of a pane that can't be exact."""
        if not self.is_doubted(pane):
            self.telling.uncount(pane)

    def tell_close(self, pane: int, updates: int) -> None:
        """In the state, since no update is left to tell it with."""
        self.telling.count(self.record, pane, updates, after_word=False)
        self.hear(News.WORD)

    def add_tally(self, more: Tally) -> None:
        """News in its own time: see ``Telling``."""
        if more != NOTHING:
            both = zip(*map(msgspec.structs.astuple, (self.record.tally, more)), strict=True)
            self.change(News.NONE, tally=Tally(*map(sum, both)))

    def is_doubted(self, pane: int) -> bool:
        """Whether the state says of this pane that it can't be exact."""
        return pane in self.declined or ranges.contains(self.record.damaged, pane)

    @property
    def is_live(self) -> bool:
        """While a site catches up, and at the end of a finite input, all it sends is backlog."""
        return not (self.record.catching_up or self.query.ends)

    # Others

    def hear_awaited(self, pane: int | None) -> None:
        """Where the root awaits none, all that is closed is passed by all."""
        former = self.awaited_from
        self.awaited_from = self.record.closed_through if pane is None else pane
        if self.record.catching_up and self.awaited_from != former:
            self.hear(News.WORK)

    @property
    def ahead_through(self) -> int:
        """While the site catches up, panes below may be closed; ``FOREVER``: all that were read.
        See "No site runs ahead"."""
        if not self.record.catching_up:
            return FOREVER
        closed = self.book.filled.within(self.awaited_from, FOREVER)
        left = self.config.ahead_panes_max - sum(last - first + 1 for first, last in closed)
        waiting = self.book.open.numbers(self.record.closed_through, FOREVER)
        return next(islice(waiting, max(0, left), None), FOREVER)

    # Clocks

    def set_clock(self, ahead_s: float, *, now_s: float) -> None:
        """The wall clock is so far ahead of the steady one from now on."""
        self.time.set_wall(ahead_s, now_s=now_s)
        self.change(News.NONE, offset_s=self.time.known_s)

    def hear_others(self, clock_s: float | None, *, now_s: float) -> None:
        """An acknowledgement tells what the sites' clocks show now, in the middle."""
        if self.belief.closing_s(now_s) is None:
            self.hear(News.WORK)
        self.belief.hear(clock_s, left_s=self._closed_s(), now_s=now_s)

    def _closed_s(self) -> float | None:
        """The time by which the newest pane was closed, at least; None: none was, or the last."""
        closed_through = self.record.closed_through
        if closed_through in (-FOREVER, FOREVER) or self.query.numbers is not None:
            return None
        end_us = self.query.window.pane_end_us(closed_through - 1)
        return end_us / MICROS + self.query.timing.disorder_s

    # What is over, and what begins anew

    def expire(self, panes: Iterable[int], reason: Reason = Reason.EXPIRED) -> list[Expire]:
        gone = tuple(sorted(set(panes)))
        if not gone:
            return []
        for first, last in ranges.normal((pane, pane) for pane in gone):
            self.decline(first, last, reason)
        self.undefer(gone)
        for pane in gone:
            self.book.drop(pane)
        return [Expire(self.id, gone, self.record)]

    def drop_below(self, done_through: int) -> None:
        """Not news: the root said so itself, and its acknowledgement is written with the record."""
        self.put(self.record.drop_below(done_through), News.NONE)
        self.book.drop_below(done_through)
        self.telling.drop_below(done_through)

    def begin_anew(self, *, incarnation: int | None = None) -> None:
        """The root may lack all that was ever sent: it began anew, or the site lives anew, and
        what was sent was sent by another."""
        self.telling.forget_greeting(self.record, incarnation=incarnation)
        self.closes.forget_agreement()
        self.book.fly_again(self.record.done_through)
        if self.is_level:
            for pane in self.book.filled.numbers(self.record.lowest(), FOREVER):
                self.count(pane, self.book.updates_of(pane))
        for pane, updates in self.book.beyond_first_close():
            self.count(pane, updates, is_late=True)
        self.doubt_empty()
        self.hear(News.WORD)

    def doubt_empty(self, *, now_s: float = LONG_AGO_S) -> None:
        """Count all empty closes that no state tells as sent then. A level's are told by states."""
        if self.is_level:
            return
        closed = self.owed_of(self.record.lowest(), self.record.closed_through - 1)
        made = (gap for one in closed for gap in self.book.filled.gaps(*one))
        empty = (gap for one in made for gap in self.book.deferred.gaps(*one))
        self.book.doubt(empty, told=self.record.empty, now_s=now_s)

    # What is told

    def number(self, *, now_s: float) -> None:
        """Give the state a new number if it says something new."""
        record = self.telling.number(self.record, is_news=self.news is News.WORD, now_s=now_s)
        if record is not self.record:
            self.put(record, News.RECORD)
            self.closes.numbered(record.state_number)
            self.pause.told_from = self.pause.held_from

    def snapshot(self) -> SiteState:
        record, telling, closes = self.record, self.telling, self.closes
        lowest, open_from = record.lowest(), record.closed_through
        return SiteState(
            query=self.id,
            ordinal=telling.ordinal,
            incarnation=telling.incarnation,
            number=record.state_number,
            **{name: getattr(record, name) for name in SiteFacts.__struct_fields__},
            counts=telling.counts(),
            unread=telling.unread,
            remarks=telling.remarks,
            flush_level=telling.flush_level,
            is_clock_unconfirmed=self.time.is_unconfirmed,
            paused_from=self.pause.told_from,
            digests=closes.digests(lowest, telling.incarnation, self._closes_of),
            closes=closes.answers(lowest, self._closes_of, open_from=open_from),
        )

    def _closes_of(self, first: int, last: int) -> Iterator[Close]:
        """Panes that were closed with updates, and how many; what is declined is left out."""
        for a, b in self.declined.gaps(first, last):
            for pane in self.book.filled.numbers(a, b):
                yield pane, self.book.updates_of(pane)
