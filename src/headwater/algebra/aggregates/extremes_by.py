"""``min_by(x, y)`` and ``max_by(x, y)``: the x of the record with the least or the greatest y.

Spark gives any of those whose y are equal. Here ties are broken by the values: the least x of the
least y, the greatest x of the greatest, null before all. As in Spark a record without y is none.

A site orders by both, in a struct that no one else makes; the state is y and x of the record that
comes first. With a third argument they give as many values, and their state grows
(``growing.several_by``).
"""

from functools import partial

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.growing.several_by import split_several_by
from headwater.algebra.aggregates.merge_by import GREATEST_BY, LEAST_BY
from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.rows.nested_types import is_nested
from headwater.algebra.rows.types import WINDOW_TYPE

BY, VALUE = "__by", "__value"
ORDER = f"CASE WHEN ISNOTNULL({{1}}) THEN NAMED_STRUCT('{BY}', {{1}}, '{VALUE}', {{0}}) END"


def split_by(name: str, types: tuple[str, ...]) -> Split:
    if len(types) == 3:
        several = f"{name.upper()}({{0}}, {ORDER}{{rest}}){{filter}}"
        return split_several_by(name, types, central=several)
    if len(types) != 2:
        raise UnfitArguments(f"{name} takes a value and what it is ordered by, got {len(types)}")
    value, by = types
    if by.startswith(f"struct<{BY}:") and f",{VALUE}:" in by:  # a site's own
        return Split(value, (PartialColumn(name, value, f"{name.upper()}({{x}}){{filter}}"),))
    for one in types:
        if one == WINDOW_TYPE:
            raise UnfitArguments(f"{name} takes columns and expressions of the records, no window")
        if is_nested(one):
            raise UnfitArguments(
                f"{name} takes values that are not nested, got {one}; take one out of it, as in "
                "a.b, tags[0] or m['key']"
            )
    first = f"{name.upper()}({{1}}, {ORDER}){{filter}}"
    second = f"{name.upper()}({{0}}, {ORDER}){{filter}}"
    state = (PartialColumn("by", by, first), PartialColumn(name, value, second))
    return Split(value, state, "{1}", central=second)


def extreme_by(name: str, rule: MergeRule) -> Aggregate:
    settled = f"{name.upper()}({{0}}, {ORDER}{{rest}}){{filter}}"
    split = partial(split_by, name)
    return Aggregate(name, rule, split, (name,), literals_from=2, settled=settled)


EXTREMES_BY = (extreme_by("min_by", LEAST_BY), extreme_by("max_by", GREATEST_BY))
