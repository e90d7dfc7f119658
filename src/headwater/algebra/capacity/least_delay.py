"""The least of what was measured over the last minutes, as a value: a round trip of mere distance.

A way may change and be longer from then on, so what is old is forgotten: the least is kept of two
stretches, the present one and the one before it.
"""

from __future__ import annotations

import msgspec

STRETCH_S = 300.0


class LeastDelay(msgspec.Struct, frozen=True):
    present_s: float = float("inf")
    before_s: float = float("inf")
    since_s: float | None = None

    def add(self, delay_s: float, *, now_s: float) -> LeastDelay:
        if self.since_s is None or not 0.0 <= now_s - self.since_s <= STRETCH_S:
            return LeastDelay(delay_s, self.present_s, now_s)
        return LeastDelay(min(self.present_s, delay_s), self.before_s, self.since_s)

    @property
    def least_s(self) -> float | None:
        """None: nothing was measured."""
        least_s = min(self.present_s, self.before_s)
        return None if least_s == float("inf") else least_s
