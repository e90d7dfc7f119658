"""``count(DISTINCT x, …)``, ``sum(DISTINCT x)``, ``avg(DISTINCT x)``: each value is a hidden key.

They share their rows, with each other and with whatever else is over the same values.
"""

import re

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    FoldedColumn,
    Split,
    UnfitArguments,
    hidden_keys,
    one_argument,
)
from headwater.algebra.aggregates.average import split_average
from headwater.algebra.aggregates.growing.fold_distinct import COUNTED_ROWS, SUMMED_KEYS
from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.aggregates.sum import split_sum, summed
from headwater.algebra.remainders.meaning import ErrorOf, Meaning

CALLS = re.compile(r"\b((?:TRY_)?(?:SUM|AVG))\(")
COUNTED = FoldedColumn("count", "bigint", COUNTED_ROWS.name)


def split_count_distinct(types: tuple[str, ...]) -> Split:
    """Combinations of values in which none is null."""
    if not types:
        raise UnfitArguments("count(DISTINCT *) does not exist; name the columns")
    return Split(
        "bigint",
        (),
        central="COUNT(DISTINCT {x}){filter}",
        hidden=hidden_keys("count(DISTINCT …)", types),
        folds=(COUNTED,),
    )


def split_sum_distinct(types: tuple[str, ...]) -> Split:
    argument = one_argument("sum(DISTINCT …)", types)
    plain = split_sum(types)
    return Split(
        plain.type,
        (),
        plain.finish,
        _of_distinct(plain.tried),
        _of_distinct(plain.central or "SUM({x}){filter}"),
        hidden=hidden_keys("sum(DISTINCT …)", types),
        folds=(_summed(argument),),
    )


def split_average_distinct(types: tuple[str, ...]) -> Split:
    argument = one_argument("avg(DISTINCT …)", types)
    plain = split_average(types)
    return Split(
        plain.type,
        (),
        plain.finish,
        _of_distinct(plain.tried),
        _of_distinct(plain.central),
        hidden=hidden_keys("avg(DISTINCT …)", types),
        folds=(_summed(argument), COUNTED),
    )


def _summed(argument: str) -> FoldedColumn:
    return FoldedColumn("sum", summed("sum(DISTINCT …)", argument).type, SUMMED_KEYS.name)


def _of_distinct(sql: str) -> str:
    """The same of each value once."""
    return CALLS.sub(r"\1(DISTINCT ", sql)


DISTINCTS = (
    Aggregate(
        "count",
        SUMS,
        split_count_distinct,
        (),
        is_distinct=True,
        is_count=True,
        error=ErrorOf(Meaning.MEMBERS),
    ),
    Aggregate("sum", SUMS, split_sum_distinct, (), is_distinct=True),
    Aggregate("avg", SUMS, split_average_distinct, (), synonyms=("mean",), is_distinct=True),
)
