"""Reading the parts of a pane that are to be merged, as far as the disk gives them.

A part whose bytes are wrong is left out. A disk that refuses to read a part holds its pane up, for
it may think better of it. A part that it refuses ``UNREADABLE_TRIES_MAX`` times in a row with an
I/O error is set aside and left out too, if the disk takes that: one bad sector must not stop a
site.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

import pyarrow as pa

from headwater.errors import DiskTrouble, SegmentDamaged
from headwater.store.pane_segments import PaneSegments, Stretch

UNREADABLE_TRIES_MAX = 5
MERGE_BYTES_MAX = 64 << 20
"""Rows of one pane that are merged at once, as Arrow holds them."""


class PartReader:
    def __init__(self, rows: PaneSegments) -> None:
        self._rows = rows
        self._unreadable: dict[int, int] = {}
        """By segment: how often in a row the disk refused to read it."""

    def portions(
        self,
        parts: list[Stretch],
        intact: list[Stretch],
        left: Callable[[pa.Table, int], pa.Table] | None = None,
    ) -> Iterator[list[pa.Table]]:
        """The tables of all parts that can be read, up to ``MERGE_BYTES_MAX`` and one at a time;
        the parts themselves into ``intact``. There is at least one portion, if an empty one.
        ``left``: what is left of the rows of a segment; None: all."""
        tables: list[pa.Table] = []
        for part in parts:
            table = self.read(part)
            if table is None:
                continue
            table = table if left is None else left(table, part.segment)
            if tables and sum(one.nbytes for one in tables) + table.nbytes > MERGE_BYTES_MAX:
                yield tables
                tables = []
            tables.append(table)
            intact.append(part)
        yield tables

    def read(self, part: Stretch) -> pa.Table | None:
        """None: its rows are lost. Raises ``DiskTrouble`` where that is too early to say."""
        try:
            table = self._rows.load(part)
        except SegmentDamaged:
            return None
        except DiskTrouble as error:
            if getattr(error.__cause__, "errno", None) != errno.EIO:
                raise
            tries = self._unreadable[part.segment] = self._unreadable.get(part.segment, 0) + 1
            if tries < UNREADABLE_TRIES_MAX:
                raise
            self._rows.give_up(part.segment)
            del self._unreadable[part.segment]
            return None
        self._unreadable.pop(part.segment, None)
        return table
