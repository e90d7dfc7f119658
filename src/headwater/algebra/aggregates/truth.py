"""``bool_and(x)`` and ``bool_or(x)``: the least and the greatest of truth values."""

from functools import partial

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.aggregates.merge_extremes import GREATEST, LEAST


def split_truth(name: str, types: tuple[str, ...]) -> Split:
    if one_argument(name, types) != "boolean":
        raise UnfitArguments(f"{name} takes a condition (boolean), got {types[0]}")
    return Split("boolean", (PartialColumn(name, "boolean", f"{name.upper()}({{x}}){{filter}}"),))


BOOL_AND = Aggregate(
    "bool_and", LEAST, partial(split_truth, "bool_and"), ("bool_and",), synonyms=("every",)
)
BOOL_OR = Aggregate(
    "bool_or", GREATEST, partial(split_truth, "bool_or"), ("bool_or",), synonyms=("any", "some")
)
