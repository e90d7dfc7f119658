"""The windows of a query at its root: which exist, when each must be answered, when it is over.

A query with a ``begin`` has every window from there on: news opens a window, and so do the sites'
clocks, in the middle, when they pass the window's end, so that silence is answered too. A query
that begins with the earliest record has the windows that have rows; otherwise a record from 1970
would bring millions of empty answers.

A window's deadline runs from the later of its opening and its end. The end is a time of day, by the
sites' clocks in the median; everything else here is steady time, and ``lag_s`` leads from one to
the other. So no clock that is set, nor one that is wrong, makes a deadline come twice or never::

    window      |----------|
    news           ^        ·          deadline = end + deadline_s
    news                    ·    ^     deadline = news + deadline_s

Windows that were over when the query began here, or when the root returned, are *history*: they
have no deadline before every site that speaks and catches up has passed them (``CatchingUp``), and
then a whole one. With a finite input there is none at all.

A window of numbers has no end by any clock: it exists when it has rows, and its deadline runs from
the first close of its last pane, by whichever site (``hear_close``).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from headwater.algebra.far_times import LONG_AGO_S, NEVER_DUE_S
from headwater.algebra.panes import MICROS
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.words.site_state import FOREVER
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.query import Query
from headwater.root.config import RootConfig
from headwater.root.said.envelope import LeftOut, Trigger
from headwater.root.said.reached import Reached

LAG_STEP_S = 0.01
"""Deadlines follow the sites' clocks when these have moved by more than this."""


class Window:
    """One window that is not over."""

    def __init__(self, window: int, *, end_s: float, opened_s: float) -> None:
        self.window = window
        self.end_s = end_s
        """By the clocks that windows are numbered by."""
        self.opened_s = opened_s
        """In steady time, as are all that follow."""
        self.passed_s: float | None = LONG_AGO_S
        """Since when nobody who speaks catches up on it; None: somebody does."""
        self.unsettled = 0
        """How many of its panes still await something."""
        self.revision = 0
        """The newest that is published; 0: it has not been answered."""
        self.is_asked = False
        """An answer of it is under way."""
        self.is_overdue = False
        self.is_mending = False
        """The ledger lost something that is in its newest published revision."""
        self.is_final = False
        """Its newest published revision is final."""
        self.published_s = LONG_AGO_S
        self.kept_through = 0
        """Summaries up to this number are in the newest published revision."""
        self.signature = 0
        self.covered = 0
        """Sites that are in the newest published revision; a later one never has fewer."""
        self.levels: tuple[int, ...] = ()
        """Of a level: the steps that the newest published revision is made of."""
        self.made_of: tuple[int, ...] = ()
        """And the newest summary of each of their panes."""
        self.left_out = LeftOut()
        """Groups that the newest published revision lacks."""
        self.reached = Reached()
        """How much of the window the newest published revision has."""
        self.first_trigger: Trigger | None = None
        """By what it was first answered."""


class WindowBook:
    """Opens windows, watches their deadlines, and lets them go in order."""

    def __init__(self, query: Query, config: RootConfig, *, now_s: float) -> None:
        self.spec = query.window
        self.windows: dict[int, Window] = {}
        self.done_through = -FOREVER
        """Panes below belong only to windows that are over."""
        self._is_counted = query.numbers is not None
        self.has_begin = query.begin_pane is not None and not self._is_counted
        """So every window from there on has an answer."""
        self._ends = query.ends
        self._timing = query.timing
        self.settings = SettingsBook(Settings.of(query))
        self._config = config
        self._begun_s = now_s
        self._by_clock_from_s = LONG_AGO_S
        """Before, the clocks open no windows."""
        settle_s = 0.0 if query.asked is not None else config.clock_settle_s
        self._begun_until_s = now_s + settle_s
        """Before, they are not believed to be further than they can be since the begin. What a
        question is about had passed by the clock of who took it."""
        self._begin_s = NEVER_DUE_S
        if query.begin_pane is not None:
            self._begin_s = self.spec.pane_start_us(query.begin_pane) / MICROS
        self.lag_s = 0.0
        """How far the sites' clocks are behind steady time, in the middle: on it a window ends so
        much later."""
        self.ahead_s = 0.0
        """How far the root's wall clock is ahead of steady time."""
        self._first = -FOREVER
        if query.begin_pane is not None:
            self._first = -(-query.begin_pane // self.spec.panes_per_slide)
        self._next_by_clock = self._first
        self._end_pane: int | None = None
        self._last = FOREVER
        """The last window of a query that has an extent, or was ended by command."""
        if query.ends_at is not None:
            self._end_before(query.ends_at)
        self._order: list[int] = []
        self._deadlines: list[tuple[float, int]] = []
        self._history: list[int] = []
        """Windows of the past that have no deadline yet, and may have been answered."""
        self._passed_through = -FOREVER
        self._retired_through = -FOREVER
        self._closed_through = -FOREVER
        """Of windows of numbers: panes below were closed by some site."""
        self._unended: list[int] = []
        """And windows whose last pane nobody has closed, in order."""
        self._over = IntervalSet()
        """Windows that are over and that ``done_through`` does not tell yet: they are never opened
        again, neither by news nor by the clock."""

    # Opening

    def windows_of(self, pane: int) -> range:
        """The windows that the pane counts for."""
        found = self.spec.windows_of(pane)
        lowest = self._first
        if self.done_through > -FOREVER:
            lowest = max(lowest, -(-self.done_through // self.spec.panes_per_slide))
        return range(max(found.start, lowest), min(found.stop, self._last + 1))

    def unopened_of(self, pane: int) -> Iterator[int]:
        """Windows that news of this pane opens; of a finite input with a begin also all before."""
        found = self.windows_of(pane)
        start = found.start
        if self._ends and self.has_begin and self._gap(found) <= self._room:
            start = min(found.start, max(self._next_by_clock, self._first))
            self._next_by_clock = max(self._next_by_clock, found.stop)
        return (window for window in range(start, found.stop) if self._is_unopened(window))

    def gap_before(self, pane: int) -> int:
        """Of a finite input with a begin: how many windows lie before those that news of this pane
        opens, where there is no room for them. A record of the year 9999 has no answer to each
        window until then."""
        found = self.windows_of(pane)
        is_far = self._ends and self.has_begin and self._gap(found) > self._room
        return self._gap(found) if is_far and any(map(self._is_unopened, found)) else 0

    def _gap(self, found: range) -> int:
        return found.start - max(self._next_by_clock, self._first)

    @property
    def _room(self) -> int:
        return self._config.windows_max - len(self.windows)

    def _is_unopened(self, window: int) -> bool:
        return window not in self.windows and window not in self._over

    def is_over(self, window: int) -> bool:
        return window in self._over or self.spec.panes_of(window).start < self.done_through

    def is_before_begin(self, window: int) -> bool:
        return window < self._first

    @property
    def first(self) -> int:
        """The first window of a query with a begin."""
        assert self._first > -FOREVER, "a query of the earliest records has no first window"
        return self._first

    def has_passed(self, window: int) -> bool | None:
        """Whether the clocks have passed the window's end; None: they open no windows here."""
        return window < self._next_by_clock if self.has_begin and not self._ends else None

    def due_by_clock(self, *, now_s: float) -> Iterator[int]:
        """Windows whose end the clock has passed, a bounded number at a time."""
        if not self.has_begin or self._ends or now_s < self._by_clock_from_s:
            return
        passed_us = self._passed_s(now_s) * MICROS
        for _ in range(self._config.windows_opened_per_tick_max):
            if self._is_full or self._next_by_clock > self._last:
                return
            if self.spec.window_end_us(self._next_by_clock) > passed_us:
                return
            window = self._next_by_clock
            self._next_by_clock += 1
            if self._is_unopened(window) and self._is_wanted(window):
                yield window

    @property
    def _is_full(self) -> bool:
        return self._room <= 0

    def _passed_s(self, now_s: float) -> float:
        """What the sites' clocks show. When a query comes here it has begun a moment ago or begins
        soon, whatever a clock says of which sites have not been heard."""
        shown_s = now_s - self.lag_s
        if now_s < self._begun_until_s:
            return min(shown_s, self._begin_s + now_s - self._begun_s)
        return shown_s

    def _is_wanted(self, window: int) -> bool:
        return self.spec.panes_of(window).start >= self.done_through

    def open(self, window: int, *, now_s: float) -> Window:
        if self._is_counted:
            return self._open_counted(window, now_s=now_s)
        end_s = self.spec.window_end_us(window) / MICROS
        opened = self.windows[window] = Window(window, end_s=end_s, opened_s=now_s)
        insort(self._order, window)
        if self._ends:
            return opened
        if end_s + self.lag_s < self._begun_s:
            self._make_history(opened)
        else:
            heappush(self._deadlines, (self._deadline_s(opened), window))
        return opened

    def _make_history(self, window: Window) -> None:
        window.passed_s = None
        heappush(self._history, window.window)

    def _open_counted(self, window: int, *, now_s: float) -> Window:
        is_ended = self._ends or self.spec.panes_of(window).stop <= self._closed_through
        end_s = now_s if is_ended else NEVER_DUE_S
        opened = self.windows[window] = Window(window, end_s=end_s, opened_s=now_s)
        insort(self._order, window)
        if not is_ended:
            insort(self._unended, window)
        elif not self._ends:
            heappush(self._deadlines, (self._deadline_s(opened), window))
        return opened

    def hear_close(self, pane: int, *, is_behind: bool, now_s: float) -> None:
        """A site has closed this pane, and so all before it. Of windows of numbers those end that
        have no pane beyond it; while a site ``is_behind`` they are not due by that alone."""
        if not self._is_counted or self._ends or pane < self._closed_through:
            return
        self._closed_through = pane + 1
        while self._unended and self.spec.panes_of(self._unended[0]).stop <= self._closed_through:
            window = self.windows.get(self._unended.pop(0))
            if window is not None:
                window.end_s = now_s
                if is_behind:
                    self._make_history(window)
                else:
                    heappush(self._deadlines, (self._deadline_s(window), window.window))

    def has_ended(self, window: int, *, shown_s: float) -> bool:
        """Whether the clocks, or the numbers that were read, have passed it."""
        if self._is_counted:
            return self.spec.panes_of(window).stop <= self._closed_through
        return self.spec.window_end_us(window) <= shown_s * MICROS

    def ended_s(self, window: Window) -> float:
        """When it has passed, in steady time."""
        return window.end_s if self._is_counted else window.end_s + self.lag_s

    def awaited(self) -> Iterator[int]:
        """Windows without an answer that have a deadline."""
        for _, number in self._deadlines:
            window = self.windows.get(number)
            if window is not None and not window.revision:
                yield number

    def staleness_s(self, window: Window, *, now_s: float) -> float:
        """Since its end, by the clocks that windows are numbered by."""
        is_ended = window.end_s < NEVER_DUE_S
        return now_s - self.lag_s - window.end_s if is_ended else 0.0

    def settings_of(self, window: int) -> Settings:
        """Those of its first pane hold for the whole of it."""
        return self.settings.at(self.spec.panes_of(window).start)

    def alter(self, settings: SettingsBook) -> None:
        self.settings = settings
        end = settings.end_pane
        if end is not None and (self._end_pane is None or end < self._end_pane):
            self._end_before(end)
            for number in [one for one in self._order if one > self._last]:
                self._order.remove(number)
                del self.windows[number]
        self._find_deadlines()

    def _end_before(self, pane: int) -> None:
        """Nothing from this pane on is the query's: windows that reach beyond it are none."""
        self._end_pane = pane
        self._last = (pane - self.spec.panes_per_window) // self.spec.panes_per_slide

    def _deadline_s(self, window: Window) -> float:
        if window.passed_s is None:
            return NEVER_DUE_S
        since_s = max(window.end_s + self.lag_s, window.opened_s, window.passed_s)
        return since_s + self.settings_of(window.window).deadline_s

    # What people ask for

    def oldest_unanswered(self) -> int | None:
        """Of those that are open."""
        return next((one for one in self._order if not self.windows[one].revision), None)

    def next_unanswered(self) -> int | None:
        """The oldest window that is open and has no answer, or the next one by the clock; None:
        only records open windows, and they have opened none."""
        oldest = self.oldest_unanswered()
        if oldest is not None:
            return oldest
        if not self.has_begin or self._ends:
            return None
        number = self._next_by_clock  # after a restart it begins anew, behind what is answered
        while not self._is_unopened(number):
            number += 1
        return number if number <= self._last else None

    def answered_by_s(self, number: int) -> float | None:
        """When this window is answered at the latest, in steady time; None: it has no deadline."""
        if self._ends:
            return None
        window = self.windows.get(number)
        if self._is_counted and (window is None or window.end_s == NEVER_DUE_S):
            return None
        if window is not None:
            due_s = self._deadline_s(window)
            return None if due_s == NEVER_DUE_S else due_s
        return self._latest_s(number) + self.lag_s

    def last_due(self, *, now_s: float) -> int | None:
        """The last window whose deadline has passed; None: no window's has."""
        if not self.has_begin or self._ends:
            due = [one for one in self._order if (self.answered_by_s(one) or NEVER_DUE_S) <= now_s]
            return due[-1] if due else None
        shown_s = now_s - self.lag_s
        altered = (one.settings.deadline_s for one in self.settings.changes)
        ended_us = round((shown_s - min((self.settings.first.deadline_s, *altered))) * MICROS)
        last = min(self._last, self.spec.windows_of(self.spec.pane_at(ended_us)).start - 1)
        while last >= self._first and self._latest_s(last) > shown_s:
            last -= 1
        return last if last >= self._first else None

    def _latest_s(self, number: int) -> float:
        """Its deadline by the clocks that windows are numbered by, if it opens in time."""
        end_s = self.spec.window_end_us(number) / MICROS
        return end_s + self.settings_of(number).deadline_s

    # Clocks

    def doubt_clocks(self, *, now_s: float) -> None:
        """A former process went before: what sites have told of their clocks they told of its,
        until they have heard ours."""
        self._by_clock_from_s = now_s + self._config.clock_settle_s

    def follow(self, lag_s: float) -> None:
        """The sites' clocks are so far behind."""
        if abs(lag_s - self.lag_s) <= LAG_STEP_S:
            return
        self.lag_s = lag_s
        self._find_deadlines()

    def _find_deadlines(self) -> None:
        numbers = [number for _, number in self._deadlines if number in self.windows]
        self._deadlines = [(self._deadline_s(self.windows[number]), number) for number in numbers]
        heapify(self._deadlines)

    def resume(self, done_through: int) -> None:
        """A former process was done with the panes below."""
        self.done_through = done_through
        if self.has_begin and not self._ends:
            resumed = -(-done_through // self.spec.panes_per_slide)
            self._next_by_clock = max(self._next_by_clock, resumed)

    # Deadlines

    def passed(self, pane: int, *, now_s: float) -> None:
        """Nobody who speaks catches up on panes below; it may have been a later one before."""
        self._passed_through = pane
        while self._history and self._is_passed(self._history[0]):
            window = self.windows.get(heappop(self._history))
            if window is not None:
                window.passed_s = now_s
                heappush(self._deadlines, (self._deadline_s(window), window.window))

    def _is_passed(self, window: int) -> bool:
        return self.spec.panes_of(window).stop <= self._passed_through

    def overdue(self, *, now_s: float) -> list[Window]:
        """Unanswered windows whose deadline has come; each is named once. Where a site has begun
        to catch up on one since, or speaks again, it is waited for again."""
        due = []
        while self._deadlines and self._deadlines[0][0] <= now_s:
            window = self.windows.get(heappop(self._deadlines)[1])
            if window is None or window.revision:
                continue
            is_history = window.passed_s != LONG_AGO_S
            if is_history and not self._is_passed(window.window):
                self._make_history(window)
            else:
                due.append(window)
        return due

    def next_deadline_s(self) -> float:
        due_s = self._deadlines[0][0] if self._deadlines else NEVER_DUE_S
        is_more = self._next_by_clock <= self._last
        if self.has_begin and not self._ends and not self._is_full and is_more:
            end_s = self.spec.window_end_us(self._next_by_clock) / MICROS
            since_begin_s = min(end_s - self._begin_s + self._begun_s, self._begun_until_s)
            due_s = min(due_s, max(end_s + self.lag_s, self._by_clock_from_s, since_begin_s))
        return due_s

    # The end of windows

    def sealed_below(self, pane: int) -> Iterator[Window]:
        """Windows all of whose panes lie below ``pane`` and whose final answer is not out."""
        for window in self.windows.values():
            if not window.is_final and self.spec.panes_of(window.window).stop <= pane:
                yield window

    def oldest(self) -> Window | None:
        return self.windows[self._order[0]] if self._order else None

    def is_past_horizon(self, window: Window, *, now_s: float) -> bool:
        revise_for_s = self._timing.revise_for_s + self._config.horizon_slack_s
        return now_s > max(window.end_s + self.lag_s, window.opened_s) + revise_for_s

    def retire(self, window: Window) -> None:
        """The oldest one is over."""
        assert self._order[0] == window.window, "windows go in order, the oldest first"
        del self._order[0]
        del self.windows[window.window]
        self._over.add(window.window, window.window)
        if not window.is_final:
            self._retired_through = max(self._retired_through, window.window + 1)

    def advance(self, *, sealed_through: int, needed_from: int = FOREVER) -> bool:
        """Move ``done_through`` to the lowest pane that a window may still need, here or at a level
        of the query (``needed_from``)."""
        through = min(self._lowest_possible(sealed_through), needed_from)
        if self._order:
            through = min(through, self.spec.panes_of(self._order[0]).start)
        if through <= self.done_through:
            return False
        self.done_through = through
        if through < FOREVER:
            self._over.remove(-FOREVER, -(-through // self.spec.panes_per_slide) - 1)
        return True

    def _lowest_possible(self, sealed_through: int) -> int:
        """The first pane of the lowest window that could still be opened."""
        if self._end_pane is not None and self._next_by_clock > self._last:
            return self._end_pane
        if self.has_begin and not self._ends:
            return self.spec.panes_of(self._next_by_clock).start
        if sealed_through >= FOREVER:
            return FOREVER
        lowest = self._retired_through
        if sealed_through > -FOREVER:
            lowest = max(lowest, self.spec.windows_of(sealed_through).start)
        return -FOREVER if lowest == -FOREVER else self.spec.panes_of(lowest).start
