"""Merging by the least or the greatest, in Spark's order: strings by bytes, false before true, NaN
above every number.

Arrow's ``max`` skips NaN (which so matters for ``min`` too), so floating-point columns are merged
as integers that have the order of Spark.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types


def any_type(types: Types) -> str | None:
    return None


def lift_extremes(columns: Columns) -> Columns:
    return [in_order(one) if pa.types.is_floating(one.type) else one for one in columns]


def lower_extremes(grouped: Columns, types: Types) -> Columns:
    return [
        _out_of_order(one, arrow) if pa.types.is_floating(arrow) else one
        for one, arrow in zip(grouped, types, strict=True)
    ]


def sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Arrow puts NaN last whatever the direction; as integers in Spark's order it has its place."""
    if pa.types.is_floating(column.type):
        return in_order(column)
    return column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column


def in_order(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floating-point numbers as integers in Spark's order; nulls stay."""
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    values = pc.fill_null(array, pa.scalar(0.0, array.type)).to_numpy(zero_copy_only=False)
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    bits: Bits = values.view(np.int64 if values.dtype == np.float64 else np.int32)
    return pa.chunked_array([pa.array(_flip_negatives(bits), mask=missing)])


def _out_of_order(column: pa.ChunkedArray, arrow: pa.DataType) -> pa.ChunkedArray:
    array = column.combine_chunks()
    missing = array.is_null().to_numpy(zero_copy_only=False)
    bits: Bits = pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False)
    values = _flip_negatives(bits).view(arrow.to_pandas_dtype())
    return pa.chunked_array([pa.array(values, mask=missing, type=arrow)])


def _flip_negatives(bits: Bits) -> Bits:
    """IEEE bits of negative numbers grow downwards; this turns them round, and is its own inverse.

    >>> _flip_negatives(np.array([-0.0, -1.0]).view(np.int64)).tolist()
    [-1, -4607182418800017409]
    """
    sign_bits = bits.dtype.itemsize * 8 - 1
    flipped: Bits = bits ^ ((bits >> sign_bits) & np.iinfo(bits.dtype).max)
    return flipped


LEAST, GREATEST = (
    MergeRule(name, name, name.upper(), any_type, lift_extremes, lower_extremes)
    for name in ("min", "max")
)
