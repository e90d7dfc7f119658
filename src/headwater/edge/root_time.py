"""The time in which a site places records: its own, or for ``time = 'age'`` the root's.

The offset between the two clocks is estimated elsewhere and told here now and then. Small changes
are slewed, so that time never jumps for the noise of an estimate; a large one means that a clock
was set or that the estimate was poor, and is taken at once. Whatever the offset does, a pane that
was closed stays closed: records that now belong to it come as its late updates.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import MICROS
from headwater.edge.closing import SourceClock

STEP_S = 0.25
"""A difference beyond this is taken at once."""
SLEW = 0.005
"""Below, the offset moves by this much in a second."""


class RootTime:
    __slots__ = ("_is_used", "_offset_s", "_told_s", "known_s")

    def __init__(self, *, is_used: bool) -> None:
        """``is_used`` is False for queries that go by the records' own timestamps."""
        self._is_used = is_used
        self.known_s: float | None = None
        """The offset as it was last told; None: never."""
        self._offset_s = 0.0
        self._told_s = 0.0

    @property
    def offset_s(self) -> float:
        """What is added to the site's time; 0 where records go by their timestamps."""
        return self._offset_s if self._is_used else 0.0

    @property
    def offset_us(self) -> int:
        return round(self.offset_s * MICROS)

    def hear(self, offset_s: float, *, now_s: float) -> None:
        """The root's clock is ahead of the site's by this much."""
        apart_s = offset_s - self._offset_s
        if self.known_s is None or abs(apart_s) > STEP_S:
            self._offset_s = offset_s
        else:
            most_s = SLEW * max(0.0, now_s - self._told_s)
            self._offset_s += max(-most_s, min(most_s, apart_s))
        self.known_s, self._told_s = offset_s, now_s

    def resume(self, offset_s: float | None) -> None:
        """What a former process used, until something newer is told."""
        if offset_s is not None:
            self.known_s = self._offset_s = offset_s

    def of(self, site_s: float) -> float:
        """A time on the site's clock as the time that panes are numbered by."""
        return site_s + self.offset_s

    def of_source(self, clock: SourceClock) -> SourceClock:
        if not self.offset_s:
            return clock
        high_us, read_s = clock.high_time_us, clock.read_through_s
        return msgspec.structs.replace(
            clock,
            high_time_us=None if high_us is None else high_us + self.offset_us,
            read_through_s=None if read_s is None else read_s + self.offset_s,
        )
