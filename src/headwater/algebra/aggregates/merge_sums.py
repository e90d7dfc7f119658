"""Merging by sum: integers and decimals exactly, doubles to rounding.

Arrow's sum of bigints or decimals that leaves its type wraps in silence, and changes the type of
decimals. A bound on the result shows in most cases that it can't; otherwise the sum is taken twice
as wide and checked. The declared type is kept.
"""

from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types
from headwater.algebra.rows.types import BIGINT_MAX

WIDE_DIGITS = 76
"""Decimals of Arrow that no sum of 38-digit decimals in memory can overflow."""
_EXACT = Context(prec=WIDE_DIGITS)


def sum_fault(types: Types) -> str | None:
    is_summable = (pa.types.is_int64, pa.types.is_float64, pa.types.is_decimal128)
    if all(any(is_one(arrow) for is_one in is_summable) for arrow in types):
        return None
    return "wanted bigint, double or decimal to sum"


def lift_sums(columns: Columns) -> Columns:
    return [column if _surely_fits(column) else _widened(column) for column in columns]


def lower_sums(grouped: Columns, types: Types) -> Columns:
    return [column.cast(arrow) for column, arrow in zip(grouped, types, strict=True)]


def sums_fit(grouped: Columns, types: Types) -> Bits | None:
    ((column, arrow),) = zip(grouped, types, strict=True)
    if not pa.types.is_decimal256(column.type):
        return None
    most = _unscaled_max(arrow)
    least = -most - 1 if pa.types.is_int64(arrow) else -most
    low, high = (
        pa.scalar(Decimal(bound).scaleb(-column.type.scale, _EXACT), column.type)
        for bound in (least, most)
    )
    within = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    fits: Bits = pc.fill_null(within, True).to_numpy()
    return None if fits.all() else fits


def remove_sums(columns: Columns, types: Types) -> Columns | None:
    """Whole numbers and decimals; what was rounded on the way can't be taken back."""
    if any(map(pa.types.is_floating, types)):
        return None
    return [
        pc.negate_checked(column).cast(arrow) for column, arrow in zip(columns, types, strict=True)
    ]


def _surely_fits(column: pa.ChunkedArray) -> bool:
    """True when the largest value times the number of values is within the type."""
    if pa.types.is_floating(column.type):
        return True
    extremes = pc.min_max(column).as_py()
    if extremes["min"] is None:
        return True
    largest = max(abs(_unscaled(extremes[side], column.type)) for side in ("min", "max"))
    return largest * len(column) <= _unscaled_max(column.type)


def _unscaled(value: int | Decimal, arrow: pa.DataType) -> int:
    return int(value.scaleb(arrow.scale, _EXACT)) if isinstance(value, Decimal) else value


def _unscaled_max(arrow: pa.DataType) -> int:
    return int(10**arrow.precision - 1) if pa.types.is_decimal(arrow) else BIGINT_MAX


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    scale = column.type.scale if pa.types.is_decimal(column.type) else 0
    if pa.types.is_int64(column.type):
        column = column.cast(pa.decimal128(19, 0))
    return column.cast(pa.decimal256(WIDE_DIGITS, scale))


SUMS = MergeRule(
    "sum", "sum", "SUM", sum_fault, lift_sums, lower_sums, sums_fit, remove=remove_sums
)
