"""Streams over the last rows of each site: their options, plans and refusals."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.panes import WindowSpec
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.validate.validate import validate
from headwater.sql.write.explain import explain

SOURCE = """CREATE SOURCE wal (lsn BIGINT, ts TIMESTAMP, kind STRING, tags STRING)
WITH (format = 'json', path = 'wal', time = 'ts');
"""
GRID = "last_rows(1000, every => '1 second')"
NOW_US = 10**15


def statement(
    grid: str = GRID,
    options: str = "",
    *,
    select: str = "kind, count(*) AS n",
    more: str = ", kind",
) -> str:
    options = f"WITH ({options}) " if options else ""
    asked = f"SELECT {select} FROM wal WHERE lsn > 5 GROUP BY {grid}{more}"
    return f"{SOURCE}CREATE STREAM writes {options}AS {asked};"


def compiled(text: str, *, ends: bool = False, begin: str = "now") -> Query:
    (query,) = queries_in(text, at="hub", now_us=NOW_US, ends=ends, begin=begin)
    return query


def test_its_panes_are_as_long_as_it_is_answered_often() -> None:
    query = compiled(statement())
    assert (query.window, query.last_n) == (WindowSpec(10**6, 10**6), 1000)
    assert query.begin_pane == 1_000_000_015, "the first second behind the slack of an install"
    assert query.timing.lateness_s == query.timing.disorder_s, "what is closed is sealed"
    assert "grid last rows" in query.needs
    check_query(query, Policy())
    word = msgspec.msgpack.encode(FlatQuery.of(query))
    assert msgspec.msgpack.decode(word, type=FlatQuery).query() == query


def test_it_begins_now_and_of_files_that_end_with_what_they_have() -> None:
    assert compiled(statement(), begin="earliest").begin_pane == 1_000_000_015
    assert compiled(statement(), begin="earliest", ends=True).begin_pane is None


def test_the_site_part_is_that_of_its_panes_and_nothing_of_it_is_taken_early() -> None:
    of_time = compiled(statement("window(ts, '1 second')"))
    query = compiled(statement())
    assert query.program.site_sql == of_time.program.site_sql
    assert query.program.root_sql == of_time.program.root_sql
    rows = compiled(
        f"{SOURCE}CREATE STREAM writes AS SELECT {GRID}, lsn FROM wal ORDER BY lsn LIMIT 3;"
    )
    assert rows.last_n == 1000
    assert rows.program.first is msgspec.UNSET, "the first of a pane need not be of the last rows"


def test_the_window_is_selected_by_its_name_or_by_the_call() -> None:
    for select in (
        "window, count(*) AS n",
        f"{GRID} AS window, count(*) AS n",
        f"{GRID}, count(*)",
    ):
        assert len(compiled(statement(select=select, more="")).program.output) == 1


@pytest.mark.parametrize(
    ("grid", "wrong", "write"),
    [
        ("last_rows(1000)", "how often to answer", GRID),
        ("last_rows()", "how often to answer", GRID),
        ("last_rows('1000', every => '1 second')", "without quotes", GRID),
        ("last_rows(0, every => '1 second')", "from 1 to 1000000", GRID),
        ("last_rows(1000001, every => '1 second')", "from 1 to 1000000", GRID),
        ("last_rows(lsn, every => '1 second')", "a number of records", GRID),
        ("last_rows(1000, '1 second')", "says by name how often", GRID),
        ("last_rows(1000, per => '1 second')", "says by name how often", GRID),
        ("last_rows(1000, every => 1)", "a length of time in quotes", "'10 seconds'"),
        ("last_rows(1000, every => '1 row')", "a length of time in quotes", "'10 seconds'"),
        ("last_rows(1000, every => '1 millisecond')", "an answer every", "at most every"),
        (f"{GRID}, window(ts, '1 second')", "two windows", "one stream for each"),
        (f"{GRID}, session_window(ts, '1 second')", "two windows", "one stream for each"),
    ],
)
def test_what_it_can_t_be_is_refused_with_what_to_write(grid: str, wrong: str, write: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(statement(grid))
    assert wrong in str(refused.value)
    assert write in str(refused.value)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ("time = 'age'", "records by their own time"),
        ("window = '1 second'", "another window than the one in WITH"),
        ("lateness = '1 hour'", "counts for the answers that follow"),
        ("begin = 'earliest'", "in which order the past was read"),
        ("begin = '2001-01-01'", "in which order the past was read"),
        ("roots = 'hub, paris'", "write root = '…', with one site"),
    ],
)
def test_options_that_states_don_t_have_are_refused(options: str, wrong: str) -> None:
    with pytest.raises(QueryRefused, match=wrong):
        compiled(statement(options=options))


def test_of_files_that_end_the_begin_is_theirs() -> None:
    with pytest.raises(QueryRefused, match="from their first record to their last"):
        compiled(statement(options="begin = '2001-01-01'"), ends=True)


def test_it_may_begin_later_and_have_an_extent() -> None:
    query = compiled(statement(options="begin = '2001-09-10', extent = '1 minute'"))
    assert query.begin_pane is not None
    assert query.ends_at == query.begin_pane + 60


def test_an_error_is_refused_since_states_are_sent_whole() -> None:
    with pytest.raises(QueryRefused, match="last rows, and a state is sent whole"):
        compiled(statement(options="error = '5%'"))


def test_records_that_a_view_makes_several_rows_of_are_refused() -> None:
    text = statement().replace("WHERE", "LATERAL VIEW explode(split(tags, ' ')) AS tag WHERE")
    with pytest.raises(QueryRefused, match="LATERAL VIEW makes several rows of one"):
        compiled(text)


def test_validate_has_nothing_against_it_and_underlines_what_is_wrong() -> None:
    assert not validate(statement())
    (fault,) = validate(statement("last_rows(0, every => '1 second')"))
    assert "from 1 to 1000000" in fault.message


def test_it_is_explained() -> None:
    text = explain(compiled(statement()))
    assert "the last 1000 rows every 1 second" in text
    assert "holds the last 1000 records that WHERE keeps" in text
    assert "makes one state of them for every 1 second, 2 seconds after its end" in text
    assert "adds up the states that sites have at its end" in text


def test_the_reference_ranks_what_where_keeps() -> None:
    text = compiled(statement().replace("lsn > 5", "lsn > 5 OR kind IS NULL")).program.central_sql
    assert "(lsn > 5 OR kind IS NULL) AND __from >= __begin" in text
    assert text.count("lsn > 5") == 1, "and nothing is asked of them again"
