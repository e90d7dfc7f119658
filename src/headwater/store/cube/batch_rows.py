"""The result of one query on one batch, put in the order of panes.

Spark hands over one table with a column ``pane``; the cube stores it as one segment in which each
pane is one stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.words.site_state import FOREVER
from headwater.edge.report import PaneKeys
from headwater.reading.outcome import QueryResult
from headwater.store.pane_segments import PANE
from headwater.store.segments import Segment


def tables_of(result: QueryResult) -> Iterable[pa.Table]:
    """Its rows, in tables of which each has some; none where it failed."""
    if result.failed is not None:
        return ()
    pieces = result.pieces if result.table is None else (result.table,)
    return (table for table in pieces or () if table.num_rows)


def has_rows(result: QueryResult) -> bool:
    if result.table is not None:
        return bool(result.table.num_rows)
    return result.pieces is not None and bool(result.pieces.num_rows)


class PaneRun(msgspec.Struct, frozen=True, array_like=True):
    """Rows ``first_row`` … of a table all belong to this pane."""

    pane: int
    first_row: int
    rows: int


class BatchRows(msgspec.Struct, frozen=True):
    table: pa.Table
    """In the order of panes."""
    runs: tuple[PaneRun, ...]
    refused: tuple[tuple[int, int], ...] = ()
    """(pane, rows) of panes that take none: counted, not stored."""


class WrittenRows(msgspec.Struct):
    """A table of a query's rows that is on the disk."""

    query: str
    runs: tuple[PaneRun, ...]
    refused: tuple[tuple[int, int], ...]
    segment: Segment | None = None
    """None: no pane took any of them."""
    keys: tuple[PaneKeys, ...] = ()
    """Of a query that may send early."""

    def refused_rows(self, *, below: int, at_least: int = -FOREVER) -> int:
        return sum(rows for pane, rows in self.refused if at_least <= pane < below)


def by_pane(table: pa.Table, takes: Callable[[int], bool]) -> BatchRows:
    """The rows of panes that ``takes`` admits, pane after pane."""
    table = table.set_column(
        table.schema.get_field_index(PANE),
        pa.field(PANE, pa.int64(), nullable=False),
        table.column(PANE).cast(pa.int64()),
    )
    panes = table.column(PANE).to_numpy()
    if np.any(panes[1:] < panes[:-1]):
        table = table.take(pc.sort_indices(table, sort_keys=[(PANE, "ascending")]))
    runs, refused = _runs(table.column(PANE).to_numpy(), takes)
    if refused:
        kept = [table.slice(run.first_row, run.rows) for run in runs]
        table = pa.concat_tables(kept) if kept else table.slice(0, 0)
        runs, _ = _runs(table.column(PANE).to_numpy(), takes)
    return BatchRows(table.combine_chunks(), tuple(runs), tuple(refused))


def _runs(
    panes: np.ndarray[tuple[int], np.dtype[np.int64]], takes: Callable[[int], bool]
) -> tuple[list[PaneRun], list[tuple[int, int]]]:
    """Of panes in order: the runs of equal ones that are admitted, and (pane, rows) of those that
    are not."""
    ends = [*(np.flatnonzero(panes[1:] != panes[:-1]) + 1).tolist(), len(panes)]
    runs: list[PaneRun] = []
    refused: list[tuple[int, int]] = []
    for first, end in pairwise([0, *ends] if len(panes) else []):
        pane = int(panes[first])
        if takes(pane):
            runs.append(PaneRun(pane, first, end - first))
        else:
            refused.append((pane, end - first))
    return runs, refused
