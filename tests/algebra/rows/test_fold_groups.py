"""Rows of growing states become groups: each value counts once, and fixed states ride along."""

import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.algebra.aggregates.growing import fold_lists
from headwater.algebra.aggregates.growing.fold_lists import LIST_VALUES_MAX
from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.algebra.rows.types import group_schema, summary_schema

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS SELECT {} FROM hits GROUP BY window(ts, '10 seconds'){};
"""
MOST = (1 << 63) - 1


def groups_of(items: str, *parts: list[tuple[object, ...]], by: str = ", domain") -> Groups:
    text = SOURCE.format(items, by)
    (query,) = queries_in(text, at="r")
    maker, schema = GroupMaker(query.program), summary_schema(query.program)
    tables = [
        pa.table([list(one) for one in zip(*rows, strict=True)], schema=schema) for rows in parts
    ]
    found = maker.groups(tables)
    assert found.merged.schema == group_schema(query.program)
    return found


def made_of(items: str, *parts: list[tuple[object, ...]]) -> list[dict[str, object]]:
    found = groups_of(f"domain, {items}", *parts)
    return sorted(found.merged.to_pylist(), key=lambda row: row["domain"])


def test_a_value_that_two_sites_have_counts_once_and_their_records_all_count() -> None:
    found = made_of(
        "count(DISTINCT id) AS ids, count(*) AS n",
        [("a", 1, 5), ("a", None, 2), ("b", None, 7)],
        [("a", 1, 1), ("a", 2, 1)],
    )
    assert found == [
        {"domain": "a", "count_1": 9, "count_of_1": 2},
        {"domain": "b", "count_1": 7, "count_of_1": 0},
    ]


def test_rows_of_several_states_are_told_apart_by_their_grouping_number() -> None:
    found = made_of(
        "count(DISTINCT id) AS ids, sum(DISTINCT status) AS s, count(*) AS n",
        [("a", 200, None, 1, 4), ("a", None, 200, 2, None), ("a", None, 404, 2, None)],
        [("a", None, 200, 2, None)],
    )
    assert [(row["count_of_1"], int(row["sum_of_2"]), row["count_1"]) for row in found] == [  # type: ignore[call-overload]
        (1, 604, 4)
    ]


def test_where_a_row_of_a_growing_state_overflows_so_does_its_group() -> None:
    found = groups_of(
        "domain, count(DISTINCT id) AS ids, count(*) AS n",
        [("a", 1, MOST), ("a", 2, 1), ("b", 1, 1)],
        [("a", 1, MOST)],
    )
    assert found.merged.to_pylist() == [{"domain": "b", "count_1": 1, "count_of_1": 1}]
    assert found.overflowing.to_pylist() == [{"domain": "a"}]
    assert (found.overflowing_count, found.columns) == (1, ("count_1",))


def test_a_group_may_overflow_beside_one_of_a_day_that_python_has_no_date_for() -> None:
    items = "date_add(DATE '1970-01-01', status) AS day, count(DISTINCT id) AS ids, count(*) AS n"
    far, near = (pa.scalar(days, pa.int32()).cast(pa.date32()) for days in (5_000_000, 1))
    rows: list[tuple[object, ...]] = [(far, 1, 1), (near, 1, MOST)]
    by = ", date_add(DATE '1970-01-01', status)"
    for asked in (by, by.replace("date", "ROLLUP (date", 1) + ")"):
        found = groups_of(items, rows, rows, by=asked)
        assert found.overflowing_count >= 1
        assert found.merged.column(0).cast(pa.int32()).to_pylist() == [5_000_000]


def test_the_one_group_of_a_query_without_keys_overflows_once() -> None:
    rows: list[tuple[object, ...]] = [(1, MOST), (2, 1)]
    found = groups_of("count(DISTINCT id) AS ids, count(*) AS n", rows, rows, by="")
    assert (found.merged.num_rows, found.overflowing_count) == (0, 1)


@pytest.mark.parametrize(
    "too_many", [[(1, LIST_VALUES_MAX + 1)], [(1, LIST_VALUES_MAX), (2, 1)], [(1, MOST)]]
)
def test_a_list_has_all_its_values_or_its_group_is_left_out_and_counted(
    too_many: list[tuple[int, int]],
) -> None:
    found = groups_of(
        "domain, collect_list(id) AS ids, collect_set(id) AS once",
        [*(("a", *one) for one in too_many), ("b", 7, LIST_VALUES_MAX), ("c", 7, 2), ("c", 3, 1)],
    )
    lists = {row["domain"]: row["list_of_1"] for row in found.merged.to_pylist()}
    assert lists == {"b": [7] * LIST_VALUES_MAX, "c": [3, 7, 7]}
    assert found.overflowing.to_pylist() == [{"domain": "a"}]
    assert found.overflowing_count == 1
    assert f"a list has more than {LIST_VALUES_MAX} values" in found.reason


@pytest.mark.parametrize("items", ["collect_list(id) AS ids", "max_by(id, id, 10000) AS ids"])
def test_few_rows_that_are_lists_which_no_memory_holds_are_left_out_the_longest_first(
    monkeypatch: pytest.MonkeyPatch, items: str
) -> None:
    """A count beside a value costs a liar nothing, and the root a list as long as it says."""
    monkeypatch.setattr(fold_lists, "LISTS_BYTES_MAX", 16 * 1_100)
    hidden = [7, 7] if "by" in items else [7]
    rows: list[tuple[object, ...]] = [
        (chr(97 + n), *hidden, times) for n, times in enumerate((400, 9_000, 700, 10_000, 10))
    ]
    found = groups_of(f"domain, {items}", rows)
    lengths = {row["domain"]: len(list(row.values())[-1]) for row in found.merged.to_pylist()}
    assert lengths == {"a": 400, "e": 10}
    assert {row["domain"] for row in found.overflowing.to_pylist()} == {"b", "c", "d"}
    assert found.overflowing_count == 3
    assert "among the longest" in found.reason
