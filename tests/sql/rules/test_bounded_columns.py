"""Approximate never passes for exact: which columns of an answer are near the truth."""

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.rows.bounded import BoundKind
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE hits (ts TIMESTAMP, who STRING, ms BIGINT) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


def asking(items: str, rest: str = "") -> Query:
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s AS SELECT {items} FROM hits "
        f"GROUP BY window(ts, '10 seconds'), ms {rest};"
    )
    return query


def test_a_query_without_sketches_is_exact_and_its_plan_is_as_before() -> None:
    query = asking("ms, count(*) AS n")
    assert not query.bounds
    assert b"bounded" not in msgspec.msgpack.encode(FlatQuery.of(query))


def test_a_column_has_the_bound_of_its_sketch_and_what_is_made_of_it_is_bounded_too() -> None:
    query = asking("ms, approx_count_distinct(who, 0.02) AS n, approx_count_distinct(who) / 2 AS h")
    near, half = query.bounds.columns
    assert (near.column, near.bound.kind, near.is_derived) == ("n", BoundKind.VALUE, False)
    assert near.bound.size / 2 <= 0.02
    assert near.bound.confidence == 0.95
    assert (half.column, half.is_derived) == ("h", True)
    assert not query.bounds.rows
    there = msgspec.msgpack.decode(msgspec.msgpack.encode(FlatQuery.of(query)), type=FlatQuery)
    assert there.query() == query


@pytest.mark.parametrize(
    "rest",
    [
        "HAVING approx_count_distinct(who) > 5",
        "ORDER BY approx_count_distinct(who) LIMIT 3",
        "ORDER BY approx_count_distinct(who)",
    ],
)
def test_what_chooses_rows_by_a_bounded_value_makes_the_rows_bounded(rest: str) -> None:
    assert asking("ms, count(*) AS n", rest).bounds.rows


def test_explain_says_how_near_a_column_is() -> None:
    text = explain(asking("ms, approx_count_distinct(who) AS n"))
    assert "near, not exact: n is within 9.18% of the value in 95% of cases" in text
    assert "merges by hll_9" in text


def test_a_plan_with_sketches_that_says_nothing_of_bounds_is_refused() -> None:
    query = asking("ms, approx_count_distinct(who) AS n")
    silent = msgspec.structs.replace(query, bounded=msgspec.UNSET)
    with pytest.raises(QueryRefused, match="wanted how near columns are"):
        check_query(silent)


def test_spark_reads_no_sketch_but_those_that_the_query_makes() -> None:
    asking("ms, hll_sketch_estimate(hll_sketch_agg(who)) AS n")
    for forged in ("hll_sketch_estimate(unhex('0201'))", "max(hll_sketch_estimate(unhex(who)))"):
        with pytest.raises(QueryRefused, match="wanted a sketch that this query makes"):
            asking(f"ms, {forged} AS n")


def test_sets_are_made_of_sketches_of_their_own_kind_alone() -> None:
    both = "theta_sketch_agg(who), theta_sketch_agg(ms)"
    asking(f"ms, theta_sketch_estimate(theta_union(theta_difference({both}), {both[23:]})) AS n")
    for forged in (
        "theta_sketch_estimate(hll_sketch_agg(who))",
        "theta_sketch_estimate(theta_union(theta_sketch_agg(who), unhex('0201')))",
        "hll_sketch_estimate(theta_sketch_agg(who))",
    ):
        with pytest.raises(QueryRefused, match="wanted a sketch that this query makes"):
            asking(f"ms, {forged} AS n")


def test_a_sketch_of_another_size_than_it_says_is_refused() -> None:
    query = asking("ms, hll_sketch_agg(who, 10) AS sketch")
    partials = [msgspec.structs.replace(one, merge="hll_12") for one in query.program.partials]
    program = msgspec.structs.replace(query.program, partials=tuple(partials))
    with pytest.raises(QueryRefused, match="hll_sketch_agg does not merge by hll_12"):
        check_query(msgspec.structs.replace(query, program=program))
