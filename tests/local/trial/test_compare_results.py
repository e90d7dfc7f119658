"""Where answers differ: the window by its time, the group by its keys, and what both sides have."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from query_kit import queries_in

from headwater.local.trial.compare_results import differences
from headwater.local.trial.results import StreamResult, WindowResult
from headwater.plan.query import Query
from headwater.root.said.envelope import LeftOut

(QUERY,) = queries_in(
    "CREATE SOURCE s (ts TIMESTAMP, a STRING, x DOUBLE) "
    "WITH (format = 'csv', path = '*', time = 'ts');"
    "CREATE STREAM n AS SELECT a, count(*) AS n, sum(x) AS x FROM s "
    "GROUP BY window(ts, '1 minute'), a;",
    at="r",
)
(BARE,) = queries_in(
    "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts');"
    "CREATE STREAM n AS SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');",
    at="r",
)


def result(
    *windows: dict[str, list[Any]], first: int = 1, query: Query = QUERY, **more: Any
) -> StreamResult:
    made = [WindowResult(n, 0, 0, pa.table(rows)) for n, rows in enumerate(windows, start=first)]
    return StreamResult(query, tuple(made), **more)


def said(left: StreamResult, right: StreamResult) -> str | None:
    return differences([left], [right])["n"]


ROWS = {"a": ["k", "l", None], "n": [1, 2, 3], "x": [0.5, 0.25, None]}
SWAPPED = {"a": [None, "l", "k"], "n": [3, 2, 1], "x": [None, 0.25, 0.5]}


def test_the_order_of_rows_and_the_last_digits_of_doubles_are_no_difference() -> None:
    assert said(result(ROWS), result(SWAPPED)) is None
    assert said(result(ROWS), result(ROWS | {"x": [0.5 + 1e-12, 0.25, None]})) is None


def test_the_key_and_both_values_are_told() -> None:
    other = ROWS | {"n": [1, 7, 3], "x": [0.5, 0.75, None]}
    assert said(result(ROWS), result(other)) == (
        "the window from 1970-01-01 00:01:00 UTC: a = l: n is 2 by the sites, 7 by one Spark; "
        "x is 0.25 by the sites, 0.75 by one Spark"
    )


def test_a_group_that_only_one_side_has_is_told_with_the_side() -> None:
    less = {name: values[:2] for name, values in ROWS.items()}
    at = "the window from 1970-01-01 00:01:00 UTC"
    assert said(result(ROWS), result(less)) == f"{at}: only the sites have a = NULL"
    assert said(result(less), result(ROWS)) == f"{at}: only one Spark has a = NULL"


def test_windows_that_only_one_side_has_are_told_by_their_times() -> None:
    two, one = result(ROWS, ROWS), result(ROWS)
    assert said(two, one) == (
        "windows that the sites have and one Spark has not: from 1970-01-01 00:02:00 UTC"
    )
    assert said(one, two) == (
        "windows that one Spark has and the sites have not: from 1970-01-01 00:02:00 UTC"
    )
    many = result(*[ROWS] * 9)
    assert str(said(many, one)).endswith("and 5 more")
    assert str(said(result(*[ROWS] * 4), one)).endswith("00:04:00 UTC"), "all three are named"


def test_rows_that_no_key_tells_apart_are_compared_as_they_stand() -> None:
    mine, theirs = {"a": ["k", "k"], "n": [1, 2]}, {"a": ["k", "k"], "n": [1, 9]}
    told = str(said(result(mine), result(theirs)))
    assert told.startswith("the window from 1970-01-01 00:01:00 UTC: ")
    assert "by the sites" not in told, "of two rows with one key nobody knows which is which"


def test_answers_with_other_columns_are_a_difference() -> None:
    more, less = {"a": ["k"], "n": [1], "m": [1]}, {"a": ["k"], "n": [1]}
    assert said(result(more), result(less)) is not None
    assert said(result(less), result(more)) is not None


def test_without_keys_the_only_row_is_told() -> None:
    mine, theirs = (result({"n": [n]}, query=BARE) for n in (1, 2))
    assert said(mine, theirs) == (
        "the window from 1970-01-01 00:01:00 UTC: its only row: n is 1 by the sites, 2 by one Spark"
    )


def test_answers_that_lack_different_groups_are_not_equal() -> None:
    one, two = (result(left_out={3: LeftOut(count=n)}) for n in (1, 2))
    assert said(one, one) is None
    assert said(one, two) == (
        "the window from 1970-01-01 00:03:00 UTC: groups left out: 1 by the sites, 2 by one Spark"
    )
    assert said(one, result()) is not None


def test_equal_rows_from_other_lines_are_a_difference() -> None:
    assert said(result(ROWS, unparsed=3), result(ROWS, unparsed=3)) is None
    assert said(result(ROWS, unparsed=3), result(ROWS, unparsed=4)) == (
        "the rows are equal, but malformed lines are 3 by the sites, 4 by one Spark"
    )
