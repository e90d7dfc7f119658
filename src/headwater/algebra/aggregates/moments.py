"""Variance, standard deviation, skewness and kurtosis: count, mean and centred moments.

Spark computes the moments of a site's records, the rules of ``merge_moments`` put them together,
and what is asked for is made of them at the root.
"""

from functools import partial

from headwater.algebra.aggregates.aggregate import (
    Aggregate,
    PartialColumn,
    Split,
    UnfitArguments,
    one_argument,
)
from headwater.algebra.aggregates.count import COUNTED
from headwater.algebra.aggregates.merge_moments import KURTOSIS, SKEWNESS, VARIANCE
from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.rows.types import FLOATS, INTEGERS, decimal_digits

STATE = (
    COUNTED,
    PartialColumn("mean", "double", "AVG(CAST({x} AS DOUBLE)){filter}"),
    PartialColumn("variance", "double", "VAR_POP(CAST({x} AS DOUBLE)){filter}"),
    PartialColumn("skewness", "double", "SKEWNESS(CAST({x} AS DOUBLE)){filter}"),
    PartialColumn("kurtosis", "double", "KURTOSIS(CAST({x} AS DOUBLE)){filter}"),
)
FUNCTIONS = ("count", "avg", "var_pop", "skewness", "kurtosis")
SAMPLE = "{2} * {0} / NULLIF({0} - 1, 0)"
"""The variance of a population of which the records are some."""


def check_number(name: str, argument: str) -> None:
    if argument not in (*INTEGERS, *FLOATS) and decimal_digits(argument) is None:
        raise UnfitArguments(
            f"{name} takes a number, got {argument}; write {name}(CAST(… AS DOUBLE))"
        )


def split_moment(name: str, width: int, finish: str, types: tuple[str, ...]) -> Split:
    check_number(name, one_argument(name, types))
    own = f"{name.upper()}({{x}}){{filter}}"
    return Split("double", STATE[:width], finish, central=own)


def moment(name: str, rule: MergeRule, finish: str, *synonyms: str) -> Aggregate:
    return Aggregate(
        name,
        rule,
        partial(split_moment, name, rule.width, finish),
        FUNCTIONS[: rule.width],
        synonyms=synonyms,
        makes_one_of_many=True,
    )


MOMENTS = (
    moment("var_pop", VARIANCE, "{2}"),
    moment("var_samp", VARIANCE, SAMPLE, "variance"),
    moment("stddev_pop", VARIANCE, "SQRT({2})"),
    moment("stddev_samp", VARIANCE, f"SQRT({SAMPLE})", "stddev", "std"),
    moment("skewness", SKEWNESS, "{3}"),
    moment("kurtosis", KURTOSIS, "{4}"),
)
