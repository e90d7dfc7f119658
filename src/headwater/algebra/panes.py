"""Windows cut into panes: the arithmetic of event time, in whole microseconds.

A window of ``range`` that starts anew every ``slide`` is made of panes as long as the greatest
common divisor of the two, so every window is a run of whole panes and every record lies in exactly
one pane::

    range 30 s, slide 20 s, pane 10 s

    panes    |  0  |  1  |  2  |  3  |  4  |  5  |
    window 0 |-----------------|
    window 1             |-----------------|

Numbers count from the epoch plus ``start``: pane *p* spans [start + p·pane, start + (p+1)·pane),
window *w* starts at start + w·slide. This is Spark's ``window()`` with UTC alignment, so that both
name the same windows.
"""

from functools import cached_property
from math import gcd

import msgspec

MICROS = 1_000_000


class WindowSpec(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """The grid of one query."""

    range_us: int
    slide_us: int
    start_us: int = 0

    def __post_init__(self) -> None:
        if self.range_us <= 0 or not 0 < self.slide_us <= self.range_us:
            raise ValueError(
                f"window: wanted range >= slide > 0, got range {self.range_us} us, "
                f"slide {self.slide_us} us"
            )
        if not 0 <= self.start_us < self.slide_us:
            raise ValueError(f"window: wanted 0 <= start < slide, got start {self.start_us} us")

    @cached_property
    def pane_us(self) -> int:
        return gcd(self.range_us, self.slide_us)

    @property
    def panes_per_window(self) -> int:
        return self.range_us // self.pane_us

    @property
    def panes_per_slide(self) -> int:
        return self.slide_us // self.pane_us

    def pane_at(self, time_us: int) -> int:
        """The pane that a record of this time lies in (floor division, also before 1970)."""
        return (time_us - self.start_us) // self.pane_us

    def pane_start_us(self, pane: int) -> int:
        return self.start_us + pane * self.pane_us

    def pane_end_us(self, pane: int) -> int:
        return self.pane_start_us(pane + 1)

    def window_start_us(self, window: int) -> int:
        return self.start_us + window * self.slide_us

    def window_end_us(self, window: int) -> int:
        return self.start_us + window * self.slide_us + self.range_us

    def panes_of(self, window: int) -> range:
        first = window * self.panes_per_slide
        return range(first, first + self.panes_per_window)

    def windows_of(self, pane: int) -> range:
        """The windows that contain this pane, oldest first."""
        last = pane // self.panes_per_slide
        first = -((self.panes_per_window - 1 - pane) // self.panes_per_slide)
        return range(first, last + 1)

    def first_window_from(self, time_us: int) -> int:
        """The first window that starts at or after this time."""
        return -((self.start_us - time_us) // self.slide_us)
