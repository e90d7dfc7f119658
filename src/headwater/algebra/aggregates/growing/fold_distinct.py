"""Folds of distinct values: how many they are, and their sum."""

import pyarrow as pa

from headwater.algebra.aggregates.growing.fold_rule import FoldRule, Values, are_there
from headwater.algebra.aggregates.merge_rule import Columns, Types
from headwater.algebra.aggregates.merge_sums import SUMS, sum_fault
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX


def count_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    return None if types and pa.types.is_int64(made) else "wanted columns to count (bigint)"


def one_of_each(columns: Columns, made: pa.DataType) -> pa.ChunkedArray:
    return are_there(columns).cast(made)


def summed_fault(types: Types, made: pa.DataType, values: Values) -> str | None:
    if len(types) != 1:
        return "wanted one column to sum"
    is_number = pa.types.is_integer(types[0]) or pa.types.is_floating(types[0])
    if not is_number and not pa.types.is_decimal128(types[0]):
        return "wanted numbers to sum"
    if pa.types.is_floating(types[0]) != pa.types.is_float64(made):
        return "wanted a sum of doubles as a double"
    digits = (made.precision, made.scale) if pa.types.is_decimal128(made) else None
    scale = types[0].scale if pa.types.is_decimal128(types[0]) else 0
    if digits is not None and digits != (DECIMAL_DIGITS_MAX, scale):
        return f"wanted a sum of {DECIMAL_DIGITS_MAX} digits"
    return sum_fault([made])


def value_of_each(columns: Columns, made: pa.DataType) -> pa.ChunkedArray:
    (column,) = columns
    if pa.types.is_integer(column.type):
        column = column.cast(pa.int64()).cast(pa.decimal128(19, 0))
    return column.cast(made)


COUNTED_ROWS = FoldRule("count", count_fault, "write approx_count_distinct(x)", SUMS, one_of_each)
SUMMED_KEYS = FoldRule(
    "sum", summed_fault, "round the values, so that there are fewer", SUMS, value_of_each
)
