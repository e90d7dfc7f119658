"""``count(*)``, ``count(x, …)`` and ``count_if(condition)``: never null, and sums of each other."""

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, condition
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.remainders.meaning import ErrorOf, Meaning

COUNTED = PartialColumn("count", "bigint", "COUNT({x}){filter}")


def split_count(types: tuple[str, ...]) -> Split:
    """Rows in which no argument is null; all rows for a star, which comes as no arguments."""
    return Split("bigint", (COUNTED,))


def split_count_if(types: tuple[str, ...]) -> Split:
    condition("count_if", types)
    counted = PartialColumn("count", "bigint", "COUNT_IF({x}){filter}")
    return Split("bigint", (counted,))


ADDED = ErrorOf(Meaning.ADDED)
COUNT = Aggregate(
    "count",
    SUMS,
    split_count,
    ("count",),
    takes_star=True,
    makes_one_of_many=True,
    scales=True,
    is_count=True,
    error=ADDED,
)
COUNT_IF = Aggregate(
    "count_if",
    SUMS,
    split_count_if,
    ("count_if",),
    makes_one_of_many=True,
    scales=True,
    is_count=True,
    error=ADDED,
)
