"""By how much a link is used less while packets wait on it: additive increase, multiplicative
decrease of a share, as TCP does with its window (AIMD).

What is measured of a link says how fast it empties, not that somebody else wants it too or that a
box in between keeps seconds of packets. That is seen by delay::

    delay   ▁▁▂▅▇▇▅▂▁▁▁▁▁▁▁▁
    share   ████▆▄▃▃▃▄▄▅▅▆▆█        × 0.7 a look that finds delay, + 0.05 one that does not
"""

from __future__ import annotations

import msgspec

DECREASE = 0.7
INCREASE = 0.05
SHARE_MIN = 0.2
"""A measure of delay may be wrong, so it never silences anybody."""
LOOK_S = 1.0
"""So much time lies between two steps: what follows of one must be seen before the next."""


class Eased(msgspec.Struct, frozen=True):
    share: float = 1.0
    at_s: float | None = None
    """When it was last changed; None: never."""

    def look(self, *, is_delayed: bool, now_s: float) -> Eased:
        if self.at_s is not None and 0.0 <= now_s - self.at_s < LOOK_S:
            return self
        if is_delayed:
            return Eased(max(SHARE_MIN, self.share * DECREASE), now_s)
        return Eased(min(1.0, self.share + INCREASE), now_s)
