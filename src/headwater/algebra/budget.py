"""A budget of so many a second, with some at once: a token bucket, as a value.

Whatever is tried again when things go wrong (a dial, a search for a host, a repair) costs those
work who are in trouble already. A budget bounds that in every stretch of time: at most ``burst``
plus ``per_s`` for each of its seconds. ``share`` lowers both while the machine is busy::

    left  burst ┤▇▇▇▇
                │    ▇▇▇▇       ▄▄▄▄▄▇▇▇▇
                │        ▇▇▁▁▂▃▃         share falls, and with it what may be left
                └──────────────────────────► time
"""

from __future__ import annotations

from math import inf

import msgspec

SLACK = 1e-3
"""Of one: what was waited for must not be missed by a rounding error."""


class Budget(msgspec.Struct, frozen=True):
    per_s: float
    burst: float
    left: float
    at_s: float = -inf
    """When ``left`` was."""

    @classmethod
    def full(cls, *, per_s: float, burst: float) -> Budget:
        return cls(per_s, burst, burst)

    def at(self, now_s: float, *, share: float = 1.0) -> Budget:
        """What there is now, if it grew with this share since. A clock that was set back stops
        nothing: it goes on from there."""
        past_s = max(0.0, now_s - self.at_s)
        grown = self.left if past_s == inf else self.left + past_s * self.per_s * share
        return Budget(self.per_s, self.burst, min(grown, max(1.0, self.burst * share)), now_s)

    def allows(self, count: float = 1.0) -> bool:
        """So many more. However small the share is, single ones come through."""
        return self.left >= count - SLACK

    def spend(self, count: float = 1.0) -> Budget:
        """May leave a debt, where things come in lots that can't be divided."""
        return Budget(self.per_s, self.burst, self.left - count, self.at_s)

    def allows_at_s(self, count: float = 1.0, *, share: float = 1.0) -> float:
        """When there will be so many, at the latest, if the share stays."""
        return self.at_s + max(0.0, count - self.left) / (self.per_s * share)
