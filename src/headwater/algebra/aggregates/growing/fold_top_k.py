"""The fold of values to those that there are most often, each with how often it occurred.

In whole columns: rows are sorted by their group, by how often and then by value, null before all,
and of each group the first stay. So it does not show who was merged first, also where several are
equally frequent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.growing.fold_lists import LIST_VALUES_MAX
from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, Reduced, Values
from headwater.algebra.aggregates.merge_extremes import sortable
from headwater.algebra.aggregates.merge_rule import Bits, Types

ITEMS_MAX = LIST_VALUES_MAX


def top_k_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    is_counted = len(types) == 3 and pa.types.is_boolean(types[0]) and pa.types.is_int64(types[2])
    if not is_counted or pa.types.is_nested(types[1]):
        return "wanted whether there is a value, the value, and how often it occurred (bigint)"
    if made != pa.list_(pa.field("element", item_type(types[1]))):
        return "wanted a list of items with their counts"
    is_count = len(values) == 1 and 1 <= values[0] <= ITEMS_MAX and values[0] % 1 == 0
    return None if is_count else f"wanted how many items, 1 to {ITEMS_MAX}"


def item_type(value: pa.DataType) -> pa.DataType:
    return pa.struct([("item", value), ("count", pa.int64())])


def most_frequent_several(rows: OwnedRows, made: pa.DataType) -> Reduced:
    """None where there is no record, as Spark gives an empty list."""
    _, values, counts = rows.columns
    order = _order(rows)
    owners = rows.owners[order]
    firsts = np.searchsorted(owners, np.arange(rows.groups))
    is_kept = np.arange(len(order)) - firsts[owners] < int(rows.values[0])
    kept = pa.array(order[is_kept])
    items = pa.StructArray.from_arrays(
        [values.take(kept), counts.take(kept)], fields=list(made.value_type)
    )
    sizes = np.bincount(owners[is_kept], minlength=rows.groups)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, items, made), None


def _order(rows: OwnedRows) -> Bits:
    is_there, values, counts = rows.columns
    terms = {
        "owner": (pa.array(rows.owners), "ascending"),
        "often": (counts, "descending"),
        "is there": (pc.cast(is_there, pa.int8()), "ascending"),
        "value": (sortable(pa.chunked_array([values])), "ascending"),
    }
    found = pc.sort_indices(
        pa.table({name: column for name, (column, _) in terms.items()}),
        sort_keys=[(name, way) for name, (_, way) in terms.items()],
    )
    order: Bits = found.to_numpy()
    return order


TOP_K = FoldRule(
    "top_k",
    top_k_fault,
    reduce=most_frequent_several,
    instead="round the values, so that there are fewer",
    nulls_from=1,
)
