"""``bool_and(x)`` and ``bool_or(x)``: the least and the greatest of truth values."""

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.rows.columns import MergeRule


def split_bool_and(types: tuple[str, ...]) -> Split:
    return _split_truth("bool_and", types, MergeRule.MIN)


def split_bool_or(types: tuple[str, ...]) -> Split:
    return _split_truth("bool_or", types, MergeRule.MAX)


def _split_truth(name: str, types: tuple[str, ...], merge: MergeRule) -> Split:
    if one_argument(name, types) != "boolean":
        raise UnfitArguments(f"{name} takes a condition (boolean), got {types[0]}")
    partial = PartialColumn(name, "boolean", merge, f"{name.upper()}({{x}}){{filter}}")
    return Split("boolean", (partial,), "{0}")


BOOL_AND = Aggregate("bool_and", split_bool_and, synonyms=("every",))
BOOL_OR = Aggregate("bool_or", split_bool_or, synonyms=("any", "some"))
