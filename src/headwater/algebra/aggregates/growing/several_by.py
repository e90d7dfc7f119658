"""``max_by(x, y, k)`` and ``min_by(x, y, k)``: the x of the k records with the greatest or the
least y, as an array in that order.

Each pair of y and x is a row of hidden keys, with how often it occurred. As of one
(``extremes_by``) a record without y is none, and ties are broken by the values. NULL where there is
no record, as Spark 4.3 has it.
"""

from headwater.algebra.aggregates.aggregate import (
    FoldedColumn,
    PartialColumn,
    Split,
    UnfitArguments,
    hidden_keys,
)
from headwater.algebra.aggregates.growing.fold_by import SEVERAL_MAX
from headwater.algebra.aggregates.growing.lists import listable
from headwater.algebra.aggregates.merge_sums import SUMS

COUNTED = PartialColumn("count", "bigint", "COUNT({1}){filter}")
VALUE = "CASE WHEN ISNOTNULL({1}) THEN {0} END"
"""So records without y are one row, whatever their x."""


def split_several_by(name: str, types: tuple[str, ...], *, central: str) -> Split:
    """Its folds have the aggregate's name."""
    value, by, several = types
    if not several.isdecimal() or len(several) > 6 or not 1 <= int(several) <= SEVERAL_MAX:
        raise UnfitArguments(
            f"{name} takes as its third argument how many values it gives, a literal from 1 to "
            f"{SEVERAL_MAX}, got {several[:60]}; write {name}(x, y, 10)"
        )
    by_key, value_key = hidden_keys(name, (by, listable(name, value)))
    hidden = (PartialColumn(by_key.stem, by, "{1}"), PartialColumn(value_key.stem, value, VALUE))
    made = f"array<{value}>"
    fold = FoldedColumn(name, made, name, (float(several),))
    return Split(made, (COUNTED,), central=central, merge=SUMS, hidden=hidden, folds=(fold,))
