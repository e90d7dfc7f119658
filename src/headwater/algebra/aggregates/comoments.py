"""Covariance, correlation and linear regression: means and centred products of two numbers.

As in Spark, only records count in which both are there; of ``regr_…(y, x)``, y comes first.
"""

from functools import partial

from headwater.algebra.aggregates.aggregate import Aggregate, PartialColumn, Split, UnfitArguments
from headwater.algebra.aggregates.merge_moments import COVARIANCE
from headwater.algebra.aggregates.moments import check_number
from headwater.algebra.rows.types import decimal_digits

FUNCTIONS = ("regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")
COUNT, *MEASURES = FUNCTIONS
BOTH = "(CAST({first} AS DOUBLE), CAST({second} AS DOUBLE)){filter}"
STATE = (
    PartialColumn(COUNT, "bigint", f"{COUNT.upper()}{BOTH}"),
    *(PartialColumn(name, "double", f"{name.upper()}{BOTH}") for name in MEASURES),
)
SLOPE = "{5} / NULLIF({3}, 0)"


def split_comoment(name: str, finish: str, types: tuple[str, ...]) -> Split:
    if len(types) != 2:
        raise UnfitArguments(f"{name} takes two numbers, got {len(types)} arguments")
    for argument in types:
        check_number(name, argument)
        if name in ("regr_avgx", "regr_avgy") and decimal_digits(argument) is not None:
            raise UnfitArguments(
                f"{name} of decimals is not available; write {name}(CAST(… AS DOUBLE), …)"
            )
    type_name = "bigint" if name == COUNT else "double"
    return Split(type_name, STATE, finish, central=f"{name.upper()}({{x}}){{filter}}")


def comoment(name: str, finish: str) -> Aggregate:
    split = partial(split_comoment, name, finish)
    return Aggregate(name, COVARIANCE, split, FUNCTIONS, makes_one_of_many=True)


COMOMENTS = (
    *(comoment(name, f"{{{at}}}") for at, name in enumerate(FUNCTIONS)),
    comoment("covar_pop", "{5} / NULLIF({0}, 0)"),
    comoment("covar_samp", "{5} / NULLIF({0} - 1, 0)"),
    comoment("corr", "{5} / NULLIF(SQRT({3} * {4}), 0)"),
    comoment("regr_slope", SLOPE),
    comoment("regr_intercept", f"{{2}} - {SLOPE} * {{1}}"),
    comoment(
        "regr_r2",
        "CASE WHEN {3} = 0 THEN NULL WHEN {4} = 0 THEN 1.0D ELSE {5} * {5} / ({3} * {4}) END",
    ),
)
