"""Which panes a root takes, by how much of them waits with it.

Rows wait until they are written, and until their pane's first window is answered; spares until they
are let in. All that is counted, as it lies in memory. Beyond ``unanswered_bytes_max`` the root says
the youngest pane that it takes: from the oldest pane on, as many as fit. What is let through fills
the oldest window, whose answer frees memory, so panes are taken in order and none waits for ever.
The pause ends when half of the limit is free again, so that it does not come and go.

Levels of a query and questions are small, and end by themselves: nothing is held back of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.summary import Merger, Rows
from headwater.algebra.words.pause import NO_PANE, PERIOD_S_MAX, Pause
from headwater.algebra.words.site_state import FOREVER
from headwater.plan.query import Query
from headwater.root.config import RootConfig
from headwater.root.parking import Parking
from headwater.root.windows import WindowBook

ENDS_BELOW = 0.5
"""Of the limit."""


class Pausing:
    """For one query."""

    def __init__(
        self,
        query: Query,
        config: RootConfig,
        *,
        windows: WindowBook,
        parking: Parking,
        merger: Merger,
    ) -> None:
        self._may_pause = query.stands_for is None and query.asked is None
        self._config = config
        self._windows = windows
        self._parking = parking
        self._merger = merger
        self._unanswered: dict[int, int] = {}
        """By pane, bytes of rows."""
        self._sum = 0
        self.is_on = False

    @property
    def bytes(self) -> int:
        return self._sum + self._parking.bytes

    def came(self, pane: int, rows: Rows) -> None:
        if rows is None or not self._may_pause or self._is_answered(pane):
            return
        size = self._merger.size_bytes(rows)
        self._unanswered[pane] = self._unanswered.get(pane, 0) + size
        self._sum += size

    def answered(self, panes: Iterable[int]) -> None:
        """The answer of a window with these panes is out, so their rows were read."""
        for pane in panes:
            self._sum -= self._unanswered.pop(pane, 0)

    def drop_below(self, pane: int) -> None:
        self.answered([one for one in self._unanswered if one < pane])

    def follow(self) -> bool:
        """Whether there is a pause now; asked before ``said``."""
        least = self._config.unanswered_bytes_max * (ENDS_BELOW if self.is_on else 1.0)
        self.is_on = self._may_pause and self.bytes > least
        return self.is_on

    def said(self) -> Pause | None:
        if not self.is_on:
            return None
        period_s = min(self._config.ack_every_s, PERIOD_S_MAX)
        return Pause(max(self._youngest(), self.exempt_through()), period_s)

    def exempt_through(self) -> int:
        """The last pane of the oldest window without an answer, which is never held back."""
        if not self._may_pause:
            return FOREVER
        oldest = self._windows.oldest_unanswered()
        return NO_PANE if oldest is None else self._windows.spec.panes_of(oldest).stop - 1

    def _youngest(self) -> int:
        """The last pane up to which all that waits fits into the limit. What is parked is not
        looked at pane by pane: it takes room from all."""
        left, youngest = self._config.unanswered_bytes_max - self._parking.bytes, NO_PANE
        for pane in sorted(self._unanswered):
            left -= self._unanswered[pane]
            if left < 0:
                break
            youngest = pane
        return youngest

    def _is_answered(self, pane: int) -> bool:
        """The first window that has the pane is, or takes no more."""
        first = self._windows.windows_of(pane).start
        window = self._windows.windows.get(first)
        return self._windows.is_over(first) if window is None else window.revision > 0
