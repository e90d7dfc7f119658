"""The rows of a query's levels, made of those that a batch gave for the query itself.

Nothing is computed twice: a pane of a level is some panes of the full query, so its rows are theirs
under its number. Only panes that the level has taken get any, which is none while links are wide.
A batch that failed for the query has failed for what its levels have taken of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.reading.outcome import QueryResult
from headwater.store.pane_segments import PANE


class LevelGrid(msgspec.Struct, frozen=True):
    """One level of a query, as the cube goes by it."""

    query: str
    fine: WindowSpec
    coarse: WindowSpec

    def pane_of(self, fine_pane: int) -> int:
        return self.coarse.pane_at(self.fine.pane_start_us(fine_pane))


LevelsOf = Callable[[str], Sequence[LevelGrid]]
"""By the id of the full query."""


class CoarserPieces:
    """``RowPieces`` of a level, made as they are asked for."""

    def __init__(self, pieces: RowPieces, grid: LevelGrid, taken: Ranges) -> None:
        self._pieces = pieces
        self._grid = grid
        self._taken = taken

    @property
    def num_rows(self) -> int:
        return sum(piece.num_rows for piece in self)

    def __iter__(self) -> Iterator[pa.Table]:
        for piece in self._pieces:
            yield coarser(piece, self._grid, self._taken)


def level_results(result: QueryResult, grid: LevelGrid, taken: Ranges) -> Iterator[QueryResult]:
    """What the batch is for the level; nothing where it has taken none of its panes."""
    if not taken:
        return
    if result.failed is not None:
        yield from _failed(result, grid, taken)
    elif result.table is not None:
        table = coarser(result.table, grid, taken)
        if table.num_rows:
            yield QueryResult(grid.query, table)
    elif result.pieces is not None:
        pieces = CoarserPieces(result.pieces, grid, taken)
        if pieces.num_rows:
            yield QueryResult(grid.query, pieces=pieces)


def coarser(table: pa.Table, grid: LevelGrid, taken: Ranges) -> pa.Table:
    """The rows of panes that lie in taken ones, under their numbers."""
    panes = table.column(PANE).cast(pa.int64()).to_numpy()
    fine, coarse = grid.fine, grid.coarse
    starts_us = panes * fine.pane_us + (fine.start_us - coarse.start_us)
    numbers = np.floor_divide(starts_us, coarse.pane_us)
    is_in = np.zeros(len(numbers), dtype=bool)
    for first, last in taken:
        is_in |= (numbers >= first) & (numbers <= last)
    place = table.schema.get_field_index(PANE)
    column = pa.array(numbers, type=pa.int64())
    renumbered = table.set_column(place, pa.field(PANE, pa.int64(), nullable=False), column)
    return renumbered if is_in.all() else renumbered.filter(pc.fill_null(pa.array(is_in), False))


def _failed(result: QueryResult, grid: LevelGrid, taken: Ranges) -> Iterator[QueryResult]:
    touched = result.touched
    if touched is not None:
        first, last = map(grid.pane_of, touched)
        if not ranges.intersects(taken, ((first, last),)):
            return
        touched = first, last
    yield QueryResult(grid.query, failed=result.failed, touched=touched)
