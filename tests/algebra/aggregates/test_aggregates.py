"""The list of aggregates, and what each says of arguments that it can't take."""

import pytest

from headwater.algebra.aggregates import AGGREGATES, ALL, RULES
from headwater.algebra.aggregates.aggregate import UnfitArguments
from headwater.algebra.rows.types import arrow_type


def test_every_aggregate_is_found_by_each_of_its_names() -> None:
    assert set(AGGREGATES) == {
        "count", "count_if", "sum", "avg", "mean", "min", "max",
        "bool_and", "every", "bool_or", "any", "some", "bit_and", "bit_or", "bit_xor",
        "var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "std",
        "skewness", "kurtosis", "covar_pop", "covar_samp", "corr", "regr_count", "regr_avgx",
        "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2",
    }  # fmt: skip
    assert {AGGREGATES[name].name for name in AGGREGATES} == {one.name for one in ALL}


@pytest.mark.parametrize(
    ("name", "argument", "result", "partials"),
    [
        ("sum", "int", "bigint", ["decimal(38,0)"]),
        ("sum", "bigint", "bigint", ["decimal(38,0)"]),
        ("sum", "float", "double", ["double"]),
        ("sum", "decimal(10,2)", "decimal(20,2)", ["decimal(38,2)"]),
        ("sum", "decimal(30,2)", "decimal(38,2)", ["decimal(38,2)"]),
        ("avg", "int", "double", ["decimal(38,0)", "bigint"]),
        ("avg", "decimal(10,2)", "decimal(14,6)", ["decimal(38,2)", "bigint"]),
        ("min", "string", "string", ["string"]),
        ("max", "timestamp", "timestamp", ["timestamp"]),
        ("bool_and", "boolean", "boolean", ["boolean"]),
        ("count_if", "boolean", "bigint", ["bigint"]),
    ],
)
def test_results_and_partials_have_the_types_that_are_promised(
    name: str, argument: str, result: str, partials: list[str]
) -> None:
    split = AGGREGATES[name].split((argument,))
    assert split.type == result
    assert [partial.type for partial in split.partials] == partials
    assert all(arrow_type(partial.type) is not None for partial in split.partials)


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("sum", ("string",), r"sum takes a number, got string; write sum\(CAST"),
        ("avg", ("boolean",), "avg takes a number, got boolean"),
        ("avg", ("decimal(38,2)",), "up to 32 digits, 14 of them after the point"),
        ("avg", ("decimal(20,15)",), "up to 32 digits, 14 of them after the point"),
        ("count_if", ("int",), r"count_if takes a condition \(boolean\), got int"),
        ("bool_or", ("string",), r"bool_or takes a condition \(boolean\), got string"),
        ("sum", ("int", "int"), "sum takes one argument, got 2"),
        ("max", (), "max takes one argument, got 0"),
        ("min", ("struct<start:timestamp,end:timestamp>",), "not the window"),
    ],
)
def test_arguments_that_don_t_fit_are_refused_with_what_does(
    name: str, types: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UnfitArguments, match=message):
        AGGREGATES[name].split(types)


def test_an_average_beside_a_sum_costs_only_a_count() -> None:
    total, mean = (AGGREGATES[name].split(("bigint",)) for name in ("sum", "avg"))
    assert total.partials == mean.partials[:1]
    assert mean.partials[1:] == AGGREGATES["count"].split(("bigint",)).partials


def test_truth_merges_by_the_least_and_the_greatest() -> None:
    assert [AGGREGATES[name].merge.name for name in ("every", "some")] == ["min", "max"]


def test_a_rule_has_one_meaning_whichever_aggregate_has_it() -> None:
    assert all(RULES[aggregate.merge.name] is aggregate.merge for aggregate in ALL)
