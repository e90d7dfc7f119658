"""``percentile_approx(x, share[, near])``: percentiles near the value, or near in ranks.

Of numbers by a logarithmic histogram, within 1% of the value, or within the error that is written
as a share: ``percentile_approx(ms, 0.99, 0.05)``. Its slots are hidden keys with their counts,
shared by all percentiles of the same numbers. Where a whole number is written, that is an accuracy
in ranks, as in Spark, and of times there is no other: those are ``ranks``.
"""

from __future__ import annotations

import re

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    FoldedColumn,
    PartialColumn,
    Split,
    UnfitArguments,
)
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.aggregates.sketches.fold_percentile import PERCENTILE
from headwater.algebra.aggregates.sketches.histogram import ERROR_MAX, ERROR_MIN, slot_sql
from headwater.algebra.aggregates.sketches.ranks import (
    NAME,
    TRUTH,
    read_shares,
    split_ranks,
    values_at,
)
from headwater.algebra.remainders.meaning import ErrorOf, Meaning
from headwater.algebra.rows.bounded import Bound, BoundKind
from headwater.algebra.rows.types import FLOATS, INTEGERS, decimal_digits

ERROR = 0.01
COUNTED = PartialColumn("count", "bigint", "COUNT(*)")
"""Also with FILTER: records that it leaves out have no slot."""


def split_percentile(types: tuple[str, ...]) -> Split:
    argument = types[0] if types else "nothing"
    is_number = argument in (*INTEGERS, *FLOATS) or decimal_digits(argument) is not None
    is_in_ranks = len(types) == 3 and types[2].isdecimal()
    if not is_number or is_in_ranks or not 2 <= len(types) <= 3:
        return split_ranks(types)
    shares, error = read_shares(types[1]), read_error(types[2:])
    if error is None:
        raise UnfitArguments(
            f"{NAME} takes an error relative to the value, a literal from {ERROR_MIN} to "
            f"{ERROR_MAX}, or an accuracy in ranks, a whole number, got {types[2][:60]}; write "
            f"{NAME}(x, 0.5) for one within {ERROR:.0%} of the value"
        )
    is_list = types[1].upper().startswith("ARRAY(")
    made = f"array<{argument}>" if is_list else argument
    values = (error, *map(float, shares))
    return Split(
        made,
        (COUNTED,),
        central=values_at(shares, is_list=is_list),
        bound=Bound(BoundKind.VALUE, error),
        hidden=(PartialColumn("slot", "int", slot_sql(error)),),
        folds=(FoldedColumn("percentile", made, PERCENTILE.name, values),),
    )


def read_error(texts: tuple[str, ...]) -> float | None:
    """What is written, or what holds where nothing is; None: it is no error that there may be."""
    if not texts:
        return ERROR
    is_share = re.fullmatch(r"0?\.\d{1,6}", texts[0]) is not None
    return float(texts[0]) if is_share and ERROR_MIN <= float(texts[0]) <= ERROR_MAX else None


PERCENTILES = (
    Aggregate(
        NAME,
        SUMS,
        split_percentile,
        ("count",),
        ("approx_percentile",),
        literals_from=1,
        settled=TRUTH,
        error=ErrorOf(Meaning.RECORDS, "COUNT({first}){filter}"),
    ),
)
