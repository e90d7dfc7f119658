"""``approx_histogram(x[, error])``: the logarithmic histogram of numbers as a value.

An array of ``struct<value, count>`` in the order of values: so many numbers are within the error of
the value, 1% of it unless written. Counts are exact. It is no function of Spark, whose
``histogram_numeric`` places its bars by the order of reading. The rows are those of
``percentile_approx`` of the same numbers and error, and are shared with it.
"""

from __future__ import annotations

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    FoldedColumn,
    PartialColumn,
    Split,
    UnfitArguments,
)
from headwater.algebra.aggregates.growing.fold_lists import LIST_VALUES_MAX
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.aggregates.sketches.fold_histogram import HISTOGRAM
from headwater.algebra.aggregates.sketches.histogram import (
    ERROR_MAX,
    ERROR_MIN,
    INFINITY,
    MIDDLE,
    NOT_A_NUMBER,
    ROUNDING,
    slot_sql,
    slot_sql_of,
)
from headwater.algebra.aggregates.sketches.percentile import COUNTED, ERROR, read_error
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.types import FLOATS, INTEGERS, decimal_digits

NAME = "approx_histogram"
TYPE = "array<struct<value:double,count:bigint>>"
_ERROR = f"COALESCE(CAST(GET(ARRAY({{second}}), 0) AS DOUBLE), {ERROR}D) * {1 - ROUNDING}D"
_WIDTH = f"LN((1 + {_ERROR}) / (1 - {_ERROR}))"
_SIZE = f"EXP((ABS(s.item) - {MIDDLE}) * {_WIDTH} + LN(2 / (EXP({_WIDTH}) + 1)))"
_VALUE = (
    f"CASE WHEN s.item = {NOT_A_NUMBER} THEN CAST('NaN' AS DOUBLE) WHEN s.item = 0 THEN 0D "
    f"WHEN ABS(s.item) = {INFINITY} THEN SIGN(s.item) * CAST('Infinity' AS DOUBLE) "
    f"ELSE SIGN(s.item) * LEAST({_SIZE}, CAST('1.7976931348623157E308' AS DOUBLE)) END"
)
_COUNTED = (
    f"FILTER(APPROX_TOP_K({slot_sql_of(_WIDTH)}, 1000000, 1000000){{filter}}, "
    "s -> ISNOTNULL(s.item))"
)
TRUTH = (
    f"TRANSFORM(ARRAY_SORT({_COUNTED}, (a, b) -> CAST(SIGN(a.item - b.item) AS INT)), "
    f"s -> NAMED_STRUCT('value', {_VALUE}, 'count', s.count))"
)
"""The same by one Spark: with room for a million slots it loses none of them."""


def split_histogram(types: tuple[str, ...]) -> Split:
    argument = types[0] if types else "nothing"
    is_number = argument in (*INTEGERS, *FLOATS) or decimal_digits(argument) is not None
    if not is_number or len(types) > 2:
        raise UnfitArguments(
            f"{NAME} takes numbers, and an error relative to them, got {', '.join(types)[:100]}; "
            f"write {NAME}(CAST(… AS DOUBLE)), or {NAME}(x, 0.05)"
        )
    error = read_error(types[1:])
    if error is None:
        raise UnfitArguments(
            f"{NAME} takes an error relative to the value, a literal from {ERROR_MIN} to "
            f"{ERROR_MAX}, got {types[1][:60]}; write {NAME}(x, 0.05)"
        )
    return Split(
        TYPE,
        (COUNTED,),
        tried=f"NULLIF(SIZE({TRUTH}) > {LIST_VALUES_MAX}, TRUE)",
        central=TRUTH,
        bound=Bound(BoundKind.VALUE, error),
        hidden=(PartialColumn("slot", "int", slot_sql(error)),),
        folds=(FoldedColumn("histogram", TYPE, HISTOGRAM.name, (error,)),),
    )


HISTOGRAMS = (Aggregate(NAME, SUMS, split_histogram, ("count",), literals_from=1, settled=TRUTH),)
