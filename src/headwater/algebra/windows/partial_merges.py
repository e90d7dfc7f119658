"""Merges of 8, 16, 32, … panes, of which any window is made with a few.

::

    panes      … 6 7|8            15|16           23|24           31|32 33 …
    of 8              [8          15]|[16         23]|[24         31]
    of 16                             [16                         31]
    window 6 … 33:   6  7  [8     15]  [16                        31]  32  33

A window of n panes is some panes at either end and at most 2·log₂ n merges, and each pane is merged
into a constant number of blocks on the average, however many windows it is in. A pane that is
revised has the blocks that it is in made anew.

Blocks lie on the grid of pane numbers. So the order in which doubles are added depends on the panes
alone, never on which windows were built before, and is the same after a restart: *rounding is no
change*. (Two stacks would combine less, but in an order that goes by the window at which they were
turned over.)

Merges are kept in a place with a limit. What it has dropped is made anew, from the panes if need
be: a merge that every window uses stays, being used.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headwater.algebra.summary import Merger
from headwater.algebra.windows.pane_source import PaneSource, Stamp, Stamps, TableStore
from headwater.errors import PaneIsLarge

BLOCK_HEIGHT = 3
"""The least blocks have 2³ panes. Those of 2 and 4 would take as much memory as all panes twice."""
WINDOW_BYTES_MAX = 64 << 20
"""Of the parts of one window, which are merged at a time."""

Block = tuple[int, int]
"""(height, number): the panes number·2^height … up to the next number."""


class PartialMerges:
    """Of one query. ``kept`` may be shared with others: ``name`` tells them apart."""

    def __init__(self, name: str, merger: Merger, kept: TableStore) -> None:
        self._name = name
        self._merger = merger
        self._kept = kept
        self._made_of: dict[Block, tuple[Stamp | None, ...]] = {}
        """The stamps of the panes that a merge was made of."""

    def parts(self, panes: range, stamps: Stamps, source: PaneSource) -> list[pa.Table]:
        """Tables whose merge is the window of these panes, in an order that the panes give.

        ``stamps`` are the source's. Raises ``PaneIsLarge`` where they are more than can be merged
        at a time.
        """
        self._forget_below(panes.start - len(panes))
        found: list[pa.Table] = []
        byte_count = 0
        for block in covering(panes):
            rows = self._rows(block, stamps, source)
            if rows is not None:
                found.append(rows)
                byte_count += rows.nbytes
            if byte_count > WINDOW_BYTES_MAX:
                raise PaneIsLarge(f"{self._name}: a window's parts are over {WINDOW_BYTES_MAX} B")
        return found

    def _rows(self, block: Block, stamps: Stamps, source: PaneSource) -> pa.Table | None:
        height, number = block
        if not height:
            return source.rows(number) if number in stamps else None
        made_of = tuple(map(stamps.get, panes_of(block)))
        if self._made_of.get(block) == made_of:
            known = self._kept.get((self._name, *block))
            if known is not None:
                return known
        below = [self._rows(part, stamps, source) for part in below_of(block)]
        found = [rows for rows in below if rows is not None]
        if not found:
            return None
        merged = self._merger.merge(found)
        self._made_of[block] = made_of
        self._kept.put((self._name, *block), merged)
        return merged

    def _forget_below(self, pane: int) -> None:
        """Windows a whole length ago are hardly asked for again."""
        for block in [one for one in self._made_of if panes_of(one).stop <= pane]:
            del self._made_of[block]
            self._kept.drop((self._name, *block))

    def forget(self) -> None:
        """The query is over, or others need the memory."""
        for block in self._made_of:
            self._kept.drop((self._name, *block))
        self._made_of.clear()


def panes_of(block: Block) -> range:
    height, number = block
    return range(number << height, (number + 1) << height)


def below_of(block: Block) -> list[Block]:
    """What a block is merged of: its halves, or its panes."""
    height, number = block
    if height == BLOCK_HEIGHT:
        return [(0, pane) for pane in panes_of(block)]
    return [(height - 1, 2 * number), (height - 1, 2 * number + 1)]


def covering(panes: range) -> Iterator[Block]:
    """The fewest blocks and panes that are exactly these panes, in their order.

    >>> list(covering(range(6, 34)))
    [(0, 6), (0, 7), (3, 1), (4, 1), (0, 32), (0, 33)]
    """
    at = panes.start
    while at < panes.stop:
        height = (panes.stop - at).bit_length() - 1
        if at:
            height = min(height, (at & -at).bit_length() - 1)
        height = height if height >= BLOCK_HEIGHT else 0
        yield height, at >> height
        at += 1 << height
