"""What the whole way to a query's root carries, as one site knows it: a value.

It is the least over the links of the way: what this site has measured of its own link, and
what those beyond have told of theirs. Whoever sends by it asks nobody else. What is not known is
what was known last; before anything was, it is nothing to go by, and never "as much as one likes".
"""

from __future__ import annotations

from math import log2

import msgspec


class WayCapacity(msgspec.Struct, frozen=True):
    bytes_per_s: float | None = None
    """As the wire counts; 0.0: nothing gets through, None: nobody knows yet."""
    narrowest: str = ""
    """Where the least was found, for people: the neighbour at the other end of the own link, or who
    told of a narrower one beyond it. Empty: not known."""
    packed_share: float = 1.0
    """Bytes on the wire for a byte of the query's rows as they lie in memory."""

    @property
    def rows_bytes_per_s(self) -> float | None:
        """As rows lie in memory, which is how a site counts what it may send."""
        return None if self.bytes_per_s is None else self.bytes_per_s / self.packed_share

    @property
    def is_shut(self) -> bool:
        """Nothing may be sent: what is sent now would wait somewhere on the way."""
        return self.bytes_per_s is not None and self.bytes_per_s < 1.0


BUDGET = "budget"
"""In place of a neighbour: a budget allows less than any link carries."""
UNKNOWN = WayCapacity()
"""Of a way of which nothing was ever heard."""


def least(one: WayCapacity, other: WayCapacity) -> WayCapacity:
    """Of two stretches of a way the narrower one; what is not known narrows nothing."""
    if other.bytes_per_s is None:
        return one
    if one.bytes_per_s is None or other.bytes_per_s < one.bytes_per_s:
        return other
    return one


STEPS = 8
"""To each doubling, as heartbeats tell it: nobody measures a link to less than a tenth."""
LEVEL_MAX = 2 + 40 * STEPS
"""A terabyte a second."""


def told_level(bytes_per_s: float | None) -> int:
    """As heartbeats tell it: 0 is not known, 1 nothing gets through.

    >>> told_level(None), told_level(0.2), told_level(25_000.0)
    (0, 1, 119)
    """
    if bytes_per_s is None:
        return 0
    if bytes_per_s < 1.0:
        return 1
    return min(LEVEL_MAX, 2 + round(STEPS * log2(bytes_per_s)))


def rate_of_level(level: int) -> float | None:
    """
    >>> [rate_of_level(level) for level in (0, 1, 2, 10)]
    [None, 0.0, 1.0, 2.0]
    """
    if level <= 1:
        return None if level == 0 else 0.0
    return float(2.0 ** ((level - 2) / STEPS))
