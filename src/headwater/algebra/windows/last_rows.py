"""The last *n* records of a site, of those that it has read: which rows they are.

A site's records have numbers in the order in which it has read them (``ROW``), and each lies in the
pane of its own time. The state of pane *p* is the last *n* of those in panes up to *p*. Rows of one
number are of one record: several where its growing states are rows. All arrays here are in the
order of numbers::

    n = 2     number  7  8  9  9  10          pane 1: 8 and 9, which is two rows
              pane    0  1  1  1   2          pane 2: 9 and 10
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class LastRows(msgspec.Struct, frozen=True):
    """Of a query: how many records its states are made of, and from which pane on."""

    last_n: int
    begin_pane: int


class Last(msgspec.Struct, frozen=True):
    places: Numbers
    """Of the rows that are in it."""
    oldest: int | None
    """The number of the oldest record in it; None: there are fewer than *n*."""

    def lacks(self, at_row: int) -> bool:
        """Whether a record that was missed before this number could be in it."""
        return self.oldest is None or self.oldest < at_row


def last_of(rows: Numbers, panes: Numbers, *, through: int, last_n: int) -> Last:
    """Of the records in panes up to ``through``.

    >>> rows, panes = np.array([7, 8, 9, 9, 10]), np.array([0, 1, 1, 1, 2])
    >>> last_of(rows, panes, through=1, last_n=2)
    Last(places=array([1, 2, 3]), oldest=8)
    >>> last_of(rows, panes, through=0, last_n=2)
    Last(places=array([0]), oldest=None)
    """
    places = np.flatnonzero(panes <= through)
    numbers = rows[places]
    is_first = np.ones(len(numbers), dtype=bool)
    is_first[1:] = numbers[1:] != numbers[:-1]
    firsts = np.flatnonzero(is_first)
    if len(firsts) < last_n:
        return Last(places, None)
    first = int(firsts[-last_n])
    return Last(places[first:], int(numbers[first]))


def still_wanted(rows: Numbers, panes: Numbers, *, closed_below: int, last_n: int) -> Numbers:
    """The places of rows that later states may have, when no pane below is asked for any more: of
    theirs only the last still count.

    >>> rows, panes = np.array([7, 8, 9, 9, 10]), np.array([5, 1, 1, 1, 2])
    >>> still_wanted(rows, panes, closed_below=2, last_n=1)
    array([0, 2, 3, 4])
    """
    last = last_of(rows, panes, through=closed_below - 1, last_n=last_n)
    return np.union1d(last.places, np.flatnonzero(panes >= closed_below))
