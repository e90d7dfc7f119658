"""``min(x)`` and ``max(x)`` of anything that Spark can order: NaN above every number, strings by
their UTF-8 bytes, false before true. So ``bool_and(x)`` and ``bool_or(x)`` are these of truths.

``any_value(x)`` is the least: Spark gives what it reads first, which depends on how records lie."""

from functools import partial

import msgspec

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    condition,
    one_argument,
)
from headwater.algebra.aggregates.merge_extremes import GREATEST, LEAST
from headwater.algebra.remainders.meaning import ErrorOf, Meaning
from headwater.algebra.rows.nested_types import is_nested
from headwater.algebra.rows.types import WINDOW_TYPE


def split_extreme(name: str, types: tuple[str, ...]) -> Split:
    argument = one_argument(name, types)
    if argument == WINDOW_TYPE:
        raise UnfitArguments(f"{name} takes a column or expression of the records, not the window")
    if is_nested(argument):
        raise UnfitArguments(
            f"{name} takes a value that is not nested, got {argument}; take one out of it, as in "
            f"a.b, tags[0], m['key'] or array_max(tags); for what goes with the {name}imum write "
            f"{name}_by(x, y)"
        )
    return Split(argument, (PartialColumn(name, argument, f"{name.upper()}({{x}}){{filter}}"),))


def split_any(types: tuple[str, ...]) -> Split:
    least = split_extreme("min", (one_argument("any_value", types),))
    return msgspec.structs.replace(least, central=least.partials[0].site)


def split_truth(name: str, types: tuple[str, ...]) -> Split:
    return split_extreme(name, (condition(name, types),))


MIN = Aggregate("min", LEAST, partial(split_extreme, "min"), ("min",))
ANY_VALUE = Aggregate("any_value", LEAST, split_any, ("min",), settled="MIN({x})")
MAX = Aggregate(
    "max", GREATEST, partial(split_extreme, "max"), ("max",), error=ErrorOf(Meaning.LARGEST)
)
BOOL_AND = Aggregate(
    "bool_and", LEAST, partial(split_truth, "bool_and"), ("bool_and",), synonyms=("every",)
)
BOOL_OR = Aggregate(
    "bool_or", GREATEST, partial(split_truth, "bool_or"), ("bool_or",), synonyms=("any", "some")
)
