"""``avg(x)`` and ``try_avg(x)``: a sum and a count, divided at the root.

For integers and floating point the quotient is a double, as Spark's is. (Spark also adds integers
as doubles, and rounds where their sum passes 2⁵³; here the sum is exact.) For decimal(p,s) Spark
divides exactly and rounds half up to decimal(p+4,s+4). SQL's own division can't be told that
scale: it gives what is left of 38 digits after the integer digits of the dividend, which for a sum
is too little. So the quotient is taken apart,

    S / n  =  (S − S mod n) / n  +  (S mod n) / n

where the first term is a whole number that ``avg`` needs few digits for, and the second is below
one, so that its division keeps ``FRACTION_DIGITS`` digits. Rounding these half up, and then to
s + 4, equals rounding once: the quotient lies at least 1 / (2 n 10^(s+4)) away from a tie it does
not hit, which is more than half a unit of the last digit kept, as long as n ≤ 10^COUNT_DIGITS and
s ≤ ``SCALE_MAX``. Wider decimals are refused with the CAST to write, never rounded differently.
"""

import msgspec

from headwater.algebra.aggregates.aggregate import Aggregate, Split, UnfitArguments, one_argument
from headwater.algebra.aggregates.count import COUNTED
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.aggregates.sum import SUM_EXTRA_DIGITS, summed, tried_argument
from headwater.algebra.remainders.meaning import ErrorOf, Meaning
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, decimal_digits, decimal_type

AVERAGE_EXTRA_DIGITS = 4
"""Spark's: the average of decimals has so many digits more, all after the point."""
COUNT_DIGITS = 10
FRACTION_DIGITS = DECIMAL_DIGITS_MAX - COUNT_DIGITS
SCALE_MAX = FRACTION_DIGITS - COUNT_DIGITS - AVERAGE_EXTRA_DIGITS
PRECISION_MAX = DECIMAL_DIGITS_MAX - AVERAGE_EXTRA_DIGITS - 2
"""Spark gives the whole term's addition one digit more than the term, which has one to spare."""


def split_average(types: tuple[str, ...]) -> Split:
    argument = one_argument("avg", types)
    partials = (summed("avg", argument), COUNTED)
    digits = decimal_digits(argument)
    if digits is None:
        finish = "CAST({0} AS DOUBLE) / NULLIF({1}, 0)"
        return Split("double", partials, finish, central="AVG({x}){filter}")
    precision, scale = digits
    if precision > PRECISION_MAX or scale > SCALE_MAX:
        raise UnfitArguments(
            f"avg takes decimals up to {PRECISION_MAX} digits, {SCALE_MAX} of them after the "
            f"point, got {argument}; write avg(CAST(… AS DECIMAL(28, 8)))"
        )
    result = (precision + AVERAGE_EXTRA_DIGITS, scale + AVERAGE_EXTRA_DIGITS)
    finish, tried = _finish_decimal(precision, scale), "TRY_AVG({x}){filter}"
    return Split(decimal_type(*result), partials, finish, tried, central=tried)


def split_try_average(types: tuple[str, ...]) -> Split:
    """As an average, NULL where a step of its finish leaves its type."""
    mean = split_average((tried_argument("try_avg", types),))
    finish = mean.finish.replace("CAST(", "TRY_CAST(")
    return msgspec.structs.replace(mean, finish=finish, tried="")


def _finish_decimal(precision: int, scale: int) -> str:
    sum_digits = min(DECIMAL_DIGITS_MAX, precision + SUM_EXTRA_DIGITS)
    total = f"CAST({{0}} AS DECIMAL({sum_digits}, {scale}))"
    count = f"CAST(NULLIF({{1}}, 0) AS DECIMAL({COUNT_DIGITS}, 0))"
    whole = f"CAST(({total} - {total} % {count}) / {count} AS DECIMAL({precision - scale + 1}, 0))"
    rest = f"CAST({total} % {count} AS DECIMAL({DECIMAL_DIGITS_MAX}, {FRACTION_DIGITS}))"
    places = scale + AVERAGE_EXTRA_DIGITS
    fraction = f"CAST({rest} / {count} AS DECIMAL({places + 1}, {places}))"
    return f"CAST({whole} + {fraction} AS DECIMAL({precision + AVERAGE_EXTRA_DIGITS}, {places}))"


ERROR = ErrorOf(Meaning.RECORDS, COUNTED.site)
AVERAGE = Aggregate(
    "avg",
    SUMS,
    split_average,
    ("sum", "count"),
    synonyms=("mean",),
    makes_one_of_many=True,
    error=ERROR,
)
TRY_AVERAGE = Aggregate(
    "try_avg", SUMS, split_try_average, ("sum", "count"), makes_one_of_many=True, error=ERROR
)
