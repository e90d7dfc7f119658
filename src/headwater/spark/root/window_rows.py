"""The answers of many windows in the files that Spark wrote, each window's rows by themselves.

In each file the rows of a window lie together, so a window is a few stretches. Windows are read
one after the other, and neighbours share files: the last few that were read stay in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.query import Query
from headwater.spark.rows.row_files import RowFiles

FILES_KEPT = 4
"""Files that stay in memory: a window lies in as many as there are tasks, and those are few."""
TIMESTAMP = pa.timestamp("us", tz="UTC")


class Stretch(NamedTuple):
    file: int
    first_row: int
    rows: int


class WindowRows:
    """The rows of one window, without the window's own column, in the query's order."""

    def __init__(self, files: KeptFiles, stretches: list[Stretch]) -> None:
        self._files = files
        self._stretches = stretches

    @property
    def num_rows(self) -> int:
        return sum(one.rows for one in self._stretches)

    def __iter__(self) -> Iterator[pa.Table]:
        for file, first_row, rows in self._stretches:
            yield self._files.table(file).slice(first_row, rows).remove_column(0)


class KeptFiles:
    """The tables of files, of which the last few are read once."""

    def __init__(self, files: RowFiles) -> None:
        self._files = files
        self._tables: OrderedDict[int, pa.Table] = OrderedDict()

    def table(self, file: int) -> pa.Table:
        if file not in self._tables:
            while len(self._tables) >= FILES_KEPT:
                self._tables.popitem(last=False)
            self._tables[file] = self._files.table(file)
        self._tables.move_to_end(file)
        return self._tables[file]


def by_window(query: Query, files: RowFiles) -> dict[int, WindowRows]:
    """Of files whose first column is the window, by which each is in order."""
    stretches: dict[int, list[Stretch]] = {}
    for file in range(len(files.paths)):
        starts_us = _starts_us(files.column(file, WINDOW_COLUMN))
        firsts = np.flatnonzero(np.diff(starts_us, prepend=starts_us[0] - 1)).tolist()
        for first, end in zip(firsts, [*firsts[1:], len(starts_us)], strict=True):
            window = query.window.first_window_from(int(starts_us[first]))
            stretches.setdefault(window, []).append(Stretch(file, first, end - first))
    kept = KeptFiles(files)
    return {window: WindowRows(kept, found) for window, found in sorted(stretches.items())}


def _starts_us(windows: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    starts = pc.struct_field(windows, "start").cast(TIMESTAMP).cast(pa.int64())
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = starts.to_numpy()
    return found
