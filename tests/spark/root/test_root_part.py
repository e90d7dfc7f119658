"""The root part: several windows in one job, in the query's order, errors as errors."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pane_finisher import PaneFinisher
from query_kit import changed
from spark_kit import per_domain, stream

from headwater.algebra.rows.types import summary_schema
from headwater.errors import GroupFailed, SparkFailed
from headwater.plan.query import Query
from headwater.spark.root.bad_groups import Finished, Verdict
from headwater.spark.root.root_part import RootSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def root(spark: SparkSession) -> RootSpark:
    return RootSpark(spark)


def table(query: Query, *rows: tuple[Any, ...]) -> pa.Table:
    schema = summary_schema(query.program)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def test_windows_are_finished_apart_and_in_one_call(root: RootSpark) -> None:
    query = per_domain()
    one = table(query, ("a", 1, Decimal(5)), ("b", 2, Decimal(7)))
    other = table(query, ("a", 10, Decimal(1)))
    answers = root.finish(query, {3: one, 7: other})
    assert sorted(answers) == [3, 7]
    assert sorted(answers[3].to_pylist(), key=str) == [
        {"domain": "a", "n": 1, "b": 5},
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
    answers = PaneFinisher(root).finish(query, windows).rows
    found = {window: answer["n"].to_pylist() for window, answer in answers.items()}
    assert found == {-2: [1], -1: [11], 0: [111], 1: [110], 2: [100]}


def test_rows_come_in_the_querys_order_and_ties_by_the_other_columns(root: RootSpark) -> None:
    query = stream(
        "SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), domain "
        "ORDER BY n DESC LIMIT 3"
    )
    rows = [("d", 1), ("c", 5), ("b", 5), ("a", 5), (None, 9)]
    answers = root.finish(query, {0: table(query, *rows), 1: table(query, ("z", 1))})
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
    answers = root.finish(query, {0: table(query, ("a", 5)), 1: table(query)})
    assert answers == {}


def test_a_sum_beyond_its_type_is_an_error_of_the_answer(root: RootSpark) -> None:
    query = per_domain()
    big = table(query, ("a", 1, Decimal(2**63)))
    with pytest.raises(GroupFailed, match=r"per_domain@home#1: root part: \[CAST_OVERFLOW\]"):
        root.finish(query, {0: big})
    small = table(query, ("a", 1, Decimal(2**63 - 1)))
    assert root.finish(query, {0: small})[0]["b"].to_pylist() == [2**63 - 1]


def test_sql_that_spark_refuses_names_the_query(root: RootSpark) -> None:
    query = changed(per_domain(), root_sql="SELECT nothing FROM panes")
    with pytest.raises(SparkFailed, match=r"per_domain@home#1.*nothing"):
        root.finish(query, {0: table(query, ("a", 1, Decimal(1)))})


def test_a_query_is_prepared_whatever_it_makes_of_nothing(root: RootSpark) -> None:
    query = per_domain("prepared")
    root.prepare(query)
    root.prepare(changed(query, root_sql="SELECT nothing FROM panes"))
    answers = root.finish(query, {0: table(query, ("a", 1, Decimal(1)))})
    assert answers[0].to_pylist() == [{"domain": "a", "n": 1, "b": 1}]


def test_queries_are_finished_at_the_same_time_without_mixing(root: RootSpark) -> None:
    queries = [per_domain(f"q{n}") for n in range(4)]

    def finish(number: int) -> int:
        query = queries[number % 4]
        rows = table(query, ("a", number, Decimal(1)))
        return int(root.finish(query, {0: rows})[0]["n"][0].as_py())

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        halves = [(one if number % 2 else other).submit(finish, number) for number in range(8)]
        assert [half.result() for half in halves] == list(range(8))


# Overflow belongs to the group


class Counted:
    """The root part, with its jobs counted; halving has to do without verdicts."""

    def __init__(self, root: RootSpark, *, can_judge: bool = True) -> None:
        self._root = root
        self._can_judge = can_judge
        self.count = 0

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        self.count += 1
        return self._root.finish(query, windows)

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        self.count += 1
        if not self._can_judge:
            raise SparkFailed("no verdict")
        return self._root.judge(query, windows)


def grouped(select: str, group: str = "domain", rest: str = "") -> Query:
    return stream(
        f"SELECT {select} FROM hits GROUP BY window(ts, '10 seconds'), {group} {rest}", name="bad"
    )


def left_out_names(finished: Finished, window: int) -> list[Any]:
    return [next(iter(one.keys.values())) for one in finished.left_out[window].named]


@pytest.mark.parametrize("can_judge", [True, False])
def test_one_group_beyond_its_type_is_left_out_and_the_others_stand(
    root: RootSpark, can_judge: bool
) -> None:
    query = per_domain("overflowing")
    big = table(query, ("a", 1, Decimal(5)), ("big", 1, Decimal(2**62)), ("c", 3, Decimal(0)))
    jobs = Counted(root, can_judge=can_judge)
    finished = PaneFinisher(jobs).finish(query, {0: [(0, big), (0, big)], 1: [(1, big)]})
    assert sorted(finished.rows[0]["domain"].to_pylist()) == ["a", "c"]
    assert sorted(finished.rows[1]["domain"].to_pylist()) == ["a", "big", "c"]
    assert list(finished.left_out) == [0]
    (named,) = finished.left_out[0].named
    assert named.keys == {"domain": "big"}
    assert named.reason.startswith("[CAST_OVERFLOW] The value 9223372036854775808")


FAILING = [
    ("10 / count(bytes)", "[DIVIDE_BY_ZERO]"),
    ("10 / count(bytes) + 1 / count(bytes) AS twice", "[DIVIDE_BY_ZERO]"),
    ("10 DIV count(bytes)", "[DIVIDE_BY_ZERO]"),
    ("10 % count(bytes)", "[REMAINDER_BY_ZERO]"),
    ("count(bytes) % count(bytes)", "[REMAINDER_BY_ZERO]"),
    ("cast(9223372036854775807 - 5 + 10 * (1 - count(bytes)) AS BIGINT)", "[ARITHMETIC_OVERFLOW]"),
    ("cast(1e30 * (1 - count(bytes)) AS INT)", "[CAST_OVERFLOW]"),
    ("cast(elt(cast(count(bytes) + 1 AS INT), 'x', '7') AS INT)", "[CAST_INVALID_INPUT]"),
    ("cast(12345 * (1 - count(bytes)) AS DECIMAL(4, 0))", "[NUMERIC_VALUE_OUT_OF_RANGE"),
    ("elt(cast(count(bytes) AS INT), 'x')", "[INVALID_ARRAY_INDEX]"),
    ("make_date(2026, cast(count(bytes) AS INT), 1)", "[DATETIME_FIELD_OUT_OF_BOUNDS"),
    ("split_part('a,b', ',', cast(count(bytes) AS INT))", "[INVALID_INDEX_OF_ZERO]"),
    ("timestamp_seconds(cast(9223372036854775807 * (1 - count(bytes)) AS BIGINT))", "[DATETIME_OV"),
]


@pytest.mark.parametrize(("item", "reason"), FAILING)
def test_whatever_a_group_fails_for_only_that_group_is_left_out(
    root: RootSpark, item: str, reason: str
) -> None:
    """``count(bytes)`` is 0 for the group that fails, and 1 for the others."""
    query = grouped(f"domain, {item}")
    rows = table(query, ("a", 1), ("bad", 0), ("c", 1), (None, 1))
    jobs = Counted(root)
    finished = PaneFinisher(jobs).finish(query, {0: [(0, rows)], 1: [(1, rows.slice(2))]})
    assert set(finished.rows[0]["domain"].to_pylist()) == {"a", "c", None}
    assert set(finished.rows[1]["domain"].to_pylist()) == {"c", None}
    assert left_out_names(finished, 0) == ["bad"]
    assert finished.left_out[0].named[0].reason.startswith(reason)
    assert list(finished.left_out) == [0]
    assert jobs.count == 4, "the verdict held"


def test_a_group_that_fails_takes_no_part_in_the_order_and_the_limit(root: RootSpark) -> None:
    query = grouped("domain", rest="ORDER BY 10 / count(bytes) DESC LIMIT 2")
    rows = table(query, ("a", 10), ("bad", 0), ("b", 5), ("c", 2))
    finished = PaneFinisher(root).finish(query, {0: [(0, rows)]})
    assert finished.rows[0]["domain"].to_pylist() == ["c", "b"]
    assert left_out_names(finished, 0) == ["bad"]


def test_a_group_of_which_having_fails_is_left_out(root: RootSpark) -> None:
    query = grouped("domain, count(bytes) AS n", rest="HAVING 10 / count(bytes) > 1")
    rows = table(query, ("a", 4), ("bad", 0), ("rejected", 20))
    finished = PaneFinisher(root).finish(query, {0: [(0, rows)]})
    assert finished.rows[0].to_pylist() == [{"domain": "a", "n": 4}]
    assert left_out_names(finished, 0) == ["bad"]
    assert finished.left_out[0].count == 1


def test_having_keeps_a_group_from_failing(root: RootSpark) -> None:
    """Also beside one that fails: what HAVING rejects is in no answer, and lacks in none."""
    query = grouped("domain, 10 / (count(bytes) - 3) AS x", rest="HAVING count(bytes) > 0")
    rows = table(query, ("a", 4), ("bad", 3), ("rejected", 0))
    finished = PaneFinisher(root).finish(query, {0: [(0, rows)]})
    assert finished.rows[0]["domain"].to_pylist() == ["a"]
    assert finished.left_out[0].count == 1
    assert left_out_names(finished, 0) == ["bad"]


def test_a_query_without_keys_has_one_group_for_each_window(root: RootSpark) -> None:
    query = stream("SELECT 10 / count(bytes) AS x FROM hits GROUP BY window(ts, '10 seconds')")
    windows = {n: [(n, table(query, (n,)))] for n in range(3)}
    finished = PaneFinisher(root).finish(query, windows)
    assert sorted(finished.rows) == [1, 2]
    assert finished.left_out[0].count == 1
    assert finished.left_out[0].named[0].text().startswith("the only group: [DIVIDE_BY_ZERO]")


def test_keys_that_are_equal_for_spark_are_one_group_that_fails(root: RootSpark) -> None:
    query = grouped("ms, 10 / count(bytes) AS x", "ms")
    one = table(query, (0.0, 1), (float("nan"), 0), (None, 2))
    other = table(query, (-0.0, -1), (float("nan"), 5), (None, 3))
    finished = PaneFinisher(root).finish(query, {0: [(0, one), (0, other)]})
    assert left_out_names(finished, 0) == ["0.0"]
    assert finished.rows[0].num_rows == 2


def test_a_sum_that_overflows_in_spark_itself_is_left_out_before_spark_sees_it(
    root: RootSpark,
) -> None:
    query = grouped("domain, sum(cast(bytes AS DECIMAL(38, 0))) AS d")
    huge = Decimal("9" * 38)
    rows = table(query, ("a", Decimal(1)), ("huge", huge))
    finished = PaneFinisher(root).finish(query, {0: [(0, rows), (1, rows)]})
    assert finished.rows[0].to_pylist() == [{"domain": "a", "d": 2}]
    assert finished.left_out[0].named[0].text() == "domain = huge: a sum leaves its type: sum_1"


def test_trouble_of_the_plan_is_no_matter_of_groups(root: RootSpark) -> None:
    query = changed(per_domain(), root_sql="SELECT nothing FROM panes")
    with pytest.raises(SparkFailed, match=r"per_domain@home#1.*nothing"):
        PaneFinisher(root).finish(query, {0: [(0, table(query, ("a", 1, Decimal(1))))]})


def test_a_root_part_of_another_form_is_searched_by_halving(root: RootSpark) -> None:
    query = changed(
        per_domain("other"), root_sql="SELECT `window`, domain, 10 / count_1 AS n FROM panes"
    )
    rows = table(query, ("a", 1, Decimal(1)), ("bad", 0, Decimal(1)), ("c", 2, Decimal(1)))
    finished = PaneFinisher(root).finish(query, {0: [(0, rows)]})
    assert sorted(finished.rows[0]["domain"].to_pylist()) == ["a", "c"]
    assert left_out_names(finished, 0) == ["bad"]


def test_a_root_part_that_does_not_end_is_cancelled_and_the_next_answer_comes(
    spark: SparkSession,
) -> None:
    root = RootSpark(spark, job_s_max=2.0)
    endless = changed(
        per_domain("endless"),
        root_sql="SELECT count(*) AS n FROM range(1000000000000) AS r CROSS JOIN panes",
    )
    rows = table(endless, ("a", 1, Decimal(1)))
    with pytest.raises(SparkFailed, match=r"endless@home#1.*did not end within 2 s"):
        root.finish(endless, {0: rows})
    query = per_domain()
    answers = RootSpark(spark).finish(query, {0: table(query, ("a", 1, Decimal(1)))})
    assert answers[0].to_pylist() == [{"domain": "a", "n": 1, "b": 1}]


class OneSuspect:
    """Of root parts."""

    def __init__(self, query_id: str) -> None:
        self.query_id = query_id
        self.lived = 0

    def suspects(self) -> frozenset[str]:
        return frozenset()

    def survived(self, query_id: str) -> None:
        raise AssertionError("no site part is at work here")

    def root_suspects(self) -> frozenset[str]:
        return frozenset({self.query_id})

    def root_survived(self, query_id: str) -> None:
        assert query_id == self.query_id
        self.lived += 1


def test_a_suspected_root_part_has_less_time_and_is_cleared_by_surviving(
    spark: SparkSession,
) -> None:
    query = per_domain()
    suspicion = OneSuspect(str(query.id))
    root = RootSpark(spark, suspicion=suspicion, suspect_s_max=2.0)
    rows = table(query, ("a", 1, Decimal(1)))
    root.finish(query, {0: rows})
    assert suspicion.lived == 1
    endless = changed(
        query, root_sql="SELECT count(*) AS n FROM range(1000000000000) AS r CROSS JOIN panes"
    )
    with pytest.raises(SparkFailed, match="did not end within 2 s"):
        root.finish(endless, {0: rows})
    assert suspicion.lived == 1
    other = per_domain("other")
    RootSpark(spark, suspicion=suspicion).finish(other, {0: table(other, ("a", 1, None))})
    assert suspicion.lived == 1, "it was not suspected"
