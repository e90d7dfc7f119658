"""``bit_and(x)``, ``bit_or(x)`` and ``bit_xor(x)`` of integers."""

from functools import partial

import numpy as np
import pyarrow as pa

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are, column_of
from headwater.algebra.aggregates.merge_rule import Columns, MergeRule, Types
from headwater.algebra.rows.types import INTEGERS

OPERATIONS = {
    "bit_and": (np.bitwise_and, -1),
    "bit_or": (np.bitwise_or, 0),
    "bit_xor": (np.bitwise_xor, 0),
}
"""With what changes nothing."""


def integers_fault(types: Types) -> str | None:
    return None if all(map(pa.types.is_signed_integer, types)) else "wanted an integer"


def merge_bits(name: str, grouped: Columns, types: Types) -> Columns:
    operation, neutral = OPERATIONS[name]
    lists = Lists(grouped)
    there = lists.are_there(0)
    bits = np.where(there, lists.numbers(0), lists.numbers(0).dtype.type(neutral))
    merged = operation.reduceat(bits, lists.starts) if len(bits) else bits
    return [column_of(merged, lists.total(there.astype(np.int64)) == 0, types[0])]


def split_bits(name: str, types: tuple[str, ...]) -> Split:
    argument = one_argument(name, types)
    if argument not in INTEGERS:
        raise UnfitArguments(f"{name} takes an integer, got {argument}; write CAST(… AS BIGINT)")
    return Split(argument, (PartialColumn(name, argument, f"{name.upper()}({{x}}){{filter}}"),))


BITS = tuple(
    Aggregate(
        name,
        MergeRule(name, LISTED, "", integers_fault, as_they_are, partial(merge_bits, name)),
        partial(split_bits, name),
        (name,),
    )
    for name in OPERATIONS
)
