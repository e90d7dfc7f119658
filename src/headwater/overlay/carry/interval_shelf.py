"""Entries of states by the panes that they stand for: where Mortar's split in three happens (4.2).

A state is valid during an interval of panes, and intervals of different sites begin and end where
they like. What two of them have in common becomes one entry, what only one of them has stays as it
was, so a summary that arrives is cut in up to three at each entry that it meets::

    arrives      entries                  then
    a: 1 … 9     (none)                   1 … 9: {a}
    b: 4 … 6     1 … 9: {a}               1 … 3: {a}   4 … 6: {a, b}   7 … 9: {a}
    c: 6 … 12    1 … 3, 4 … 6, 7 … 9      1 … 3: {a}   4 … 5: {a, b}   6: {a, b, c}
                                          7 … 9: {a, c}   10 … 12: {c}

An entry is found by bisection over first panes. None is longer than ``STATE_PANES_MAX``, so those
that begin earlier than that before an interval can't reach into it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter

from headwater.algebra.summary import STATE_PANES_MAX, Lane
from headwater.overlay.carry.summary_entry import SummaryEntry

ShelfKey = tuple[str, Lane, int]
"""(query, lane, plan version)."""

_first = attrgetter("first")


class IntervalShelf:
    """The entries of one query, lane and plan. They may overlap where their sites intersect."""

    def __init__(self, key: ShelfKey) -> None:
        self.key = key
        self._entries: list[SummaryEntry] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def put(self, entry: SummaryEntry) -> None:
        insort(self._entries, entry, key=_first)

    def remove(self, entry: SummaryEntry) -> None:
        at = bisect_left(self._entries, entry.first, key=_first)
        while self._entries[at] is not entry:
            at += 1
        del self._entries[at]

    def meeting(self, first: int, last: int) -> list[SummaryEntry]:
        """The entries that have a pane of first … last, by their first panes."""
        low = bisect_left(self._entries, first - STATE_PANES_MAX, key=_first)
        high = bisect_left(self._entries, last + 1, key=_first)
        return [entry for entry in self._entries[low:high] if entry.last >= first]
