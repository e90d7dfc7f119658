"""Backlog that is rolled up: its oldest panes leave at a coarser level of time.

Beyond ``backlog_bytes`` or ``backlog_age`` the oldest panes that were closed and never left are put
together to panes of a level, a whole one at once: it takes the pane now, and the cube gives it all
rows that it has of the finer ones, in the same transaction. These stay as they are, *deferred*::

    full        | ▒ | ▒ | ▒ | ▒ | ▒ | ▒ | ▒ | ▒ | ▒ | ▒ |    closed and unsent
    level                           |         1         |
                          ▲ of 0 something has left: it is not rolled up

A pane of which anything is under way, declined, damaged or still being made is *straddled*: those
beside it leave as they are. Nothing is rolled up that the level has sealed. Rows that come later
are of a pane that is taken, and so go to both. A batch that was committed in between, and did not
know of the level yet, gives it up (``Levels.hear``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.algebra.far_times import LONG_AGO_S
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import ranges
from headwater.algebra.words.degraded import Degraded, Why, with_degraded_over
from headwater.edge.outbox.pane_book import EMPTY_CLOSE, PaneBook, Unsent
from headwater.edge.outputs import RollUp
from headwater.edge.query_state import News, QueryState
from headwater.plan.degrading.companion import coarse_pane, fine_panes
from headwater.plan.degrading.degradation import Degradation, OperatorKind
from headwater.plan.notice import Notice

LOOK_EVERY_S = 1.0
ROLLS_MAX = 16
"""In one look: each is a write."""


class RollUps:
    """Of one full query at one site."""

    def __init__(self, full: QueryState, takes: Callable[[int], bool]) -> None:
        """``takes``: whether a level stands for a pane."""
        self._full = full
        self._takes = takes
        self._looked_s = LONG_AGO_S
        self.count = 0
        """Panes of levels that were made of backlog, in this life."""

    def look(
        self, levels: Mapping[int, QueryState], plan: Degradation | None, *, now_s: float
    ) -> list[RollUp | Notice]:
        """What is rolled up now, of the oldest first."""
        full, levels = self._full, {n: one for n, one in levels.items() if _is_of_time(one)}
        if plan is None or not plan.bounds_backlog or not levels:
            return []
        is_due = now_s >= self._looked_s + LOOK_EVERY_S
        if not is_due or full.record.catching_up:
            return []
        self._looked_s = now_s
        level = _next_level(levels, plan, now_s=now_s)
        found, tried, left = list[RollUp](), set[int](), waiting_bytes(full)
        for pane, unsent in full.book.unsent().items():
            coarse = coarse_pane(full.query, level.query, pane)
            if coarse in tried:
                continue
            if len(found) == ROLLS_MAX or not plan.is_beyond(
                left, _waited_s(full, pane, unsent, now_s)
            ):
                break
            tried.add(coarse)
            fine = fine_panes(full.query, level.query, coarse)
            if self._may_be(level, coarse, fine):
                left -= sum(_bytes_of(full, p, full.book.unsent_of(p)) for p in fine)
                found.append(self._rolled(level, coarse, fine, plan, now_s=now_s))
        self.count += len(found)
        return [*found, *self._said(found, level)]

    def _said(self, found: list[RollUp], level: QueryState) -> list[Notice]:
        if not found:
            return []
        panes = sum(len(one.panes) for one in found)
        text = (
            f"{self._full.id}: {panes} panes that wait are sent as {len(found)} of "
            f"{level.query.stands_for}: more was waiting, or for longer, than may"
        )
        return [Notice("edge", "backlog rolled up", text)]

    def _may_be(self, level: QueryState, coarse: int, fine: range) -> bool:
        full, book, own = self._full, self._full.book, level.record
        is_over = full.record.lowest() <= fine.start and fine.stop <= full.record.closed_through
        if not is_over or not full.record.is_running or not _is_free(level, coarse):
            return False
        if own.catching_up or own.awaits_greeting or not own.is_running:
            return False
        record = full.record
        flawed = ranges.union(record.damaged, record.reopened)
        if ranges.intersects(flawed, ((fine.start, fine.stop - 1),)):
            return False
        return any(map(book.updates_of, fine)) and all(
            (is_all_unsent(book, pane) or not book.updates_of(pane))
            and not (pane in book.late or pane in book.making or pane in book.deferred)
            and not (pane in full.declined or pane in full.unwanted or self._takes(pane))
            for pane in fine
        )

    def _rolled(
        self, level: QueryState, coarse: int, fine: range, plan: Degradation, *, now_s: float
    ) -> RollUp:
        full, step = self._full, level.query.stands_for
        assert step is not None, "a level stands for another query"
        level.change(News.RECORD, taken=ranges.union(level.record.taken, ((coarse, coarse),)))
        full.defer([(fine.start, fine.stop - 1)], now_s=now_s)
        word = Degraded(fine.start, plan.step_of(OperatorKind.COARSEN_TIME, step.step), Why.BACKLOG)
        said = with_degraded_over(full.record.degraded, word, last=fine.stop - 1)
        full.change(News.WORD, degraded=said)
        for pane in fine:
            full.book.shelve(pane)
        return RollUp(full.id, level.id, coarse, tuple(fine), full.record, level.record)


def _is_of_time(level: QueryState) -> bool:
    """Its rows are those of the query, under coarser panes; others would have to be made anew."""
    of = level.query.stands_for
    return of is not None and not of.coarsening


def _is_free(level: QueryState, coarse: int) -> bool:
    """It has closed this pane without taking it, and may still bring rows of it."""
    own, book = level.record, level.book
    is_open_yet = max(own.lowest(), own.sealed_through) <= coarse < own.closed_through
    is_known = level.takes(coarse) or coarse in level.declined or coarse in level.unwanted
    is_said = ranges.contains(own.damaged, coarse) or ranges.contains(own.empty, coarse)
    is_made = book.updates_of(coarse) > 0 or coarse in book.late or coarse in book.making
    return is_open_yet and not (is_known or is_said or is_made)


def _next_level(levels: Mapping[int, QueryState], plan: Degradation, *, now_s: float) -> QueryState:
    """The finest of which not more waits by itself than may; else the coarsest."""
    for step in sorted(levels):
        waited_s = oldest_waited_s(levels[step], now_s)
        if not plan.is_beyond(waiting_bytes(levels[step]), waited_s):
            return levels[step]
    return levels[max(levels)]


def is_all_unsent(book: PaneBook, pane: int) -> bool:
    """It has updates, and none of them ever left."""
    updates, unsent = book.updates_of(pane), book.unsent_of(pane)
    is_whole = len([n for n in unsent if n != EMPTY_CLOSE]) == updates
    others = (book.flights, book.repairs, book.early, book.withheld)
    return updates > 0 and is_whole and not any(pane in other for other in others)


def waiting_bytes(state: QueryState) -> int:
    """Of rows of panes that never left."""
    return sum(_bytes_of(state, pane, one.updates) for pane, one in state.book.unsent().items())


def oldest_waited_s(state: QueryState, now_s: float) -> float:
    """0: nothing waits."""
    oldest = next(iter(state.book.unsent().items()), None)
    return 0.0 if oldest is None else _waited_s(state, *oldest, now_s)


def _bytes_of(state: QueryState, pane: int, updates: Iterable[int]) -> int:
    return sum(state.book.bytes_of(pane, update) for update in updates)


def _waited_s(state: QueryState, pane: int, unsent: Unsent, now_s: float) -> float:
    """What waited in a former process has waited since it was over."""
    if unsent.closed_s > LONG_AGO_S:
        return now_s - unsent.closed_s
    return state.time.of(now_s) - state.query.window.pane_end_us(pane) / MICROS
