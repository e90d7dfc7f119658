"""Folds of values to a list of them, or to the one that there is most often.

Each value is one row with how often it occurred. In whole columns: rows are sorted by their group
and by value, and repeated. So a list is in the order of its values, whoever was merged first.

A group whose list would have more than ``LIST_VALUES_MAX`` values is left out like one that
overflows: a part of a list never passes for all of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, Reduced, Values
from headwater.algebra.aggregates.merge_extremes import sortable
from headwater.algebra.aggregates.merge_rule import Bits, Types

LIST_VALUES_MAX = 10_000
"""Of one group."""
LISTS_BYTES_MAX = 256 << 20
"""Of the lists of one column that are made at a time: a row says of one value how often it occurs,
so a few rows may be lists that no memory holds. The longest are left out."""
WHY_LEFT_OUT = (
    f"a list has more than {LIST_VALUES_MAX} values, or is among the longest where all lists take "
    f"more than {LISTS_BYTES_MAX >> 20} MiB, or a sum leaves its type"
)
FEWER = "group by more, so that there are fewer values, or write rows with ORDER BY … LIMIT"


def list_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    is_counted = len(types) == 2 and pa.types.is_int64(types[1])
    if not is_counted or not pa.types.is_list(made) or made.value_type != types[0]:
        return "wanted values and how often each occurred (bigint), to a list of them"
    return None


def mode_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    if len(types) != 2 or not pa.types.is_int64(types[1]) or made != types[0]:
        return "wanted values and how often each occurred (bigint), to one of them"
    return None


def values_once(rows: OwnedRows, made: pa.DataType) -> Reduced:
    return _listed(rows, np.ones(len(rows.owners), np.int64), made)


def values_as_often(rows: OwnedRows, made: pa.DataType) -> Reduced:
    return _listed(rows, _times(rows), made)


def most_frequent(rows: OwnedRows, made: pa.DataType) -> Reduced:
    """The least of those that are equally frequent; null where there is none."""
    often = _times(rows)
    order = _order(rows, [("often", pa.array(often), "descending")])
    first = np.searchsorted(rows.owners[order], np.arange(rows.groups))
    found = np.full(rows.groups, -1, np.int64)
    is_there = first < len(order)
    is_there[is_there] = rows.owners[order[first[is_there]]] == np.flatnonzero(is_there)
    found[is_there] = order[first[is_there]]
    return rows.columns[0].take(pa.array(found, mask=found < 0)).cast(made), None


def _times(rows: OwnedRows) -> Bits:
    """How often each row's value occurred, as far as it matters."""
    counts: Bits = pc.fill_null(rows.columns[1], 0).to_numpy(zero_copy_only=False)
    return np.clip(counts, 0, LIST_VALUES_MAX + 1)


def _listed(rows: OwnedRows, times: Bits, made: pa.DataType) -> Reduced:
    sizes = np.zeros(rows.groups, np.int64)
    np.add.at(sizes, rows.owners, times)
    fits = (sizes <= LIST_VALUES_MAX) & are_held(rows, times, rows.columns[0])
    times = np.where(fits[rows.owners], times, 0) if len(times) else times
    order = _order(rows, [])
    values = rows.columns[0].take(pa.array(np.repeat(order, times[order])))
    offsets = np.concatenate([[0], np.cumsum(np.where(fits, sizes, 0))])
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
    return lists.cast(made), None if fits.all() else fits


def are_held(rows: OwnedRows, times: Bits, values: pa.Array) -> Bits:
    """The groups whose lists of values, each so many times, are within ``LISTS_BYTES_MAX``: all of
    them, or the shortest."""
    taken = np.zeros(rows.groups, np.int64)
    np.add.at(taken, rows.owners, np.minimum(times, LIST_VALUES_MAX) * _bytes_of_each(values))
    if taken.sum() <= LISTS_BYTES_MAX:
        return np.ones(rows.groups, bool)
    order = np.argsort(taken, kind="stable")
    held = np.empty(rows.groups, bool)
    held[order] = np.cumsum(taken[order]) <= LISTS_BYTES_MAX
    return held


def _bytes_of_each(values: pa.Array) -> Bits:
    """About, with what leads to it."""
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        lengths: Bits = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64) + 8
    if pa.types.is_nested(values.type):
        return np.full(len(values), 8 + values.nbytes // max(1, len(values)), np.int64)
    return np.full(len(values), 16, np.int64)


def _order(rows: OwnedRows, before: list[tuple[str, pa.Array, str]]) -> Bits:
    """The rows group after group, by what comes before and then by value."""
    value = sortable(pa.chunked_array([rows.columns[0]]))
    terms = [("owner", pa.array(rows.owners), "ascending"), *before, ("value", value, "ascending")]
    table = pa.table({name: column for name, column, _ in terms})
    found = pc.sort_indices(table, sort_keys=[(name, way) for name, _, way in terms])
    order: Bits = found.to_numpy()
    return order


LISTED_ONCE = FoldRule("set", list_fault, reduce=values_once, instead=FEWER)
LISTED_ALL = FoldRule("list", list_fault, reduce=values_as_often, instead=FEWER)
MOST_FREQUENT = FoldRule(
    "mode", mode_fault, reduce=most_frequent, instead="round the values, so that there are fewer"
)
