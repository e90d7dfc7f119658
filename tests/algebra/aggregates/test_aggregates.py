"""The list of aggregates, and what each says of arguments that it can't take."""

import pytest

from headwater.algebra.aggregates import AGGREGATES, ALL, RULES
from headwater.algebra.aggregates.aggregate import UnfitArguments
from headwater.algebra.rows.types import arrow_type

NAMES = """
    count count_if sum avg mean min max
    try_avg try_sum
    any_value min_by max_by
    bool_and every bool_or any some bit_and bit_or bit_xor
    var_pop var_samp variance stddev_pop stddev_samp stddev std
    skewness kurtosis covar_pop covar_samp corr regr_count regr_avgx
    regr_avgy regr_sxx regr_syy regr_sxy regr_slope regr_intercept regr_r2
    approx_count_distinct hll_sketch_agg percentile_approx approx_percentile
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    theta_sketch_agg
    collect_set collect_list array_agg mode listagg string_agg approx_top_k
    approx_histogram
"""


def test_every_aggregate_is_found_by_each_of_its_names() -> None:
    assert set(AGGREGATES) == set(NAMES.split())
    assert {AGGREGATES[name].name for name in AGGREGATES} == {one.name for one in ALL}


@pytest.mark.parametrize(
    ("name", "argument", "result", "partials"),
    [
        ("sum", "int", "bigint", ["decimal(38,0)"]),
        ("sum", "bigint", "bigint", ["decimal(38,0)"]),
        ("try_sum", "int", "bigint", ["decimal(38,0)"]),
        ("sum", "float", "double", ["double"]),
        ("sum", "decimal(10,2)", "decimal(20,2)", ["decimal(38,2)"]),
        ("sum", "decimal(30,2)", "decimal(38,2)", ["decimal(38,2)"]),
        ("avg", "int", "double", ["decimal(38,0)", "bigint"]),
        ("avg", "decimal(10,2)", "decimal(14,6)", ["decimal(38,2)", "bigint"]),
        ("try_avg", "decimal(10,2)", "decimal(14,6)", ["decimal(38,2)", "bigint"]),
        ("min", "string", "string", ["string"]),
        ("any_value", "date", "date", ["date"]),
        ("max", "timestamp", "timestamp", ["timestamp"]),
        ("bool_and", "boolean", "boolean", ["boolean"]),
        ("count_if", "boolean", "bigint", ["bigint"]),
        ("approx_count_distinct", "string", "bigint", ["binary"]),
        ("hll_sketch_agg", "string", "binary", ["binary"]),
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
        ("try_sum", ("decimal(30,2)",), r"up to 28 digits, .*AS DECIMAL\(28, 2\)"),
        ("try_avg", ("decimal(30,2)",), r"up to 28 digits, .*AS DECIMAL\(28, 2\)"),
        ("count_if", ("int",), r"count_if takes a condition \(boolean\), got int"),
        ("bool_or", ("string",), r"bool_or takes a condition \(boolean\), got string"),
        ("collect_set", ("double",), r"got double; write collect_set\(CAST\(… AS DECIMAL"),
        ("mode", ("array<int>",), "mode takes numbers, strings, times and truths"),
        ("approx_top_k", ("int", "0"), r"from 1 to 10000, got 0; write approx_top_k\(x, 10\)"),
        ("approx_top_k", ("int", "id"), r"a literal from 1 to 10000, got id"),
        ("approx_top_k", ("double",), r"got double; write approx_top_k\(CAST\(… AS DECIMAL"),
        ("approx_top_k", ("binary",), r"no size of a sketch; .* or approx_top_k\(hex\(x\), 10\)"),
        ("listagg", ("string",), r"as in listagg\(x, ','\)"),
        ("listagg", ("string", "path"), "a short text in quotes between two, got path"),
        ("sum", ("int", "int"), "sum takes one argument, got 2"),
        ("max", (), "max takes one argument, got 0"),
        ("min", ("struct<start:timestamp,end:timestamp>",), "not the window"),
        ("any_value", ("int", "int"), "any_value takes one argument, got 2"),
        ("min_by", ("int",), "min_by takes a value and what it is ordered by, got 1"),
        ("max_by", ("int", "array<int>"), r"not nested, got array<int>; take one out of it"),
        (
            "max_by",
            ("int", "int", "0"),
            r"a literal from 1 to 10000, got 0; write max_by\(x, y, 10\)",
        ),
        ("min_by", ("int", "int", "10001"), "a literal from 1 to 10000, got 10001"),
        ("min_by", ("int", "int", "id"), "how many values it gives, .*, got id"),
        ("max_by", ("double", "int", "2"), r"got double; write max_by\(CAST\(… AS DECIMAL"),
        ("max_by", ("int", "array<int>", "2"), "max_by takes numbers, strings, times and truths"),
        ("max_by", ("struct<start:timestamp,end:timestamp>", "int"), "no window"),
        (
            "approx_count_distinct",
            ("int", "0.001"),
            r"from 0\.0041 to 0\.5 as a literal, got 0\.001",
        ),
        ("approx_count_distinct", ("int", "ms"), "as a literal, got ms"),
        ("approx_count_distinct", (), "takes a value of a record"),
        ("percentile_approx", ("int",), r"takes a share, .*; write percentile_approx\(x, 0.5\)"),
        ("percentile_approx", ("int", "0.5", "0.3"), r"from 0.001 to 0.25, or an accuracy .* 0.3"),
        ("percentile_approx", ("float", "-0.1"), r"shares from 0 to 1 as literals.*got -0\.1"),
        ("percentile_approx", ("int", "1.5", "100"), r"shares from 0 to 1 as literals.*got 1\.5"),
        ("percentile_approx", ("int", "ARRAY(0.5, x)", "100"), "as literals, up to 100, got ARRAY"),
        ("percentile_approx", ("int", "0.5", "10000"), "in ranks from 1 to 1114 as a literal"),
        (
            "percentile_approx",
            ("decimal(10,2)", "0.5", "100"),
            "with an accuracy in ranks whole numbers, doubles and times, got decimal",
        ),
        ("kll_sketch_agg_bigint", ("int", "300"), r"as a literal \(200, 400, .*, got 300"),
        ("kll_sketch_agg_double", ("int",), r"float, double, got int; .*\(CAST\(… AS DOUBLE\)\)"),
        ("kll_sketch_agg_float", ("double",), r"takes float, got double"),
        ("theta_sketch_agg", ("date",), r"got date; write theta_sketch_agg\(xxhash64\(x\)\)"),
        ("theta_sketch_agg", ("int", "17"), "a literal from 4 to 16, got 17"),
        (
            "approx_histogram",
            ("int", "0.3"),
            r"from 0.001 to 0.25, got 0.3; write approx_histogram",
        ),
        (
            "approx_histogram",
            ("date",),
            r"takes numbers, .*, got date; write approx_histogram\(CAST",
        ),
        ("hll_sketch_agg", ("int", "17"), "a literal from 4 to 16, got 17"),
        ("hll_sketch_agg", ("double",), r"got double; write hll_sketch_agg\(xxhash64\(x\)\)"),
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


def test_a_value_by_another_travels_with_what_orders_it() -> None:
    split = AGGREGATES["max_by"].split(("string", "double"))
    assert split.type == "string"
    assert [partial.type for partial in split.partials] == ["double", "string"]


def test_a_rule_has_one_meaning_whichever_aggregate_has_it() -> None:
    assert all(RULES[rule.name] is rule for aggregate in ALL for rule in aggregate.rules)
