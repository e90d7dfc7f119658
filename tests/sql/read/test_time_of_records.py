"""What ``time`` may say in CREATE SOURCE, and that nothing else gets in by it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET
from query_kit import changed, queries_in

from headwater.agent.input.declarations import SourceDeclaration, read_declarations
from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.admit.column_levels import Level


def source_text(columns: str, options: str) -> str:
    return f"CREATE SOURCE s ({columns}) WITH (format = 'csv', path = '*.csv', {options})"


def query_of(columns: str, options: str, *, window: str = "event_time", item: str = "") -> Query:
    select = f"SELECT {item or 'count(*) AS n'} FROM s GROUP BY window({window}, '1 minute')"
    text = f"{source_text(columns, options)}; CREATE STREAM q AS {select}"
    (query,) = queries_in(text)
    return query


def refused(columns: str, options: str, *, window: str = "event_time") -> str:
    with pytest.raises(QueryRefused) as caught:
        query_of(columns, options, window=window)
    return str(caught.value)


DAY_AND_TIME = "day STRING, at STRING, n INT"
BOTH = '''time = "to_timestamp(Day || ' ' || at, 'dd.MM.y HH:mm')"'''


def test_an_expression_becomes_a_column_that_windows_are_over() -> None:
    source = query_of(DAY_AND_TIME, BOTH).program.source
    assert source.time_column == "event_time"
    assert [column.name for column in source.columns] == ["day", "at", "n", "event_time"]
    assert [column.name for column in source.fields] == ["day", "at", "n"]
    assert isinstance(source.time_sql, str)
    assert "TRY_TO_TIMESTAMP(day || ' ' || at, 'dd.MM.yyyy HH:mm')" in source.time_sql


def test_the_computed_time_can_be_asked_for_and_steps_aside_for_a_column_of_its_name() -> None:
    asked = query_of(DAY_AND_TIME, BOTH, item="max(event_time) AS newest")
    assert asked.program.output[0].type == "timestamp"
    aside = query_of(
        "event_time BIGINT", "time = 'event_time', timestamp_format = 'epoch_ms'", item="count(*)"
    )
    assert aside.program.source.time_column == "event_time_"
    assert {c.name: c.type for c in aside.program.source.columns}["event_time"] == "bigint"


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("ts BIGINT", "time = 'ts', timestamp_format = 'epoch_ms'"),
        ("ts BIGINT", "time = 'TS', timestamp_format = 'milliseconds'"),
        ("ts DECIMAL(20,6)", "time = 'ts', timestamp_format = 'iso | seconds'"),
        ("ts STRING", "time = 'ts', timestamp_format = 'd.M.yyyy | iso', zone = 'Europe/Oslo'"),
        ("ts DATE", "time = 'ts'"),
    ],
)
def test_a_time_of_another_type_keeps_it_and_windows_are_over_its_name(
    columns: str, options: str
) -> None:
    query = query_of(columns, options, window="ts")
    assert query.program.source.columns[0].name == "ts"
    assert query.program.source.columns[0].type != "timestamp"
    assert query.program.source.time_sql == "ts"
    assert query.program.columns_used == ("event_time",)


def test_a_timestamp_is_read_as_ever() -> None:
    source = query_of("ts TIMESTAMP", "time = 'ts'", window="ts").program.source
    assert source.time_column == "ts"
    assert source.time_sql is UNSET
    assert b"time_sql" not in msgspec.msgpack.encode(source)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("time = 'now()'", "now depends on the time"),
        ("time = 'to_timestamp(x)'", "no column `x`"),
        ("time = 'to_timestamp(day, at)'", "a pattern is a literal"),
        ("time = 'dya'", "did you mean `day`?"),
        ("time = 'n'", "say what it counts since 1970"),
        ("time = 'n + 1'", "a time is a timestamp"),
        ("time = 'make_date(n, 1, 1)'", "might fail"),
        ("time = 'make_timestamp(n, 1, 1)'", "got 3 arguments"),
        ("time = 'make_timestamp(n, 1.5, 1, 0, 0, 0)'", "takes integers up to the minute"),
        ("time = 'make_timestamp(x, 1, 1, 0, 0, 0)'", "no column `x`"),
        ("time = 'to_timestamp(day || (n * 2e0))'", "|| takes"),
        ("time = 'timestamp_seconds(n % 3 - 1) + n'", "`+` has no meaning for timestamp and int"),
        ('''time = "if(day > 5, to_timestamp(day), NULL)"''', "compares int and string"),
        ('''time = "to_timestamp(day, 'yyyyyy')"''', "at most 4 letters"),
        ('''time = "to_utc_timestamp(to_timestamp(day), 'Mars')"''', "no time zone"),
        ("time = 'sum(n)'", "sum is an aggregate"),
        ("time = '(SELECT 1)'", "subqueries are not available"),
        ("time = 'day', zone = 'Berlin'", "write 'Europe/Berlin'"),
        ("time = 'day', timestamp_format = 'yyyy[X]', zone = 'Europe/Oslo'", "two formats"),
        ("time = 'day', timestamp_format = 'iso | B'", "'B' is no letter"),
        ("time = 'to_timestamp(day)', zone = 'Europe/Oslo'", 'write time = "to_utc_timestamp('),
        ("time = 'day', date_format = 'epoch_s'", "a date is no number"),
        ("time = 'day', round = 'maybe'", "no round `maybe`"),
    ],
)
def test_what_no_time_can_be_is_refused_with_a_sentence(options: str, said: str) -> None:
    assert said in refused(DAY_AND_TIME, options)


def test_a_window_over_another_column_says_which_one_it_is_over() -> None:
    assert "window(event_time, '10 seconds')" in refused(DAY_AND_TIME, BOTH, window="day")


FORGED = [
    "TO_TIMESTAMP(day)",
    "TRY_TO_TIMESTAMP(day)",
    "TRY_TO_TIMESTAMP(day, 'yyyy-MM-dd')",
    "TRY_CAST(day AS TIMESTAMP)",
    "CAST(day AS TIMESTAMP)",
    "TIMESTAMP_SECONDS(n)",
    "TO_UTC_TIMESTAMP(TIMESTAMP_MICROS(n), 'Europe/Oslo')",
    "TIMESTAMP_MICROS(n + 1)",
    "TIMESTAMP_MICROS(n) AS x",
    "timestamp_micros(n)",
    "TIMESTAMP_MICROS(event_time)",
    "TIMESTAMP_MICROS(other)",
    "REFLECT('java.lang.System', 'exit', 1)",
    "IF(LOCATE(':', LTRIM(at)) BETWEEN 1 AND 8, NULL, TRY_TO_TIMESTAMP(day))",
    "IF(REGEXP_LIKE(day, 'x'), NULL, TRY_TO_TIMESTAMP(day, 'yyyy-MM-dd'))",
    "s.day",
    "event_time",
    "day FROM s --",
    "TIMESTAMP_MICROS(" * 100 + "n" + ")" * 100,
]


@pytest.mark.parametrize("time_sql", FORGED)
def test_a_time_from_the_wire_that_might_fail_or_is_not_canonical_is_refused(time_sql: str) -> None:
    query = query_of(DAY_AND_TIME, BOTH)
    forged = msgspec.structs.replace(query.program.source, time_sql=time_sql)
    with pytest.raises(QueryRefused, match="time"):
        check_query(changed(query, source=forged))


@pytest.mark.parametrize(
    "time",
    [
        BOTH,
        'time = "make_timestamp(n, 5, 1, day, at, 7.5)"',
        """time = "make_timestamp(n, 5, 1, day, at, 7, 'Europe/Oslo')" """,
        """time = "to_timestamp(n || ' ' || at, 'yyyyMMdd HH:mm')" """,
    ],
)
def test_a_compiled_time_is_admitted(time: str) -> None:
    check_query(query_of(DAY_AND_TIME, time))


def test_a_number_beside_a_text_is_its_text() -> None:
    source = query_of(
        DAY_AND_TIME, """time = "to_timestamp(n || at, 'yyyyMMddHH:mm')" """
    ).program.source
    assert isinstance(source.time_sql, str)
    assert "TRY_CAST(n AS STRING) || at" in source.time_sql


def declared(columns: str, options: str, **levels: str) -> Policy:
    statement = source_text(columns, options)
    return Policy(declared=read_declarations([SourceDeclaration(statement, levels)], data="/data"))


def test_a_site_holds_queries_to_the_time_that_it_declares() -> None:
    policy = declared(DAY_AND_TIME, BOTH, day="free", at="free", n="denied")
    check_query(query_of(DAY_AND_TIME, BOTH), policy)
    other = '''time = "timestamp_seconds(n)"'''
    with pytest.raises(QueryRefused, match="its time is"):
        check_query(query_of(DAY_AND_TIME, other), policy)
    query = query_of(DAY_AND_TIME, BOTH)
    moved = msgspec.structs.replace(query.program.source, options=(("zone", "Europe/Oslo"),))
    with pytest.raises(QueryRefused, match="its option zone"):
        check_query(changed(query, source=moved), policy)


def test_a_computed_time_is_as_free_as_what_it_is_computed_of() -> None:
    policy = declared(DAY_AND_TIME, BOTH, day="free", at="aggregated", n="free")
    assert dict(policy.declared[0].levels)["event_time"] is Level.AGGREGATED
    with pytest.raises(QueryRefused, match=r"'event_time'.*aggregated"):
        check_query(query_of(DAY_AND_TIME, BOTH, item="max(event_time) AS m"), policy)
    said = declared(DAY_AND_TIME, BOTH, day="free", at="aggregated", n="free", event_time="free")
    check_query(query_of(DAY_AND_TIME, BOTH, item="max(event_time) AS m"), said)


def test_a_time_computed_of_a_denied_column_keeps_the_agent_from_starting() -> None:
    with pytest.raises(ConfigurationError, match="computed of column at, which is denied"):
        declared(DAY_AND_TIME, BOTH, day="free", at="denied", n="free")


def test_a_source_with_a_computed_time_travels_and_comes_back_the_same() -> None:
    source = query_of(DAY_AND_TIME, BOTH).program.source
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(source), type=Source) == source
