"""The two clocks of an agent: a steady one for intervals, and the wall clock for the time of day.

The steady clock begins with what the wall clock shows when the process starts, so that its readings
look like times of day, and runs on the monotonic clock from then on: it never steps, whatever is
done to the wall clock. All machines are driven by it. How far the wall clock has gone from it is
told them apart (``Node.wall_clock``), and used only where a time of day is meant.

Two processes, or two lives of one, have nothing in common but what their wall clocks showed at
their starts; so a reading that was written down by another life says nothing about how long ago
that was.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class SiteClock:
    """Made when the process starts. ``wall`` and ``monotonic`` are for tests."""

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._began_s = wall() - monotonic()

    def now_s(self) -> float:
        """Steady time."""
        return self._monotonic() + self._began_s

    def ahead_s(self) -> float:
        """How far the wall clock is ahead of it, now."""
        return self._wall() - self.now_s()
