"""What a node believes of its wall clock: one that was set must have stood for a while.

All machines measure intervals by a steady clock. The wall clock is only needed where a time of day
is meant, as its distance from the steady one. It may be set at any time, by any amount, also by
mistake and back again: a clock that is a day ahead for three polls must not close a day's panes. So
a new distance is doubted until it has stood for ``settle_s``::

    wall - steady   ──────┐      ┌─────────────────┐            ┌──────────────
                          └──────┘ (not believed)  └── settle ──┤
    believed        ────────────────────────────────────────────┘ ...

A seal is never taken back, and does not hurry: while the clock shows less than is believed, panes
are sealed by what it shows (``behind_s``). Records are stamped by it, and may yet be in time.

The first one is believed at once: there is no other.
"""

from __future__ import annotations

STEP_S = 0.5
"""Below this difference a clock drifts, and nobody needs to know; beyond, it was set."""


class WallClock:
    def __init__(self, *, settle_s: float) -> None:
        self.ahead_s = 0.0
        """How far the wall clock is ahead of the steady one, as it is believed."""
        self.doubted_s: float | None = None
        """The same as it is shown, while it is not believed; None: the two agree."""
        self.step_count = 0
        """How often it was set, believed or not."""
        self._settle_s = settle_s
        self._since_s = 0.0

    @property
    def behind_s(self) -> float:
        """How far what it shows, and is not believed, is behind what is believed."""
        return 0.0 if self.doubted_s is None else max(0.0, self.ahead_s - self.doubted_s)

    def hear(self, ahead_s: float, *, now_s: float) -> bool:
        """The wall clock is shown so far ahead. True where what is believed changes by it."""
        if abs(ahead_s - self.ahead_s) <= STEP_S:
            self.doubted_s = None
            return False
        if self.doubted_s is None or abs(ahead_s - self.doubted_s) > STEP_S:
            self.doubted_s, self._since_s = ahead_s, now_s
            self.step_count += 1
            return False
        if now_s - self._since_s < self._settle_s:
            return False
        self.ahead_s, self.doubted_s = ahead_s, None
        return True
