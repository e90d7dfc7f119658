"""What a cube keeps of a state query: the records that its next states may be made of.

Spark hands over a row for each record, reduced to its keys and partials, with its number in the
order of reading. The rows of a batch are a *block*: a segment of their own, named in the
transaction that moves the committed cut and the count. So a batch that comes again changes nothing.
A block goes when none of its records can be among the last any more; many small ones are written
anew as one, so that a slow site does not keep a file for each of its batches.

What was missed (lost bytes, a failed batch, lines that may have been read twice) has a place in the
same order. A state in which it could be among the last *n* is not whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from headwater.algebra.rows.types import PANE_COLUMN
from headwater.algebra.windows.last_rows import Last, LastRows, Numbers, last_of, still_wanted
from headwater.algebra.windows.sequence_grid import ROW
from headwater.algebra.words.site_state import FOREVER
from headwater.errors import SegmentDamaged
from headwater.store.manifest import Manifest
from headwater.store.pane_segments import PaneSegments
from headwater.store.segments import Segment

BLOCKS_MAX = 64
"""Segments of one query; more are written anew as one."""
SPARE_ROWS = 10_000
"""So many rows that are not wanted any more may lie in blocks that are."""


class Block(msgspec.Struct, frozen=True):
    segment: int
    through_row: int
    """Where the site's count was after its last record."""


class RingRows(msgspec.Struct, frozen=True):
    """All that can be read, in the order of their numbers."""

    blocks: tuple[Block, ...]
    damaged: tuple[Block, ...]
    table: pa.Table | None
    """None: there are no rows."""
    block_of: Numbers
    """For each row, the number of its segment."""
    rows: Numbers
    panes: Numbers

    def last(self, pane: int, last_n: int) -> Last:
        return last_of(self.rows, self.panes, through=pane, last_n=last_n)

    def wanted(self, closed_below: int, last_n: int) -> Numbers:
        return still_wanted(self.rows, self.panes, closed_below=closed_below, last_n=last_n)

    def reduced(self, places: Numbers) -> pa.Table:
        """The rows as they travel."""
        assert self.table is not None, "only of rows that are there"
        return self.table.take(pa.array(places)).drop_columns([PANE_COLUMN, ROW])

    def whole(self, places: Numbers) -> pa.Table:
        """The rows as they are kept."""
        assert self.table is not None, "only of rows that are there"
        return self.table.take(pa.array(places))


class StateRing:
    """Of all state queries of one cube. What changes it is called inside a transaction."""

    def __init__(self, manifest: Manifest, rows: PaneSegments) -> None:
        self._manifest = manifest
        self._rows = rows

    def add(self, query: int, segment: Segment, *, through_row: int) -> None:
        number = self._rows.add(query, segment)
        self._manifest.run("INSERT INTO ring VALUES (?, ?, ?)", (query, number, through_row))

    def drop(self, query: int, blocks: Iterable[Block]) -> None:
        self._manifest.run_many(
            "DELETE FROM ring WHERE query = ? AND segment = ?",
            ((query, block.segment) for block in blocks),
        )

    def read(self, query: int) -> RingRows:
        """Raises ``DiskTrouble`` where it is worth another try."""
        found = self._manifest.all(
            "SELECT segment, through_row FROM ring WHERE query = ? ORDER BY through_row, segment",
            (query,),
        )
        blocks, damaged, tables = list[Block](), list[Block](), list[pa.Table]()
        for block in (Block(*row) for row in found):
            try:
                tables.append(self._rows.load_all(block.segment))
                blocks.append(block)
            except SegmentDamaged:
                damaged.append(block)
        return _in_order(tuple(blocks), tuple(damaged), tables)

    def miss(self, query: int, *, at_row: int, pane: int = -FOREVER) -> None:
        """A record before this number may be missing, in the state of this pane and later ones."""
        self._manifest.run("INSERT OR IGNORE INTO gaps VALUES (?, ?, ?)", (query, at_row, pane))

    def gaps(self, query: int) -> list[tuple[int, int]]:
        """(number, pane) of what was missed."""
        return [
            (at_row, pane)
            for at_row, pane in self._manifest.all(
                "SELECT at_row, pane FROM gaps WHERE query = ?", (query,)
            )
        ]

    def fill_gaps(self, query: int, *, below_row: int) -> None:
        """Enough newer records were read since: they are in no state any more."""
        self._manifest.run("DELETE FROM gaps WHERE query = ? AND at_row <= ?", (query, below_row))


def is_whole(
    last: Last, gaps: Sequence[tuple[int, int]], *, pane: int, of: LastRows, first_pane: int
) -> bool:
    """Whether no record is missing from the state of a pane, at a site that answers from
    ``first_pane`` on."""
    if any(from_pane <= pane and last.lacks(at_row) for at_row, from_pane in gaps):
        return False
    return last.oldest is not None or first_pane <= of.begin_pane


def _in_order(
    blocks: tuple[Block, ...], damaged: tuple[Block, ...], tables: Sequence[pa.Table]
) -> RingRows:
    if not tables:
        none = np.zeros(0, dtype=np.int64)
        return RingRows(blocks, damaged, None, none, none, none)
    table = pa.concat_tables(tables)
    block_of = np.repeat([one.segment for one in blocks], [one.num_rows for one in tables])
    rows = table.column(ROW).to_numpy()
    order = np.argsort(rows, kind="stable")
    if np.any(order[1:] < order[:-1]):
        table, rows, block_of = table.take(pa.array(order)), rows[order], block_of[order]
    return RingRows(blocks, damaged, table, block_of, rows, table.column(PANE_COLUMN).to_numpy())
