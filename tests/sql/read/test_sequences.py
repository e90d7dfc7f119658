"""The options of a stream whose windows are of numbers, and what its plan says."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.windows.sequence_grid import NUMBER_MAX, SequenceGrid
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource
from headwater.sql.write.explain import explain

SOURCE = """CREATE SOURCE wal (lsn BIGINT, ts TIMESTAMP, kind STRING)
WITH (format = 'json', path = 'wal.json', time = 'ts');
"""
SELECT = "SELECT kind, count(*) AS n FROM wal GROUP BY sequence_window(lsn, 100, 50), kind"


def compiled(options: str = "", *, ends: bool = False) -> Query:
    options = f"WITH ({options}) " if options else ""
    (query,) = queries_in(
        f"{SOURCE}CREATE STREAM writes {options}AS {SELECT};", at="hub", now_us=10**15, ends=ends
    )
    return query


def test_lengths_are_numbers_and_a_begin_now_is_the_next_whole_pane() -> None:
    query = compiled("disorder = '5', lateness = '200', deadline = '3 s'")
    assert query.sequence == SequenceGrid("lsn", disorder=5, lateness=200, from_now=True)
    assert (query.begin_pane, query.wants_past, query.timing.deadline_s) == (None, False, 3.0)


def test_a_number_that_comes_back_by_less_than_a_window_counts() -> None:
    grid = compiled().sequence
    assert isinstance(grid, SequenceGrid)
    assert (grid.disorder, grid.lateness) == (0, 100), "the window's length, and not its slide"


def test_a_begin_is_the_earliest_record_or_a_number() -> None:
    assert compiled("begin = 'earliest'").wants_past
    query = compiled("begin = '120'")
    assert (query.begin_pane, query.reads_past) == (3, True), "the first window from 120 on"
    assert compiled("begin = '120'", ends=True).reads_past is msgspec.UNSET


@pytest.mark.parametrize(
    ("options", "wrong", "write"),
    [
        ("begin = '2026-05-04'", "is no number", "begin = '500000'"),
        ("disorder = '2 seconds'", "no length in numbers", "disorder = '1000'"),
        ("lateness = '-1'", "no length in numbers", "lateness = '1000'"),
        (f"disorder = '{NUMBER_MAX}'", "no length in numbers", "disorder = '1000'"),
        ("time = 'age'", "numbers place a record", "leave out time"),
        ("extent = '1 hour'", "nobody knows when", "leave out extent"),
        ("window = '10 seconds'", "another window than the one in WITH", "name one of them"),
    ],
)
def test_what_only_a_clock_can_say_is_refused(options: str, wrong: str, write: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options)
    assert wrong in str(refused.value)
    assert write in str(refused.value)


def test_a_plan_names_its_grid_and_comes_back_from_the_wire() -> None:
    query = compiled()
    assert query.needs == ("grid sequence",)
    flat = FlatQuery.of(query)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(flat), type=FlatQuery)
    assert again.query() == query


def changed(query: Query, **facts: object) -> Query:
    return msgspec.structs.replace(query, **facts)


def test_a_site_refuses_a_grid_over_what_is_no_number_or_another_pane() -> None:
    query = compiled()
    assert isinstance(query.sequence, SequenceGrid)
    for column in ("kind", "nothing", "ts"):
        grid = msgspec.structs.replace(query.sequence, column=column)
        with pytest.raises(QueryRefused, match="whole numbers"):
            check_query(changed(query, sequence=grid))
    with pytest.raises(QueryRefused, match="wanted panes of at least"):
        check_query(changed(query, sequence=msgspec.UNSET))


def test_a_grid_that_a_clock_would_have_to_know_is_none() -> None:
    query = compiled()
    with pytest.raises(ValueError, match="neither age"):
        changed(query, begin_pane=0, end_pane=100, sequence=SequenceGrid("lsn"))
    with pytest.raises(ValueError, match="lengths from 0"):
        changed(query, sequence=SequenceGrid("lsn", disorder=-1))


def test_a_site_that_lets_only_sums_of_the_column_leave_refuses() -> None:
    others = (("ts", Level.AGGREGATED), ("kind", Level.FREE))
    source = compiled().program.source
    declared = DeclaredSource(source, (("lsn", Level.FREE), *others))
    check_query(compiled(), Policy(declared=(declared,)))
    held = DeclaredSource(source, (("lsn", Level.AGGREGATED), *others))
    with pytest.raises(QueryRefused, match="in sequence_window"):
        check_query(compiled(), Policy(declared=(held,)))


def test_explain_says_what_closes_a_pane() -> None:
    text = explain(compiled("disorder = '5'"))
    assert "window  100 of lsn every 50, panes of 50 of lsn, 2 a window" in text
    assert "closes a pane when it reads lsn 5 beyond its end" in text
    assert "no clock does" in text
    assert "after a site has closed its last pane" in text
