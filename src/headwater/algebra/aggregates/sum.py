"""``sum(x)``: integers and decimals exactly, doubles to rounding.

Spark sums integers in a bigint and fails where it overflows. How often it would overflow on the
way depends on how the records lie, so partial sums of integers travel as decimal(38,0), which no
number of records fills, and only the finished sum must fit. Decimals travel with all 38 digits for
the same reason.
"""

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.rows.columns import MergeRule
from headwater.algebra.rows.types import (
    DECIMAL_DIGITS_MAX,
    FLOATS,
    INTEGERS,
    decimal_digits,
    decimal_type,
)

SUM_EXTRA_DIGITS = 10
"""Spark's: the sum of decimals has so many digits more than its argument."""


def split_sum(types: tuple[str, ...]) -> Split:
    argument = one_argument("sum", types)
    partial = summed("sum", argument)
    if argument in FLOATS:
        return Split("double", (partial,), "{0}")
    if argument in INTEGERS:
        return Split("bigint", (partial,), "CAST({0} AS BIGINT)")
    digits = decimal_digits(argument)
    assert digits is not None, "summed() admits only numbers"
    precision, scale = min(DECIMAL_DIGITS_MAX, digits[0] + SUM_EXTRA_DIGITS), digits[1]
    finish = f"CAST({{0}} AS DECIMAL({precision}, {scale}))"
    return Split(decimal_type(precision, scale), (partial,), finish)


def summed(name: str, argument: str) -> PartialColumn:
    """The partial sum of a number of this type, wide enough not to overflow on the way."""
    if argument in FLOATS:
        return PartialColumn("sum", "double", MergeRule.SUM, "SUM({x}){filter}")
    digits = (DECIMAL_DIGITS_MAX, 0) if argument in INTEGERS else decimal_digits(argument)
    if digits is None:
        raise UnfitArguments(
            f"{name} takes a number, got {argument}; "
            f"write {name}(CAST(… AS BIGINT)), … AS DOUBLE or … AS DECIMAL(p, s)"
        )
    wide = f"DECIMAL({DECIMAL_DIGITS_MAX}, {digits[1]})"
    site = f"CAST(SUM({{x}}){{filter}} AS {wide})"
    if argument == "bigint":
        # A sum of bigints can overflow within one pane; a sum of ints would need 2³² records.
        site = f"SUM(CAST({{x}} AS {wide})){{filter}}"
    return PartialColumn("sum", decimal_type(DECIMAL_DIGITS_MAX, digits[1]), MergeRule.SUM, site)


SUM = Aggregate("sum", split_sum)
