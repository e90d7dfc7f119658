"""Sets of integers as sorted, disjoint, closed ranges: update numbers, pane intervals.

Laws: union is associative, commutative and idempotent; ``()`` is neutral; a normal form has no
two ranges that touch, so equal sets are equal tuples.
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter

Range = tuple[int, int]
Ranges = tuple[Range, ...]

_FIRST = itemgetter(0)


def normal(ranges: Iterable[Range]) -> Ranges:
    """The same set with touching and overlapping ranges joined.

    >>> normal([(4, 6), (1, 2), (3, 3)])
    ((1, 6),)
    """
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if last < first:
            continue
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def union(left: Ranges, right: Ranges) -> Ranges:
    if not left or not right:
        return left or right
    return normal(left + right)


def intersects(left: Ranges, right: Ranges) -> bool:
    return any(a <= d and c <= b for a, b in left for c, d in right)


def contains(ranges: Ranges, number: int) -> bool:
    return covers(ranges, number, number)


def covers(ranges: Ranges, first: int, last: int) -> bool:
    """True when every number of the closed range is in; an empty range always is."""
    at = bisect_right(ranges, first, key=_FIRST) - 1
    return last < first or (at >= 0 and last <= ranges[at][1])


def difference(left: Ranges, right: Ranges) -> Ranges:
    """What is in ``left`` and not in ``right``."""
    rest = list(left)
    for c, d in right:
        kept: list[Range] = []
        for a, b in rest:
            if d < a or b < c:
                kept.append((a, b))
                continue
            if a < c:
                kept.append((a, c - 1))
            if d < b:
                kept.append((d + 1, b))
        rest = kept
    return normal(rest)


def count(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)
