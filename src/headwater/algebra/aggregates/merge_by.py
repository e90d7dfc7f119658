"""Merging what belongs to the least or the greatest: the order, and beside it the value.

A state is ``by, value``. Of several, that with the least or greatest ``by`` is kept; ties are
broken by the values, so that it does not show who was merged first. Nothing orders a null: where
``by`` is one, there was no record. A value may be null, and is then before all others.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_extremes import sortable
from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are
from headwater.algebra.aggregates.merge_rule import Columns, MergeRule, Types


def by_fault(types: Types) -> str | None:
    return "wanted values that are not nested" if any(map(pa.types.is_nested, types)) else None


def merge_by(direction: str, grouped: Columns, types: Types) -> Columns:
    lists = Lists(grouped)
    by, values = lists.cells(0), lists.cells(1)
    groups = lists.spread(np.arange(len(lists.sizes)))
    terms = {
        "group": (pa.array(groups), "ascending"),
        "is nothing": (_is_null(by), "ascending"),
        "by": (sortable(pa.chunked_array([one_zero(by)])), direction),
        "is there": (pc.is_valid(values).cast(pa.int8()), direction),
        "value": (sortable(pa.chunked_array([values])), direction),
    }
    ordered = pc.sort_indices(
        pa.table({name: column for name, (column, _) in terms.items()}),
        sort_keys=[(name, way) for name, (_, way) in terms.items()],
    )
    first = ordered.take(pa.array(lists.starts))
    kept, is_there = by.take(first), pc.is_valid(by.take(first))
    nothing = pa.scalar(None, values.type)
    found = (kept, pc.if_else(is_there, values.take(first), nothing))
    return [pa.chunked_array([one], type=arrow) for one, arrow in zip(found, types, strict=True)]


def _is_null(column: pa.Array) -> pa.Array:
    return pc.is_null(column).cast(pa.int8())


def one_zero(column: pa.Array) -> pa.Array:
    """Both zeros are one in Spark's order."""
    is_float = pa.types.is_floating(column.type)
    return pc.add(column, pa.scalar(0.0, column.type)) if is_float else column


def _rule(name: str, direction: str) -> MergeRule:
    def lower(grouped: Columns, types: Types) -> Columns:
        return merge_by(direction, grouped, types)

    return MergeRule(name, LISTED, "", by_fault, as_they_are, lower, width=2)


LEAST_BY, GREATEST_BY = _rule("min_by", "ascending"), _rule("max_by", "descending")
