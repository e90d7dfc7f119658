"""``count(*)``, ``count(x, …)`` and ``count_if(condition)``: never null, and sums of each other."""

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.rows.columns import MergeRule

COUNTED = PartialColumn("count", "bigint", MergeRule.SUM, "COUNT({x}){filter}")


def split_count(types: tuple[str, ...]) -> Split:
    """Rows in which no argument is null; all rows for a star, which comes as no arguments."""
    return Split("bigint", (COUNTED,), "{0}")


def split_count_if(types: tuple[str, ...]) -> Split:
    if one_argument("count_if", types) != "boolean":
        raise UnfitArguments(f"count_if takes a condition (boolean), got {types[0]}")
    counted = PartialColumn("count", "bigint", MergeRule.SUM, "COUNT_IF({x}){filter}")
    return Split("bigint", (counted,), "{0}")


COUNT = Aggregate("count", split_count, takes_star=True)
COUNT_IF = Aggregate("count_if", split_count_if)
