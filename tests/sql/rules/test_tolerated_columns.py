"""How far columns may be off, as a plan says it to sites."""

from __future__ import annotations

import pytest
from msgspec import UNSET
from query_kit import queries_in

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.remainders.tolerance import (
    ChosenRows,
    Condition,
    Finally,
    Tolerance,
    ToleratedColumn,
)
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.needs import ERROR, ERROR_MEANINGS
from headwater.sql.write.explain import explain

SOURCE = (
    "CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT) "
    "WITH (format = 'json', path = 'a.log', time = 'ts');"
)
SELECT = (
    "SELECT domain, count(*) AS hits, sum(greatest(bytes, 0)) AS b FROM access "
    "GROUP BY window(ts, '1 minute', '30 seconds'), domain"
)


def compiled(
    options: str,
    *,
    sites: tuple[str, ...] = ("a", "b", "c"),
    rest: str = "",
    summed: str = "greatest(bytes, 0)",
    select: str = "",
) -> Query:
    call = select or f"sum({summed}) AS b"
    select = SELECT.replace("sum(greatest(bytes, 0)) AS b", call)
    text = f"{SOURCE} CREATE STREAM s WITH ({options}) AS {select} {rest}"
    (query,) = queries_in(text, known_sites=sites)
    return query


def tolerance(options: str) -> Tolerance:
    found = compiled(options).tolerates
    assert found is not None
    return found


def test_one_bound_holds_for_every_column_by_its_partial() -> None:
    found = tolerance("error = '0.1 % of total'")
    assert [(one.column, one.partial) for one in found.columns] == [
        ("hits", "count_1"),
        ("b", "sum_2"),
    ]
    assert {(one.form, one.size) for one in found.columns} == {(ErrorForm.TOTAL, 0.001)}
    assert found.finally_ is Finally.BOUNDED


def test_each_column_may_have_its_own() -> None:
    found = tolerance("error = '`HITS`: 1 % of total, b: 5e6', finally = 'exact'")
    assert [(one.form, one.size) for one in found.columns] == [
        (ErrorForm.TOTAL, 0.01),
        (ErrorForm.ABSOLUTE, 5e6),
    ]
    assert found.finally_ is Finally.EXACT


def test_an_absolute_bound_is_dealt_out_among_all_that_are_asked() -> None:
    assert tolerance("error = '600'").sites == 3
    assert tolerance("error = '600', sites = 'a, b'").sites == 2
    found = tolerance("error = '600'")
    assert found.share(found.columns[0], panes=2) == 100.0


@pytest.mark.parametrize("options", ["error = '5'", "error = '1 % of total', finally = 'exact'"])
def test_it_travels_with_the_query_and_names_what_it_needs(options: str) -> None:
    query = compiled(options)
    assert ERROR in query.needs
    assert FlatQuery.of(query).query() == query


def test_without_an_error_nothing_of_it_is_in_the_plan() -> None:
    assert compiled("deadline = '10 s'").tolerates is None
    assert ERROR not in (compiled("finally = 'exact'").needs or ())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("error = '1 % of total'", "1 % of total: that share of the site's own total of the pane"),
        ("error = '600'", "600: 100 for each of 3 sites and 2 panes of a window"),
        ("error = '1 %'", "so every group is sent, but for what is left of those that left early"),
        ("error = '100 %'", "100 % of each value: groups may stay whole"),
        ("error = '600', finally = 'exact'", "which follows when that has arrived"),
        ("error = '600'", "which stays at the site"),
    ],
)
def test_explain_says_how_it_is_split_and_what_it_saves(options: str, said: str) -> None:
    assert said in explain(compiled(options))


@pytest.mark.parametrize(
    "value",
    [
        "abs(bytes)",
        "coalesce(abs(bytes), 0)",
        "greatest(bytes, 0)",
        "greatest(bytes, coalesce(length(domain), 0))",
        "abs(bytes) * 2 + 1",
        "length(domain) / 3",
        "CAST(abs(bytes) AS DOUBLE)",
    ],
)
def test_a_share_is_of_what_surely_has_no_negative_values(value: str) -> None:
    assert compiled("error = '1 % of total'", summed=value).tolerates is not None


@pytest.mark.parametrize(
    "value",
    [
        "coalesce(bytes, 0)",
        "greatest(bytes, bytes + 1)",
        "greatest(bytes, length(domain))",
        "greatest(bytes, coalesce(abs(bytes), length(domain)))",
        "abs(bytes) - 5",
        "-abs(bytes)",
        "abs(bytes) * -1",
    ],
)
def test_of_what_may_be_negative_no_share_is_asked_for(value: str) -> None:
    with pytest.raises(QueryRefused, match="`b` may have negative values"):
        compiled("error = '1 % of total'", summed=value)


def test_the_largest_rows_may_be_asked_for_and_answers_say_which_are_sure() -> None:
    query = compiled("error = '1 % of total'", rest="ORDER BY b DESC, domain LIMIT 10")
    assert query.tolerates is not None
    assert query.tolerates.chosen == ChosenRows("b", 10, is_never_negative=True)
    assert "which of their 10 rows may not be the largest" in explain(query)
    assert FlatQuery.of(query).query() == query


def test_an_order_leaves_no_row_out() -> None:
    query = compiled("error = '1 % of total'", rest="ORDER BY domain")
    assert query.tolerates is not None
    assert query.tolerates.chosen is UNSET


def test_a_sum_that_may_be_negative_is_known_as_such() -> None:
    query = compiled("error = '600'", rest="ORDER BY b DESC LIMIT 3", summed="bytes")
    assert query.tolerates is not None
    assert query.tolerates.chosen == ChosenRows("b", 3, is_never_negative=False)


@pytest.mark.parametrize(
    "rest",
    [
        "ORDER BY hits LIMIT 10",
        "ORDER BY domain DESC LIMIT 10",
        "LIMIT 10",
        "ORDER BY hits DESC LIMIT 10 OFFSET 5",
        "QUALIFY row_number() OVER (PARTITION BY window ORDER BY count(*) DESC) <= 3",
    ],
)
def test_rows_that_what_is_kept_back_could_choose_otherwise_are_refused(rest: str) -> None:
    with pytest.raises(QueryRefused, match=r"ORDER BY column DESC LIMIT n"):
        compiled("error = '1 % of total'", rest=rest)


@pytest.mark.parametrize("of", ["abs(bytes)", "greatest(bytes, 0)", "length(domain)"])
def test_a_maximum_of_what_is_never_negative_may_be_off_by_a_number(of: str) -> None:
    select = f"max({of}) AS top"
    query = compiled("error = 'hits: 1 % of total, top: 600'", select=select)
    assert query.tolerates is not None
    found = query.tolerates.columns[1]
    assert (found.column, found.size, found.is_largest) == ("top", 600.0, True)
    assert query.tolerates.share(found, panes=2) == 600.0
    assert "600: at every site and in every pane, since the worst counts" in explain(query)


@pytest.mark.parametrize(
    ("select", "error"),
    [
        ("max(bytes) AS top", "top: 600"),
        ("max(domain) AS top", "top: 600"),
        ("max(abs(bytes)) AS top", "top: 1 % of total"),
        ("max(abs(bytes)) AS top", "top: 1 %"),
    ],
)
def test_another_maximum_is_refused_with_what_to_write(select: str, error: str) -> None:
    with pytest.raises(QueryRefused, match=r"write max\(abs\(…\)\)"):
        compiled(f"error = 'hits: 5, {error}'", select=select)


MORE = (
    "CREATE SOURCE access (ts TIMESTAMP, domain STRING, user STRING, ms DOUBLE) "
    "WITH (format = 'json', path = 'a.log', time = 'ts');"
)


def asked(column: str, error: str, *, rest: str = "") -> Query:
    """Beside a count, which may be off by a share of its total."""
    text = (
        f"{MORE} CREATE STREAM s WITH (error = 'hits: 1 % of total, {error}') AS "
        f"SELECT domain, count(*) AS hits, {column} FROM access "
        f"GROUP BY window(ts, '1 minute'), domain {rest}"
    )
    (query,) = queries_in(text, known_sites=("a", "b"))
    return query


def column(query: Query, name: str) -> ToleratedColumn:
    assert query.tolerates is not None
    return next(one for one in query.tolerates.columns if one.column == name)


@pytest.mark.parametrize("call", ["avg(ms)", "mean(ms)", "try_avg(ms)"])
def test_an_average_may_lack_a_share_of_a_groups_records(call: str) -> None:
    query = asked(f"{call} AS m", "m: 2 %")
    found = column(query, "m")
    assert (found.meaning, found.form, found.size) == (Meaning.RECORDS, ErrorForm.VALUE, 0.02)
    assert found.partial in {one.name for one in query.program.partials if one.merge == "sum"}
    assert f"COUNT(ms) AS {found.partial}" in query.program.site_sql
    assert "2 % of a group's records" in explain(query)
    assert FlatQuery.of(query).query() == query
    assert ERROR_MEANINGS in (query.needs or ())


def test_a_percentile_goes_by_the_slots_of_its_own_histogram() -> None:
    query = asked("percentile_approx(ms, 0.99) AS p", "p: 2 %")
    found = column(query, "p")
    assert found.among == "slot_1"
    assert found.partial == "count_1"
    assert query.program.partials[0].name == "count_1"
    assert "but for the least of its rows" in explain(query)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("percentile_approx(ms, 0.99, 100) AS c", "c: 2 %"),
        ("percentile_approx(ts, 0.5) AS c", "c: 2 %"),
        ("approx_count_distinct(user) AS c", "c: 40"),
    ],
)
def test_beside_a_sketch_sites_count_the_records_in_it(call: str, error: str) -> None:
    query = asked(call, error)
    found = column(query, "c")
    assert found.partial.startswith("records_")
    assert f"AS {found.partial}" in query.program.site_sql
    assert found.partial not in query.program.root_sql


def test_without_an_error_nothing_is_counted_beside_a_sketch() -> None:
    text = f"""{MORE} CREATE STREAM s AS SELECT domain, approx_count_distinct(user) AS c FROM access
        GROUP BY window(ts, '1 minute'), domain"""
    (query,) = queries_in(text)
    assert len(query.program.partials) == 1


def test_a_distinct_count_is_off_by_a_number_of_values_of_which_each_row_is_one() -> None:
    found = column(asked("count(DISTINCT user) AS users", "users: 40"), "users")
    assert (found.meaning, found.partial, found.among) == (Meaning.MEMBERS, "", "value_1")
    assert not found.has_total


def test_several_growing_states_are_told_apart_by_their_hidden_keys() -> None:
    query = asked(
        "count(DISTINCT user) AS users, percentile_approx(ms, 0.5) AS p", "users: 40, p: 5 %"
    )
    assert [column(query, name).among for name in ("users", "p")] == ["value_1", "slot_2"]
    assert column(query, "hits").among == ""


@pytest.mark.parametrize(
    ("call", "error", "write"),
    [
        ("avg(ms) AS m", "m: 1 % of total", "'m: 1 %', or 'm: 100 %'"),
        ("avg(ms) AS m", "m: 5", "'m: 1 %', or 'm: 100 %'"),
        ("percentile_approx(ms, 0.5) AS p", "p: 5", "'p: 1 %', or 'p: 100 %'"),
        ("count(DISTINCT user) AS u", "u: 1 %", "'u: 50'"),
        ("count(DISTINCT user) AS u", "u: 1 % of total", "'u: 50'"),
        ("approx_count_distinct(user) AS u", "u: 1 %", "'u: 50'"),
        ("sum(ms) AS b", "b: 1 %", "sum(abs(…)) or sum(greatest(…, 0))"),
        ("sum(ms) AS b", "b: 1 % of total", "a number such as '500'"),
        ("min(ms) AS b", "b: 5", "write a stream of its own for it, without error"),
        ("stddev(ms) AS b", "b: 5 %", "write a stream of its own for it, without error"),
        ("approx_top_k(user, 3) AS b", "b: 5", "write a stream of its own for it, without error"),
        ("avg(ms) / 1000 AS b", "b: 5 %", "write a stream of its own for it, without error"),
        ("avg(ms) AS m", "5", "or 'hits: 1 %, bytes: 5e6'"),
        ("avg(ms) AS m", "m: 1 %, mm: 5", "no column `mm` that aggregates make"),
        ("avg(ms) AS m", "m: 1 %, m: 5", "two bounds; write one"),
        ("avg(ms) AS m", "m: 1e999", "wanted a number above 0"),
    ],
)
def test_what_no_bound_can_mean_is_refused_with_what_to_write(
    call: str, error: str, write: str
) -> None:
    with pytest.raises(QueryRefused) as refused:
        asked(call, error)
    assert write in str(refused.value)


def test_rows_are_not_chosen_by_what_is_computed_of_records() -> None:
    with pytest.raises(QueryRefused, match="by a count, sum or maximum"):
        asked("avg(ms) AS m", "m: 1 %", rest="ORDER BY m DESC LIMIT 3")


def test_having_is_told_as_comparisons_of_columns() -> None:
    query = compiled(
        "error = '600'", rest="HAVING count(*) > 5 AND (-2.5 <= b) AND hits < 900", summed="bytes"
    )
    assert query.tolerates is not None
    assert query.tolerates.conditions == (
        Condition("hits", ">", 5.0, True),
        Condition("b", ">=", -2.5, False),
        Condition("hits", "<", 900.0, True),
    )
    assert "on the wrong side of hits > 5 and b >= -2.5 and hits < 900" in explain(query)
    assert FlatQuery.of(query).query() == query
    assert ERROR_MEANINGS in (query.needs or ())


def test_more_comparisons_than_an_answer_can_say_are_refused() -> None:
    with pytest.raises(QueryRefused, match="up to 16 of them with AND"):
        compiled("error = '600'", rest=f"HAVING {' AND '.join(['hits > 1'] * 17)}")
