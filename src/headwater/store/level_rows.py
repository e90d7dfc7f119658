"""The rows of a query's levels, made of those that a batch gave for the query itself.

Nothing is computed twice: a pane of a level is some panes of the full query, so its rows are theirs
under its number, at a coarser key or those of a sample (``algebra.windows.coarsening``). Only panes
that the level has taken get any, which is none while links are wide.
A batch that failed for the query has failed for what its levels have taken of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.windows.coarsening import Coarsening
from headwater.reading.outcome import QueryResult
from headwater.store.pane_segments import PANE


class LevelGrid(msgspec.Struct, frozen=True):
    """One level of a query, as the cube goes by it."""

    query: str
    fine: WindowSpec
    coarse: WindowSpec
    coarsening: Coarsening = Coarsening()

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
        return
    pieces = (result.table,) if result.table is not None else result.pieces or ()
    given = {pane for piece in pieces for pane in np.unique(_numbers(piece, grid, taken)[1])}
    if not given:
        return
    panes = tuple(sorted(map(int, given)))
    if result.table is not None:
        yield QueryResult(grid.query, coarser(result.table, grid, taken), given=panes)
    elif result.pieces is not None:
        yield QueryResult(grid.query, pieces=CoarserPieces(result.pieces, grid, taken), given=panes)


def coarser(table: pa.Table, grid: LevelGrid, taken: Ranges) -> pa.Table:
    """The rows of panes that lie in taken ones, under their numbers."""
    is_in, numbers = _numbers(table, grid, taken)
    kept = table if is_in.all() else table.filter(pa.array(is_in))
    place = kept.schema.get_field_index(PANE)
    column = pa.array(numbers, type=pa.int64())
    renumbered = kept.set_column(place, pa.field(PANE, pa.int64(), nullable=False), column)
    return grid.coarsening.rows(renumbered)


def _numbers(
    table: pa.Table, grid: LevelGrid, taken: Ranges
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of the rows lie in panes that are taken, and in which."""
    panes = table.column(PANE).cast(pa.int64()).to_numpy()
    fine, coarse = grid.fine, grid.coarse
    starts_us = panes * fine.pane_us + (fine.start_us - coarse.start_us)
    numbers = np.floor_divide(starts_us, coarse.pane_us)
    is_in = np.zeros(len(numbers), dtype=bool)
    for first, last in taken:
        is_in |= (numbers >= first) & (numbers <= last)
    return is_in, numbers[is_in]


def _failed(result: QueryResult, grid: LevelGrid, taken: Ranges) -> Iterator[QueryResult]:
    touched = result.touched
    if touched is not None:
        first, last = map(grid.pane_of, touched)
        if not ranges.intersects(taken, ((first, last),)):
            return
        touched = first, last
    yield QueryResult(grid.query, failed=result.failed, touched=touched)
