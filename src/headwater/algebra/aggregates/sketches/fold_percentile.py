"""The fold of a histogram: its slots and their counts become percentiles.

As in Spark's ``percentile_approx``: of n values the one at place ⌈share · n⌉, which is stood for by
the number of its slot, in the type of the values. Rounding to whole numbers, or to the digits of a
decimal, comes last.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.growing.fold_rule import FoldRule, OwnedRows, Reduced, Values
from headwater.algebra.aggregates.merge_rule import Bits, Types
from headwater.algebra.aggregates.sketches.histogram import ERROR_MAX, ERROR_MIN, stand_ins

SHARES_MAX = 100


def percentile_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    is_histogram = len(types) == 2 and pa.types.is_int32(types[0]) and pa.types.is_int64(types[1])
    one = _one_of(made)
    is_number = pa.types.is_integer(one) or pa.types.is_floating(one) or pa.types.is_decimal(one)
    if not is_histogram or not is_number:
        return "wanted slots (int) with counts (bigint), to a number or an array of numbers"
    shares = values[1:]
    count_max = SHARES_MAX if pa.types.is_list(made) else 1
    is_fine = 1 <= len(shares) <= count_max and all(0 <= share <= 1 for share in shares)
    if not is_fine or not ERROR_MIN <= values[0] <= ERROR_MAX:
        return f"wanted an error from {ERROR_MIN} to {ERROR_MAX} and shares from 0 to 1"
    return None


def percentiles(rows: OwnedRows, made: pa.DataType) -> Reduced:
    """Of nothing they are null."""
    error, shares = rows.values[0], np.array(rows.values[1:])
    slots, counts = (one.to_numpy(zero_copy_only=False) for one in rows.columns)
    order = np.lexsort((slots, rows.owners))
    slots, counts, owners = slots[order], counts[order], rows.owners[order]
    totals = np.zeros(rows.groups, np.int64)
    np.add.at(totals, owners, counts)
    places = np.maximum(1, np.ceil(shares[None, :] * totals[:, None]))
    wanted = (np.cumsum(totals) - totals)[:, None] + places.astype(np.int64)
    at = np.searchsorted(np.cumsum(counts), wanted.reshape(-1))
    ends = np.append(slots, 0)
    found = stand_ins(ends[np.minimum(at, max(len(slots) - 1, 0))], error)
    missing = totals == 0
    if not pa.types.is_list(made):
        return _cells(found, missing, made), None
    cells = _cells(found, np.repeat(missing, len(shares)), made.value_type)
    starts = np.arange(rows.groups + 1, dtype=np.int32) * len(shares)
    return pa.ListArray.from_arrays(pa.array(starts), cells, made, mask=pa.array(missing)), None


def _one_of(made: pa.DataType) -> pa.DataType:
    return made.value_type if pa.types.is_list(made) else made


def _cells(numbers: Bits, missing: Bits, made: pa.DataType) -> pa.Array:
    """In their own type, and within it: no slot's number is further from its values than that."""
    if pa.types.is_floating(made):
        most = np.finfo(made.to_pandas_dtype()).max
        kept = np.where(np.isfinite(numbers), np.clip(numbers, -most, most), numbers)
        return pa.array(kept.astype(made.to_pandas_dtype()), made, mask=missing)
    sound = np.where(np.isfinite(numbers), numbers, 0.0)
    if pa.types.is_integer(made):
        return _whole(np.rint(sound), missing, made)
    most = np.nextafter(10.0 ** (made.precision - made.scale), 0) - 10.0**-made.scale
    return pa.array(np.clip(sound, -most, most), mask=missing).cast(made, safe=False)


def _whole(numbers: Bits, missing: Bits, made: pa.DataType) -> pa.Array:
    span = np.iinfo(made.to_pandas_dtype())
    inside = np.clip(numbers, float(span.min), np.nextafter(float(span.max) + 1, 0))
    return pa.array(inside.astype(np.int64), pa.int64(), mask=missing).cast(made)


PERCENTILE = FoldRule(
    "percentile",
    percentile_fault,
    "write a larger error, as in percentile_approx(x, 0.5, 0.05)",
    reduce=percentiles,
)
