"""``approx_top_k(x[, k])``: the k most frequent values, each with how often it occurred.

Spark keeps some of the values in a sketch. Here each is a row of hidden keys with its count, so the
counts are those of all records, however these were divided, and can be taken back. As in Spark NULL
is a value like others; of values that are equally frequent the least come first.
"""

from __future__ import annotations

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    FoldedColumn,
    PartialColumn,
    Split,
    UnfitArguments,
    hidden_keys,
)
from headwater.algebra.aggregates.growing.fold_top_k import ITEMS_MAX, TOP_K
from headwater.algebra.aggregates.growing.lists import listable
from headwater.algebra.aggregates.merge_sums import SUMS

NAME = "approx_top_k"
K = 5
"""Spark's own."""
COUNTED = PartialColumn("count", "bigint", "COUNT(*)")
"""Also with FILTER: records that it leaves out are in a row of no value."""
THERE = PartialColumn("is_there", "boolean", "ISNOTNULL({first})")
"""Null is a value, and a record of which the first hidden key is null has none."""
FIRST = (
    "CASE WHEN a.count > b.count THEN -1 WHEN a.count < b.count THEN 1 "
    "WHEN ISNULL(a.item) THEN -1 WHEN ISNULL(b.item) THEN 1 "
    "WHEN a.item < b.item THEN -1 WHEN a.item > b.item THEN 1 ELSE 0 END"
)
TRUTH = (
    f"SLICE(ARRAY_SORT(APPROX_TOP_K({{first}}, 1000000, 1000000){{filter}}, (a, b) -> {FIRST}), 1, "
    f"COALESCE(GET(ARRAY({{second}}), 0), {K}))"
)
"""With room for a million values Spark loses none of them."""


def split_top_k(types: tuple[str, ...]) -> Split:
    if not 1 <= len(types) <= 2 or types[0] == "binary":
        raise UnfitArguments(
            f"{NAME} takes numbers, texts, times and truths, and how many are wanted; it counts "
            f"all values, so it takes no size of a sketch; write {NAME}(x, 10), or "
            f"{NAME}(hex(x), 10)"
        )
    text = types[1] if len(types) > 1 else str(K)
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= ITEMS_MAX:
        raise UnfitArguments(
            f"{NAME} takes how many values are wanted, a literal from 1 to {ITEMS_MAX}, got "
            f"{text[:60]}; write {NAME}(x, 10)"
        )
    (value,) = hidden_keys(NAME, (listable(NAME, types[0]),))
    made = f"array<struct<item:{types[0]},count:bigint>>"
    fold = FoldedColumn("top", made, TOP_K.name, (float(text),))
    return Split(made, (COUNTED,), central=TRUTH, hidden=(THERE, value), folds=(fold,))


TOP_KS = (Aggregate(NAME, SUMS, split_top_k, ("count",), literals_from=1, settled=TRUTH),)
