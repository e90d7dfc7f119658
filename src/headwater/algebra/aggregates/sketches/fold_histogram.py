"""The fold of a histogram to itself: the numbers that stand for its slots, each with its count.

In the order of the numbers, NaN last. A group with more slots than a list has values is left out
like one that overflows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.growing.fold_lists import LIST_VALUES_MAX
from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, Reduced, Values
from headwater.algebra.aggregates.merge_rule import Types
from headwater.algebra.aggregates.sketches.histogram import ERROR_MAX, ERROR_MIN, stand_ins

BAR = pa.struct([("value", pa.float64()), ("count", pa.int64())])


def histogram_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    is_histogram = len(types) == 2 and pa.types.is_int32(types[0]) and pa.types.is_int64(types[1])
    if not is_histogram or made != pa.list_(pa.field("element", BAR)):
        return "wanted slots (int) with counts (bigint), to a list of values with their counts"
    if len(values) != 1 or not ERROR_MIN <= values[0] <= ERROR_MAX:
        return f"wanted an error from {ERROR_MIN} to {ERROR_MAX}"
    return None


def bars(rows: OwnedRows, made: pa.DataType) -> Reduced:
    """Of nothing an empty list."""
    slots, counts = (one.to_numpy(zero_copy_only=False) for one in rows.columns)
    sizes = np.bincount(rows.owners, minlength=rows.groups)
    fits = sizes <= LIST_VALUES_MAX
    order = np.lexsort((slots, rows.owners))
    order = order[fits[rows.owners[order]]]
    numbers = pa.array(stand_ins(slots[order], rows.values[0]), pa.float64())
    found = pa.StructArray.from_arrays([numbers, pa.array(counts[order])], fields=list(BAR))
    offsets = np.concatenate([[0], np.cumsum(np.where(fits, sizes, 0))])
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), found, made)
    return lists, None if fits.all() else fits


HISTOGRAM = FoldRule(
    "histogram",
    histogram_fault,
    "write a larger error, as in approx_histogram(x, 0.05)",
    reduce=bars,
)
