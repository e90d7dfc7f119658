"""A figure without its jumps: an exponentially weighted mean over time, as a value.

Whoever decides by what a way carries must not change its mind with every reading.
"""

from __future__ import annotations

from math import exp

import msgspec


class Smoothed(msgspec.Struct, frozen=True):
    value: float | None = None
    """None: nothing was heard so far."""
    at_s: float = 0.0

    def add(
        self, value: float | None, *, over_s: float, now_s: float, past_s: float = 0.0
    ) -> Smoothed:
        """Nothing new keeps what was; a clock that was set back counts as no time. ``past_s``: the
        value is of so long, at least, whatever else was added in that time."""
        if value is None:
            return self
        if self.value is None:
            return Smoothed(value, now_s)
        weight = 1.0 - exp(-max(0.0, past_s, now_s - self.at_s) / over_s)
        return Smoothed(self.value + weight * (value - self.value), now_s)
