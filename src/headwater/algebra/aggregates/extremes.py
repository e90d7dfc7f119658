"""``min(x)`` and ``max(x)`` of anything that Spark can order: NaN above every number, strings by
their UTF-8 bytes, false before true."""

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.rows.columns import MergeRule
from headwater.algebra.rows.types import WINDOW_TYPE


def split_min(types: tuple[str, ...]) -> Split:
    return _split_extreme("min", types, MergeRule.MIN)


def split_max(types: tuple[str, ...]) -> Split:
    return _split_extreme("max", types, MergeRule.MAX)


def _split_extreme(name: str, types: tuple[str, ...], merge: MergeRule) -> Split:
    argument = one_argument(name, types)
    if argument == WINDOW_TYPE:
        raise UnfitArguments(f"{name} takes a column or expression of the records, not the window")
    partial = PartialColumn(name, argument, merge, f"{name.upper()}({{x}}){{filter}}")
    return Split(argument, (partial,), "{0}")


MIN = Aggregate("min", split_min)
MAX = Aggregate("max", split_max)
