"""The first rows of a pane, in an order that leaves nothing open: ORDER BY columns LIMIT k, early.

The k first rows of a union are among the k first of its parts, so sites and relays need not carry
the others. That holds of rows, never of aggregates: the k largest sums can all be k+1st everywhere.
Truncation comes after coverage: what is dropped was looked at, and who was merged stays covered.

A row here stands for as many as its copies say. It is kept while fewer than k rows are before it,
whole, however many copies it has; so a later merge finds all copies of a row that it keeps.

Laws, T for taking the first and ∪ for merging: T(T(a) ∪ T(b)) = T(a ∪ b), T(T(a)) = T(a), and what
lies between T(a) and a has T(a) as its first. So who does not take the first spoils nothing.

The order is Spark's: nulls first or last as is said, NaN above every number, text by its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_extremes import sortable
from headwater.algebra.rows.columns import FirstRows, OrderTerm, RowLayout
from headwater.algebra.rows.nested_types import is_nested

FIRST_MAX = 2_000_000
"""Rows that may be asked for: the largest LIMIT and the largest OFFSET together."""


def checked_first(layout: RowLayout) -> FirstRows | None:
    """What the layout says of first rows; None: it wants all, or says nothing of it, as not every
    layout does. Raises ``ValueError``."""
    first: FirstRows | msgspec.UnsetType = getattr(layout, "first", msgspec.UNSET)
    if isinstance(first, msgspec.UnsetType):
        return None
    keys = [key.name for key in layout.keys]
    counts = [(one.name, one.type, one.merge) for one in layout.partials]
    wanted = [(first.copies, "bigint", "sum")] if first.copies else []
    is_total = sorted(term.column for term in first.order) == sorted(keys)
    is_sound = is_total and set(first.within) <= set(keys) and counts == wanted
    is_sound = is_sound and not any(is_nested(key.type) for key in layout.keys)
    if not is_sound or not 1 <= first.limit <= FIRST_MAX:
        raise ValueError(
            f"first rows: wanted 1 to {FIRST_MAX} rows that have no partials beside their copies, "
            f"in an order of all keys, none of them nested ({', '.join(keys)[:200]}), got "
            f"{str(first)[:300]}"
        )
    return first


def first_rows(rows: pa.Table, first: FirstRows) -> pa.Table:
    """Those of these rows, each of which is there once, that are before the limit."""
    parts = _part_numbers(rows, first.within)
    places = _places(rows, parts, first.order)
    parts = parts[places]
    counts = _copies(rows, first)[places]
    before = np.cumsum(counts) - counts
    begins = np.flatnonzero(np.diff(parts, prepend=-1))
    sizes = np.diff(begins, append=len(parts))
    before -= np.repeat(before[begins], sizes)
    return rows.take(pa.array(places[before < first.limit]))


def _copies(rows: pa.Table, first: FirstRows) -> npt.NDArray[np.int64]:
    """No more than matter, so that no sum of them overflows."""
    if not first.copies:
        return np.ones(rows.num_rows, np.int64)
    counts = pc.fill_null(rows.column(first.copies), 1).to_numpy()
    found: npt.NDArray[np.int64] = np.clip(counts, 1, first.limit)
    return found


def _part_numbers(rows: pa.Table, within: Sequence[str]) -> npt.NDArray[np.int64]:
    """For each row the number of the part it belongs to."""
    found = np.zeros(rows.num_rows, np.int64)
    for name in within:
        values = sortable(rows.column(name)).combine_chunks()
        codes = values.dictionary_encode(null_encoding="encode").indices.to_numpy()
        both = np.stack([found, codes.astype(np.int64)])
        found = np.unique(both, axis=1, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return found


def _places(
    rows: pa.Table, parts: npt.NDArray[np.int64], order: Sequence[OrderTerm]
) -> npt.NDArray[np.int64]:
    """Where the rows of each part are, in order."""
    columns: list[pa.Array | pa.ChunkedArray] = [pa.array(parts)]
    directions = ["ascending"]
    for term in order:
        column = rows.column(term.column)
        if column.null_count:
            columns.append(pc.is_null(column).cast(pa.int8()))
            directions.append("ascending" if term.nulls_last else "descending")
        columns.append(sortable(column))
        directions.append("descending" if term.is_descending else "ascending")
    names = [str(index) for index in range(len(columns))]
    table = pa.table(columns, names=names)
    found: npt.NDArray[np.int64] = pc.sort_indices(
        table, sort_keys=list(zip(names, directions, strict=True))
    ).to_numpy()
    return found.astype(np.int64)
