"""What a question would read, asked of manifests: a query whose rows are three numbers a pane.

An estimate travels as a question does: it is installed, merged on the way, and its answer has an
envelope that says how many sites are in it. Its statement counts records three times, so that its
rows have three columns of numbers that add up; what a site puts into them are the numbers of its
manifest, and no record is read.
"""

from __future__ import annotations

import pyarrow as pa

from headwater.store.cube.asked.cube_slices import CubeSlice

ESTIMATE = "_estimate"
"""What an estimate's name ends with, after its question's."""
ROWS, BYTES, GROUPS = "rows", "bytes", "groups"
"""Columns of an estimate's answer: rows and bytes of panes, and of each pane of the question the
rows of the stream's largest pane in it, which is about how many groups it has."""


def estimate_select(source: str, time_column: str) -> str:
    """
    >>> estimate_select("hits", "t")
    'SELECT count(*) AS rows, count(`t`) AS bytes, count_if(`t` IS NOT NULL) AS groups FROM hits'
    """
    return (
        f"SELECT count(*) AS {ROWS}, count(`{time_column}`) AS {BYTES}, "
        f"count_if(`{time_column}` IS NOT NULL) AS {GROUPS} FROM {source}"
    )


def estimated_rows(found: CubeSlice, first: int, last: int, schema: pa.Schema) -> pa.Table | None:
    """Of the stream's panes first … last; None: they have no rows."""
    rows = found.rows_of(first, last)
    if not rows:
        return None
    byte_count = round(found.bytes * rows / max(1, found.rows))
    numbers = [rows, byte_count, found.most_rows_of(first, last)]
    return pa.Table.from_arrays([pa.array([one], pa.int64()) for one in numbers], schema=schema)


def listed_rows(byte_count: int, schema: pa.Schema) -> pa.Table:
    """Of logs: their bytes. How many records these are nobody knows."""
    numbers = [pa.array([n], pa.int64()) for n in (0, byte_count, 0)]
    return pa.Table.from_arrays(numbers, schema=schema)
