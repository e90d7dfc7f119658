"""When a window is first answered, and by what: iMR's result eviction (section 3.3).

*Complete*: nothing more is awaited. *Enough*: what the query demands is in; that may be before the
window's end. *Hopeless*: nothing that is missing can come in time, or too little for what is
demanded. It was declined, or set aside for want of CPU, or its site is absent: all parents have
lost it (``Absences``). The window has ended, and waiting would only make the answer older.
*Deadline*: its time is over.

Hopeless is looked at when there is news of the window, so the first site that closes its end has
said so: before, others could not have closed it either; and when a parent has lost a site. Who is
absent and comes all the same revises the answer, as ever. A catch-up, a finite input and
``answer = 'deadline'`` know no better than to wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.algebra.demand import Demand
from headwater.algebra.fidelity import Fidelity, measure
from headwater.algebra.sets import bitset
from headwater.plan.query import Query
from headwater.root.carriers.absences import Absences
from headwater.root.pane_board import PaneBoard
from headwater.root.said.envelope import Trigger
from headwater.root.scoreboard import Scoreboard
from headwater.root.unwanted import UnwantedBook
from headwater.root.windows import Window, WindowBook


class Eviction:
    """For one query."""

    def __init__(
        self, query: Query, scoreboard: Scoreboard, book: WindowBook, absences: Absences
    ) -> None:
        self._absences = absences
        self._ends = query.ends
        self._demand = query.awaited_demand
        self._scoreboard = scoreboard
        self._book = book
        self.unwanted = UnwantedBook()

    def trigger(self, window: Window, *, now_s: float) -> Trigger | None:
        """Of its first answer; None: it is not due."""
        waits = self._book.settings_of(window.window).waits
        if waits and not window.is_overdue:
            return None
        if window.unsettled == 0:
            return self._of_settled(window)
        if self._demand is not None and not waits:
            found = reached(self._scoreboard, self._panes(window), self._demand)
            if self._demand.is_met_by(found):
                return Trigger.ENOUGH
        if window.is_overdue:
            return Trigger.DEADLINE
        return Trigger.HOPELESS if self._is_hopeless(window, now_s=now_s) else None

    def _of_settled(self, window: Window) -> Trigger:
        """Nothing is awaited: all is in, or the rest was declined."""
        if self._demand is None:
            return Trigger.COMPLETE
        found = reached(self._scoreboard, self._panes(window), self._demand)
        if found.pairs == found.pairs_expected:
            return Trigger.COMPLETE
        return Trigger.ENOUGH if self._demand.is_met_by(found) else Trigger.HOPELESS

    def absent(self, window: Window) -> int:
        """The sites that are so for this window: nothing that is missing of them comes soon."""
        if self._ends or window.passed_s is None or not self._absences.is_told:
            return bitset.EMPTY
        return self._absences.absent(since_s=self._book.ended_s(window))

    def _is_hopeless(self, window: Window, *, now_s: float) -> bool:
        book = self._book
        is_of_past = window.passed_s is None
        if is_of_past or not book.has_ended(window.window, shown_s=now_s - book.lag_s):
            return False
        absent = self.absent(window)
        boards = list(self._boards(window))
        if self._demand is None:
            expected = self._scoreboard.table.expected
            awaited = bitset.union(
                expected & ~board.settled & ~self._shed(board) for board in boards
            )
            return not awaited & ~absent
        return self._is_below(self._demand, boards, absent)

    def _is_below(self, demand: Demand, boards: list[PaneBoard], absent: int) -> bool:
        """Whether all that may still come is too little."""
        most = measure(
            [_possible(board, absent | self._shed(board)) for board in boards],
            self._scoreboard.table.expected,
            panes_asked=demand.panes_asked(len(boards)),
            undrawn=[board.undrawn for board in boards],
        )
        return not demand.is_met_by(most)

    def _shed(self, board: PaneBoard) -> int:
        return self._scoreboard.table.shed(board.pane)

    def freeze(self, window: Window, *, is_restored: bool) -> None:
        """This window is final, of a query whose windows are so by having enough, and its answer is
        out. A pane of it takes nothing more once no other window wants it: one that has not enough
        yet, or is still to be opened."""
        for board in self._boards(window):
            if not any(map(self._is_wanting, self._book.windows_of(board.pane))):
                board.is_frozen = True
                if is_restored:
                    self.unwanted.add_former(board.pane)
                else:
                    self.unwanted.add(board, expected=self._scoreboard.table.expected)

    def _is_wanting(self, number: int) -> bool:
        known = self._book.windows.get(number)
        return not known.is_final if known is not None else not self._book.is_over(number)

    def _boards(self, window: Window) -> Iterator[PaneBoard]:
        return map(self._scoreboard.open, self._panes(window))

    def _panes(self, window: Window) -> range:
        return self._book.spec.panes_of(window.window)


def reached(scoreboard: Scoreboard, panes: range, demand: Demand | None) -> Fidelity:
    """What is in of these panes. A site that contradicts what is held of it is not in."""
    within = [
        scoreboard.peek(pane).covered & ~bitset.of(scoreboard.disputed.get(pane, ()))
        for pane in panes
    ]
    asked = None if demand is None else demand.panes_asked(len(panes))
    table = scoreboard.table
    undrawn = [table.undrawn(pane) for pane in panes]
    return measure(within, table.expected, panes_asked=asked, undrawn=undrawn)


def _possible(board: PaneBoard, absent: int) -> int:
    """Sites that are in, or may still come; of the expected ones."""
    return board.covered | (board.owed | ~board.declined) & ~absent
