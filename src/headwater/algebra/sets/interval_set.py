"""A set of integers that changes, held as sorted disjoint closed ranges.

``ranges`` has the same set as a value. This one is for books that are kept over time: a pane is
added or asked for in O(log n), where n counts ranges, not panes; so a day of panes without a gap
costs as much as one pane.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from headwater.algebra.sets.ranges import Range, Ranges, normal


class IntervalSet:
    """No two ranges touch, so equal sets have equal ranges.

    >>> panes = IntervalSet([(1, 3), (7, 9)])
    >>> panes.add(4, 5)
    >>> 5 in panes, panes.ranges()
    (True, ((1, 5), (7, 9)))
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        joined = normal(ranges)
        self._firsts = [first for first, _ in joined]
        self._lasts = [last for _, last in joined]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __len__(self) -> int:
        """The number of ranges."""
        return len(self._firsts)

    def __repr__(self) -> str:
        return f"IntervalSet({list(self.ranges())})"

    def ranges(self) -> Ranges:
        return tuple(zip(self._firsts, self._lasts, strict=True)) if self._firsts else ()

    def add(self, first: int, last: int) -> None:
        if last < first:
            return
        low = bisect_left(self._lasts, first - 1)
        high = bisect_right(self._firsts, last + 1)
        if low < high:
            first = min(first, self._firsts[low])
            last = max(last, self._lasts[high - 1])
        self._firsts[low:high] = [first]
        self._lasts[low:high] = [last]

    def remove(self, first: int, last: int) -> None:
        low = bisect_left(self._lasts, first)
        high = bisect_right(self._firsts, last)
        if last < first or low >= high:
            return
        rest = []
        if self._firsts[low] < first:
            rest.append((self._firsts[low], first - 1))
        if self._lasts[high - 1] > last:
            rest.append((last + 1, self._lasts[high - 1]))
        self._firsts[low:high] = [a for a, _ in rest]
        self._lasts[low:high] = [b for _, b in rest]

    def within(self, first: int, last: int) -> Iterator[Range]:
        """The parts of the set that lie in the closed range, rising."""
        at = bisect_left(self._lasts, first)
        while at < len(self._firsts) and self._firsts[at] <= last:
            yield max(first, self._firsts[at]), min(last, self._lasts[at])
            at += 1

    def numbers(self, first: int, last: int) -> Iterator[int]:
        """Each member that lies in the closed range, rising."""
        return (n for a, b in self.within(first, last) for n in range(a, b + 1))

    def gaps(self, first: int, last: int) -> Iterator[Range]:
        """The parts of the closed range that are not in the set, rising."""
        for start, end in self.within(first, last):
            if first < start:
                yield first, start - 1
            first = end + 1
        if first <= last:
            yield first, last

    def covers(self, first: int, last: int) -> bool:
        return last < first or next(self.gaps(first, last), None) is None
