"""Which panes of a query leave this site at a coarser level: the rules "Levels".

Who watches the links says at which step a query is (``Edge.set_step``); 0 is full fidelity. A level
changes between panes only: a pane of a companion is *taken* shortly before it begins, and that is
on the disk before any of its records is committed, so each batch hands the rows of its panes to the
query and to the level alike. When the panes of the full query that lie in it are over, they are
closed and *deferred*: nothing of them is made, and they follow, into room that nothing else needs,
when the step is 0 again. Where the levels are final, they are declined once the level is made::

    step        0        1                    2                  0
    level 10 s      |              |              ████████████████|
    level 5 s       |     ██████████████|██████████               |
    full        ████|                                             |████ then the deferred ones

A pane that something comes between is not taken, or given up: the query's begin, records that were
committed before the word of the level was, a batch that failed. Then the finer ones are sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from headwater.algebra.far_times import NEVER_DUE_S
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.site_state import FOREVER, Reason
from headwater.edge.degrade.roll_up import RollUps
from headwater.edge.outputs import RollUp
from headwater.edge.query_state import News, QueryState
from headwater.edge.report import BatchReport
from headwater.plan.degrading.companion import coarse_pane, fine_panes, level_fault
from headwater.plan.notice import Notice
from headwater.plan.query import Query

if TYPE_CHECKING:
    from headwater.edge.query_edge import QueryEdge

LEAD_S = 1.0
"""A pane of a level is taken at most so long before it begins: a commit takes a fraction of it."""
LEAD_SHARE = 4
"""And at most this part of the shortest level before."""


class Levels:
    """Of one full query at one site: its companions, by step, and what it is to do."""

    def __init__(self, full: QueryState) -> None:
        self._full = full
        self.roll_ups = RollUps(full, self.takes)
        self.companions: dict[int, QueryState] = {}
        self.told = 0
        """The step that somebody has set; it is at that of the policy at least."""
        self.level = 0
        """At which the query is sent from the next pane on; 0: at full fidelity."""

    def __bool__(self) -> bool:
        return bool(self.companions)

    def know(self, others: Iterable[QueryState]) -> None:
        """Those of them that are its levels and fit; the others are left alone."""
        found = {}
        for other in others:
            level = other.query.stands_for
            if level is not None and level_fault(self._full.query, other.query) is None:
                found[level.step] = other
        self.companions = found

    @property
    def stay(self) -> bool:
        """What they stand for never follows."""
        return any(map(_stays, self.companions.values()))

    def set_step(self, step: int) -> None:
        """A step of the query's whole list, of which the levels are a part."""
        level = _level_at(self._full.query, step)
        if level != self.level:
            self.level = level
            self._full.hear(News.WORK)

    def is_at(self, level: int) -> bool:
        """Whether what is made at this level is what the query is to be sent at now: of what was
        begun before it changed nobody learns what the new one needs."""
        return self.level == level

    # Before a pane begins

    def choose(self, *, now_s: float) -> None:
        """Take what begins within the lead, at the coarsest level that the step allows and that has
        a boundary there."""
        at_s = self._full.time.of(now_s)
        for step in sorted(self.companions, reverse=True):
            companion = self.companions[step]
            pane = _next_pane(companion, at_s)
            start_s = companion.query.window.pane_start_us(pane) / MICROS
            is_due = step <= self.level and start_s - at_s <= self._lead_s
            if is_due and self._may_take(companion, pane):
                taken = ranges.union(companion.record.taken, ((pane, pane),))
                companion.change(News.RECORD, taken=taken)

    def next_choice_s(self, *, now_s: float) -> float:
        """When ``choose`` is wanted, in steady time."""
        if not self.level or not self.companions:
            return NEVER_DUE_S
        finest = self.companions[min(self.companions)]
        at_s = self._full.time.of(now_s)
        pane = _next_pane(finest, at_s)
        fine = fine_panes(self._full.query, finest.query, pane)
        if self.takes(fine.start):
            pane += 1
        start_s = finest.query.window.pane_start_us(pane) / MICROS
        return max(now_s + 0.01, now_s + start_s - at_s - self._lead_s)

    @property
    def _lead_s(self) -> float:
        finest = self.companions[min(self.companions)]
        return min(LEAD_S, finest.query.window.pane_us / MICROS / LEAD_SHARE)

    def _may_take(self, companion: QueryState, pane: int) -> bool:
        full, fine = self._full.record, fine_panes(self._full.query, companion.query, pane)
        own = companion.record
        is_begun = any(self._full.book.open.within(fine.start, fine.stop - 1))
        is_answered = own.is_running and full.is_running and not own.awaits_greeting
        is_behind = full.catching_up or bool(full.past) or own.catching_up
        is_new = pane >= own.lowest_unclosed() and fine.start >= full.lowest_unclosed()
        is_free = not any(map(self.takes, fine)) and not any(p in self._full.declined for p in fine)
        return is_answered and is_new and is_free and not (is_begun or is_behind)

    # When panes are over

    def takes(self, pane: int) -> bool:
        """Whether a level stands for this pane of the full query."""
        return self._taking(pane) is not None

    def _taking(self, pane: int) -> QueryState | None:
        for companion in self.companions.values():
            coarse = coarse_pane(self._full.query, companion.query, pane)
            if companion.takes(coarse) and coarse not in companion.declined:
                return companion
        return None

    def taken_within(self, first: int, last: int) -> list[Range]:
        """The panes of the full query in this closed range that a level stands for."""
        full, found = self._full.query, list[Range]()
        for companion in self.companions.values():
            low, high = (coarse_pane(full, companion.query, pane) for pane in (first, last))
            for a, b in IntervalSet(companion.record.taken).within(low, high):
                for run in companion.declined.gaps(a, b):
                    start, end = (fine_panes(full, companion.query, pane) for pane in run)
                    found.append((max(first, start.start), min(last, end.stop - 1)))
        return list(ranges.normal(found))

    def hear(self, report: BatchReport) -> None:
        """Rows of a pane that a level takes, and were not given to it, straddle its beginning: it
        is given up."""
        given = {
            batch.query: {pane for pane, _ in batch.panes}.union(batch.given)
            for batch in report.queries
        }
        for pane in given.get(self._full.id, ()):
            companion = self._taking(pane)
            if companion is None:
                continue
            coarse = coarse_pane(self._full.query, companion.query, pane)
            if coarse not in given.get(companion.id, ()):
                companion.decline(coarse, coarse, Reason.STRADDLED)
        for batch in report.queries:
            if batch.query == self._full.id and batch.failed is not None and batch.touched:
                self._hear_failed(batch.touched, given)

    def _hear_failed(self, touched: Range, given: Collection[str]) -> None:
        """A level that took panes of these after the batch was begun was not told that it failed:
        it may lack rows of them."""
        for companion in self.companions.values():
            if companion.id in given:
                continue
            first, last = (coarse_pane(self._full.query, companion.query, one) for one in touched)
            for panes in IntervalSet(companion.record.taken).within(first, last):
                companion.decline(*panes, Reason.STRADDLED)

    def settle(self) -> None:
        """Those of the deferred panes that never follow are declined when the level has made its
        own."""
        full = self._full
        for pane in list(full.book.deferred.numbers(-FOREVER, FOREVER)):
            companion = self._taking(pane)
            if companion is not None and _stays(companion) and self._is_made(companion, pane):
                full.undefer([pane], News.NONE)
                full.decline(pane, pane, Reason.COARSE)

    def follow(self, count_max: int, *, has_room: bool) -> list[int]:
        """Deferred panes that are to be made now, the oldest first: at full fidelity those whose
        level the root has, and at any step those that nothing stands for any more. What was set
        aside of a pane is read first."""
        book, found = self._full.book, list[int]()
        asides = IntervalSet((one.first, one.last) for one in self._full.record.set_aside)
        for pane in book.deferred.numbers(-FOREVER, FOREVER):
            if pane in asides:
                continue
            companion = self._taking(pane)
            if companion is None or (
                has_room and not self.level and self._is_there(companion, pane)
            ):
                found.append(pane)
            if len(found) == count_max:
                break
        book.following.update(dict.fromkeys(found))
        return found

    def _is_made(self, companion: QueryState, pane: int) -> bool:
        """The level has closed what lies over this pane, and its updates are on the disk."""
        book = companion.book
        coarse = coarse_pane(self._full.query, companion.query, pane)
        is_closed = coarse < companion.record.closed_through and coarse not in book.making
        is_empty = ranges.contains(companion.record.empty, coarse)
        return is_closed and (book.updates_of(coarse) > 0 or is_empty)

    def _is_there(self, companion: QueryState, pane: int) -> bool:
        """And the root has them; of a level that stays the finer ones never follow."""
        coarse = coarse_pane(self._full.query, companion.query, pane)
        is_made = self._is_made(companion, pane) and not _stays(companion)
        return is_made and not companion.book.is_unacked(coarse)


def _stays(companion: QueryState) -> bool:
    level = companion.query.stands_for
    return level is not None and level.stays


def _level_at(full: Query, step: int) -> int:
    """By the steps of all operators; where the query has none, the steps are the levels."""
    return step if full.degrades is None else full.degrades.companion_at(step)


def _next_pane(state: QueryState, at_s: float) -> int:
    """The first that begins at this time or later."""
    window, at_us = state.query.window, round(at_s * MICROS)
    pane = window.pane_at(at_us)
    return pane if window.pane_start_us(pane) >= at_us else pane + 1


def know_levels(edges: Collection[QueryEdge]) -> None:
    """Of each query here, which of the others stand for it."""
    levels = [one.state for one in edges if one.state.is_level]
    for edge in edges:
        if levels or edge.levels:
            edge.levels.know(levels)
            edge.full = _full_of(edge, edges)


def _full_of(edge: QueryEdge, edges: Collection[QueryEdge]) -> QueryEdge | None:
    level = edge.state.query.stands_for
    return next((one for one in edges if level and one.state.id == level.of), None)


def choose_levels(edges: Iterable[QueryEdge], *, now_s: float) -> list[RollUp | Notice]:
    """At the steps that the policy of each query is at; what of their backlog is rolled up."""
    found = list[RollUp | Notice]()
    for edge in edges:
        if edge.levels:
            edge.levels.set_step(max(edge.levels.told, edge.degrading.step))
            edge.levels.choose(now_s=now_s)
            plan = edge.degrading.plan
            found += edge.levels.roll_ups.look(edge.levels.companions, plan, now_s=now_s)
    return found


def wake_deferred(heard: QueryEdge, edges: Iterable[QueryEdge]) -> None:
    """An acknowledgement of a level was heard: what waits for it to arrive may follow."""
    for edge in edges if heard.state.is_level else ():
        if edge.state.book.deferred:
            edge.state.hear(News.WORK)
