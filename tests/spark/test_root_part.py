"""The root part: several windows in one job, in the query's order, errors as errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest
from spark_kit import per_domain, stream

from headwater.algebra.types import summary_schema
from headwater.errors import AnswerOverflow, SparkFailed
from headwater.plan.query import Query
from headwater.spark.root_part import RootSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def root(spark: SparkSession) -> RootSpark:
    return RootSpark(spark)


def table(query: Query, *rows: tuple[Any, ...]) -> pa.Table:
    schema = summary_schema(query)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def test_windows_are_finished_apart_and_in_one_call(root: RootSpark) -> None:
    query = per_domain()
    one = table(query, ("a", 1, Decimal(5)), ("b", 2, Decimal(7)))
    other = table(query, ("a", 10, Decimal(1)))
    answers = root.finish(query, {3: [(3, one), (3, other)], 7: [(7, other)]})
    assert sorted(answers) == [3, 7]
    assert sorted(answers[3].to_pylist(), key=str) == [
        {"domain": "a", "n": 11, "b": 6},
        {"domain": "b", "n": 2, "b": 7},
    ]
    assert answers[7].to_pylist() == [{"domain": "a", "n": 10, "b": 1}]


def test_a_pane_counts_in_each_of_its_windows(root: RootSpark) -> None:
    query = stream("SELECT count(*) AS n FROM hits GROUP BY window(ts, '30 seconds', '10 seconds')")
    panes = {pane: table(query, (10**pane,)) for pane in range(3)}
    windows = {
        window: [(pane, panes[pane]) for pane in query.window.panes_of(window) if pane in panes]
        for window in range(-2, 3)
    }
    answers = root.finish(query, windows)
    found = {window: answer["n"].to_pylist() for window, answer in answers.items()}
    assert found == {-2: [1], -1: [11], 0: [111], 1: [110], 2: [100]}


def test_rows_come_in_the_querys_order_and_ties_by_the_other_columns(root: RootSpark) -> None:
    query = stream(
        "SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain "
        "ORDER BY n DESC LIMIT 3"
    )
    rows = [("d", 1), ("c", 5), ("b", 5), ("a", 5), (None, 9)]
    answers = root.finish(query, {0: [(0, table(query, *rows))], 1: [(1, table(query, ("z", 1)))]})
    assert [tuple(row.values()) for row in answers[0].to_pylist()] == [
        (None, 9),
        ("a", 5),
        ("b", 5),
    ]
    assert answers[1].num_rows == 1


def test_a_window_whose_rows_are_all_filtered_has_no_answer(root: RootSpark) -> None:
    query = stream(
        "SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain "
        "HAVING count(*) > 5"
    )
    answers = root.finish(query, {0: [(0, table(query, ("a", 5)))], 1: [(1, table(query))]})
    assert answers == {}


def test_a_sum_beyond_its_type_is_an_error_of_the_answer(root: RootSpark) -> None:
    query = per_domain()
    big = table(query, ("a", 1, Decimal(2**62)), ("a", 1, Decimal(2**62)))
    with pytest.raises(AnswerOverflow, match="per_domain@home#1"):
        root.finish(query, {0: [(0, big)]})
    small = table(query, ("a", 1, Decimal(2**62)), ("a", 1, Decimal(-(2**62))))
    assert root.finish(query, {0: [(0, small)]})[0]["b"].to_pylist() == [0]


def test_sql_that_spark_refuses_names_the_query(root: RootSpark) -> None:
    query = msgspec.structs.replace(per_domain(), root_sql="SELECT nothing FROM panes")
    with pytest.raises(SparkFailed, match=r"per_domain@home#1.*nothing"):
        root.finish(query, {0: [(0, table(query, ("a", 1, Decimal(1))))]})


def test_a_query_is_prepared_whatever_it_makes_of_nothing(root: RootSpark) -> None:
    query = per_domain("prepared")
    root.prepare(query)
    root.prepare(msgspec.structs.replace(query, root_sql="SELECT nothing FROM panes"))
    answers = root.finish(query, {0: [(0, table(query, ("a", 1, Decimal(1))))]})
    assert answers[0].to_pylist() == [{"domain": "a", "n": 1, "b": 1}]


def test_queries_are_finished_at_the_same_time_without_mixing(root: RootSpark) -> None:
    queries = [per_domain(f"q{n}") for n in range(4)]

    def finish(number: int) -> int:
        query = queries[number % 4]
        rows = table(query, ("a", number, Decimal(1)))
        return int(root.finish(query, {0: [(0, rows)]})[0]["n"][0].as_py())

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        halves = [(one if number % 2 else other).submit(finish, number) for number in range(8)]
        assert [half.result() for half in halves] == list(range(8))


def test_a_root_part_that_does_not_end_is_cancelled_and_the_next_answer_comes(
    spark: SparkSession,
) -> None:
    root = RootSpark(spark, job_s_max=2.0)
    endless = msgspec.structs.replace(
        per_domain("endless"),
        root_sql="SELECT count(*) AS n FROM range(1000000000000) AS r CROSS JOIN panes",
    )
    rows = table(endless, ("a", 1, Decimal(1)))
    with pytest.raises(SparkFailed, match=r"endless@home#1.*did not end within 2 s"):
        root.finish(endless, {0: [(0, rows)]})
    query = per_domain()
    answers = RootSpark(spark).finish(query, {0: [(0, table(query, ("a", 1, Decimal(1))))]})
    assert answers[0].to_pylist() == [{"domain": "a", "n": 1, "b": 1}]
