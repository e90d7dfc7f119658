"""Folds of pairs to the values of those that come first: of each group the k least or greatest.

Each pair is one row with how often it occurred. In whole columns: rows are sorted by their group,
by what orders them and by value, and each is repeated as far as there is room before the k-th.
"""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.growing.fold_lists import LIST_VALUES_MAX, are_held
from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, Reduced, Values
from headwater.algebra.aggregates.merge_by import one_zero
from headwater.algebra.aggregates.merge_extremes import sortable
from headwater.algebra.aggregates.merge_rule import Bits, Types

SEVERAL_MAX = LIST_VALUES_MAX
FIRST = "write rows with ORDER BY … LIMIT, of which the first are kept at sites"


def by_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    is_counted = len(types) == 3 and pa.types.is_int64(types[2])
    if not is_counted or any(map(pa.types.is_nested, types)):
        return "wanted what orders, values and how often each pair occurred (bigint)"
    if not pa.types.is_list(made) or made.value_type != types[1]:
        return "wanted a list of the values"
    is_count = len(values) == 1 and 1 <= values[0] <= SEVERAL_MAX and values[0] % 1 == 0
    return None if is_count else f"wanted how many values, 1 to {SEVERAL_MAX}"


def first_by(direction: str, rows: OwnedRows, made: pa.DataType) -> Reduced:
    """Null where there is no pair."""
    several, order = int(rows.values[0]), _order(direction, rows)
    counts: Bits = pc.fill_null(rows.columns[2], 0).to_numpy(zero_copy_only=False)
    times, owners = np.clip(counts[order], 0, several), rows.owners[order]
    passed = np.concatenate([[0], np.cumsum(times)])
    before = passed[:-1] - passed[np.searchsorted(owners, np.arange(rows.groups))][owners]
    times = np.clip(several - before, 0, times)
    ordered = msgspec.structs.replace(rows, owners=owners)
    fits = are_held(ordered, times, rows.columns[1].take(pa.array(order)))
    times = np.where(fits[owners], times, 0) if len(times) else times
    sizes = np.zeros(rows.groups, np.int64)
    np.add.at(sizes, owners, times)
    values = rows.columns[1].take(pa.array(np.repeat(order, times)))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, values, mask=pa.array(sizes == 0))
    return lists.cast(made), None if fits.all() else fits


def _order(direction: str, rows: OwnedRows) -> Bits:
    """The rows group after group, by what orders them and then by value, null before all."""
    by, values, _ = rows.columns
    terms = {
        "owner": (pa.array(rows.owners), "ascending"),
        "by": (sortable(pa.chunked_array([one_zero(by)])), direction),
        "is there": (pc.is_valid(values).cast(pa.int8()), direction),
        "value": (sortable(pa.chunked_array([values])), direction),
    }
    found = pc.sort_indices(
        pa.table({name: column for name, (column, _) in terms.items()}),
        sort_keys=[(name, way) for name, (_, way) in terms.items()],
    )
    order: Bits = found.to_numpy()
    return order


def _rule(name: str, direction: str) -> FoldRule:
    reduce = partial(first_by, direction)
    return FoldRule(name, by_fault, reduce=reduce, instead=FIRST, nulls_from=1)


FIRST_LEAST, FIRST_GREATEST = _rule("min_by", "ascending"), _rule("max_by", "descending")
