"""``sum(x)`` and ``try_sum(x)``: integers and decimals exactly, doubles to rounding.

Spark sums integers in a bigint and fails where it overflows. How often it would overflow on the
way depends on how the records lie, so partial sums of integers travel as decimal(38,0), which no
number of records fills, and only the finished sum must fit. Decimals travel with all 38 digits for
the same reason. ``try_sum`` is NULL where the finished sum does not fit; so it takes no decimals of
which the sum could leave the 38 digits on the way.
"""

import msgspec

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.remainders.meaning import ErrorOf, Meaning
from headwater.algebra.rows.types import (
    DECIMAL_DIGITS_MAX,
    FLOATS,
    INTEGERS,
    decimal_digits,
    decimal_type,
)

SUM_EXTRA_DIGITS = 10
"""Spark's: the sum of decimals has so many digits more than its argument."""
TRIED_DIGITS_MAX = DECIMAL_DIGITS_MAX - SUM_EXTRA_DIGITS


def split_sum(types: tuple[str, ...]) -> Split:
    argument = one_argument("sum", types)
    partials = (summed("sum", argument),)
    if argument in FLOATS:
        return Split("double", partials)
    precision, scale = decimal_digits(argument) or (0, 0)
    precision = min(DECIMAL_DIGITS_MAX, precision + SUM_EXTRA_DIGITS)
    type_name = "bigint" if argument in INTEGERS else decimal_type(precision, scale)
    cast = "BIGINT" if argument in INTEGERS else f"DECIMAL({precision}, {scale})"
    tried = f"TRY_SUM(CAST({{x}} AS DECIMAL({DECIMAL_DIGITS_MAX}, {scale}))){{filter}}"
    central = f"CAST({tried} AS {type_name.upper()})"
    return Split(type_name, partials, f"CAST({{0}} AS {cast})", tried, central)


def split_try_sum(types: tuple[str, ...]) -> Split:
    """As a sum, whose last CAST is tried. Doubles never leave their type."""
    total = split_sum((tried_argument("try_sum", types),))
    if not total.central:
        return total
    tried = {"finish": f"TRY_{total.finish}", "central": f"TRY_{total.central}"}
    return msgspec.structs.replace(total, tried="", **tried)


def tried_argument(name: str, types: tuple[str, ...]) -> str:
    """A number of which no sum leaves its partial on the way."""
    argument = one_argument(name, types)
    precision, scale = decimal_digits(argument) or (0, 0)
    if precision > TRIED_DIGITS_MAX:
        raise UnfitArguments(
            f"{name} takes decimals up to {TRIED_DIGITS_MAX} digits, got {argument}; write "
            f"{name}(CAST(… AS DECIMAL({TRIED_DIGITS_MAX}, {min(scale, TRIED_DIGITS_MAX)})))"
        )
    return argument


def summed(name: str, argument: str) -> PartialColumn:
    """The partial sum of a number of this type, wide enough not to overflow on the way."""
    if argument in FLOATS:
        return PartialColumn("sum", "double", "SUM({x}){filter}")
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
    return PartialColumn("sum", decimal_type(DECIMAL_DIGITS_MAX, digits[1]), site)


SUM = Aggregate(
    "sum",
    SUMS,
    split_sum,
    ("sum",),
    makes_one_of_many=True,
    scales=True,
    error=ErrorOf(Meaning.ADDED),
)
TRY_SUM = Aggregate("try_sum", SUMS, split_try_sum, ("sum",), makes_one_of_many=True, scales=True)
