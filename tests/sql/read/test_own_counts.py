"""Streams whose windows go by what each site has read: their options, plans and refusals."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import BYTE, ROW, SequenceGrid
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource
from headwater.sql.write.explain import explain

SOURCE = """CREATE SOURCE wal (lsn BIGINT, ts TIMESTAMP, kind STRING)
WITH (format = '{format}', path = 'wal', time = 'ts');
"""


def compiled(
    grid: str = "rows_window(100, 50)",
    options: str = "",
    *,
    ends: bool = False,
    format: str = "json",
) -> Query:
    options = f"WITH ({options}) " if options else ""
    select = f"SELECT kind, count(*) AS n FROM wal WHERE lsn > 5 GROUP BY {grid}, kind"
    (query,) = queries_in(
        f"{SOURCE.format(format=format)}CREATE STREAM writes {options}AS {select};",
        at="hub",
        now_us=10**15,
        ends=ends,
    )
    return query


def test_a_window_of_records_has_their_number() -> None:
    query = compiled()
    assert (query.window, query.sequence) == (WindowSpec(100, 50), SequenceGrid(ROW))
    assert (query.begin_pane, query.wants_past) == (0, False)
    assert compiled(ends=True).begin_pane is None
    assert query.program.columns_used == ("lsn", "ts", "kind"), "the count is no column of it"


@pytest.mark.parametrize(
    ("size", "length"),
    [("64 MB", 64 * 10**6), ("1.5kB", 1_500), ("2 GiB", 2 << 30), ("100 bytes", 100)],
)
def test_a_window_of_bytes_has_a_size(size: str, length: int) -> None:
    query = compiled(f"bytes_window('{size}')")
    assert (query.window, query.sequence) == (WindowSpec(length, length), SequenceGrid(BYTE))


def test_a_window_of_bytes_may_slide() -> None:
    assert compiled("bytes_window('64 MB', '16 MB')").window == WindowSpec(64 * 10**6, 16 * 10**6)


@pytest.mark.parametrize(
    ("grid", "wrong", "write"),
    [
        ("rows_window()", "takes a length and a slide", "rows_window(1000000)"),
        ("rows_window(lsn, 10)", "a number of records from 1", "rows_window(1000000)"),
        ("rows_window('10')", "without quotes", "rows_window(1000000)"),
        ("rows_window(0)", "from 1 to", "rows_window(1000000)"),
        ("rows_window(10, 20)", "the slide is longer", "records would be lost"),
        ("rows_window(100000, 99999)", "only 1 in common", "divides 100000"),
        ("bytes_window(64)", "a size in quotes", "bytes_window('64 MB')"),
        ("bytes_window('64')", "a size in quotes", "bytes_window('64 MB')"),
        ("bytes_window('1.0000001 MB')", "a size in quotes", "bytes_window('64 MB')"),
        ("bytes_window('0.5 B')", "a size in quotes", "bytes_window('64 MB')"),
        ("bytes_window('64 seconds')", "a size in quotes", "bytes_window('64 MB')"),
        ("rows_window(10), rows_window(20)", "two windows", "one stream for each"),
    ],
)
def test_what_is_no_length_is_refused(grid: str, wrong: str, write: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(grid)
    assert wrong in str(refused.value)
    assert write in str(refused.value)


@pytest.mark.parametrize(
    ("options", "wrong", "write"),
    [
        ("begin = 'earliest'", "nobody has counted", "leave out begin"),
        ("begin = '500'", "nobody has counted", "leave out begin"),
        ("begin = '2 hours ago'", "nobody has counted", "leave out begin"),
        ("disorder = '5'", "in the order in which they are read", "leave out disorder"),
        ("lateness = '5'", "what is read is counted", "leave out lateness"),
        ("time = 'age'", "the rows that each site has read", "leave out time"),
        ("extent = '1 hour'", "nobody knows when", "leave out extent"),
    ],
)
def test_what_a_count_does_not_know_is_refused(options: str, wrong: str, write: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(options=options)
    assert wrong in str(refused.value)
    assert write in str(refused.value)


def test_a_finite_input_begins_with_its_first_record() -> None:
    assert compiled(options="begin = 'earliest'", ends=True) == compiled(
        options="begin = 'earliest'", ends=True
    )
    with pytest.raises(QueryRefused, match="nobody has counted"):
        compiled(options="begin = '500'", ends=True)


def test_files_without_lines_have_no_bytes_to_count() -> None:
    assert compiled(format="parquet").sequence == SequenceGrid(ROW)
    with pytest.raises(QueryRefused, match="records of parquet files are none"):
        compiled("bytes_window('1 MB')", format="parquet")
    of_lines = compiled("bytes_window('1 MB')")
    columnar = compiled(format="parquet").program.source
    program = msgspec.structs.replace(of_lines.program, source=columnar)
    with pytest.raises(QueryRefused, match="a source with lines"):
        check_query(msgspec.structs.replace(of_lines, program=program))


def test_a_plan_names_its_grid_and_comes_back_from_the_wire() -> None:
    query = compiled()
    assert query.needs == ("grid own count", "grid sequence")
    flat = FlatQuery.of(query)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(flat), type=FlatQuery)
    assert again.query() == query


def test_a_site_refuses_another_count_than_the_text_has() -> None:
    query = compiled()
    with pytest.raises(QueryRefused, match="wanted the pane"):
        check_query(msgspec.structs.replace(query, sequence=SequenceGrid(BYTE)))


@pytest.mark.parametrize(
    "facts",
    [
        {"begin_pane": None},
        {"begin_pane": 7},
        {"reads_past": True},
        {"sequence": SequenceGrid(ROW, disorder=1)},
        {"sequence": SequenceGrid(ROW, lateness=1)},
        {"begin_pane": None, "sequence": SequenceGrid(ROW, from_now=True)},
    ],
)
def test_a_count_begins_with_nothing_and_is_in_order(facts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="own count"):
        msgspec.structs.replace(compiled(), **facts)


def test_a_count_tells_no_column() -> None:
    source = compiled().program.source
    levels = (("lsn", Level.FREE), ("ts", Level.AGGREGATED), ("kind", Level.FREE))
    check_query(compiled(), Policy(declared=(DeclaredSource(source, levels),)))
    levels = (("lsn", Level.AGGREGATED), ("ts", Level.AGGREGATED), ("kind", Level.FREE))
    with pytest.raises(QueryRefused, match="in WHERE"):
        check_query(compiled(), Policy(declared=(DeclaredSource(source, levels),)))


def test_explain_says_what_is_counted() -> None:
    text = explain(compiled())
    assert "window  100 rows every 50, panes of 50 rows, 2 a window" in text
    assert "begin   at each site the first record that it reads for the query" in text
    assert "also of those that WHERE drops" in text
    assert "no clock does" in text
