"""Lines of formats that have a name, as their programs write them, and what becomes of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest

from headwater.plan.sources.source import Source
from headwater.spark.lines.fields import HEAD, LINE
from headwater.spark.lines.parse import Parser
from headwater.sql.compile import parse_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BAD = "bad"


def at(*numbers: int) -> datetime.datetime:
    return datetime.datetime(*numbers, tzinfo=datetime.UTC)  # type: ignore[arg-type,misc]


def source_of(text: str) -> Source:
    (source,) = parse_script(text).sources
    return source


def records(
    spark: SparkSession, source: Source, lines: Sequence[str], *, header: str = ""
) -> list[Any]:
    """Of each line that is not passed over, its columns without those that are NULL, or ``BAD``."""
    view(spark, {LINE: lines, HEAD: [0] * len(lines)})
    need = frozenset(column.name for column in source.columns)
    parser = Parser(source, (need,), headers=(header,) if header else ())
    rows = spark.sql(parser.typed_sql("lines")).toArrow().to_pylist()
    return [BAD if row["__bad_0"] else _known(source, row) for row in rows]


def view(spark: SparkSession, columns: dict[str, Any]) -> None:
    spark.createDataFrame(pa.table(columns)).createOrReplaceTempView("lines")


def _known(source: Source, row: dict[str, Any]) -> dict[str, Any]:
    found = {column.name: row[column.name] for column in source.columns}
    return {name: value for name, value in found.items() if value is not None}


COMMON = '127.0.0.1 - frank [10/Oct/2026:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326'
COMBINED = COMMON + ' "http://x.example/s" "Mozilla/4.08 [en] (Win98; \\"I\\")"'
PLAIN = {
    "client": "127.0.0.1",
    "user": "frank",
    "ts": at(2026, 10, 10, 20, 55, 36),
    "request": "GET /a.gif?x=1 HTTP/1.0",
    "method": "GET",
    "path": "/a.gif?x=1",
    "protocol": "HTTP/1.0",
    "status": 200,
    "bytes": 2326,
}
REST = {"referer": "http://x.example/s", "agent": 'Mozilla/4.08 [en] (Win98; \\"I\\")'}


@pytest.mark.parametrize("format_", ["apache", "nginx"])
def test_access_logs_bring_their_columns(spark: SparkSession, format_: str) -> None:
    source = source_of(f"CREATE SOURCE s WITH (format = '{format_}', path = '*.log')")
    assert source.time_column == "ts"
    lines = {
        COMMON: PLAIN,
        COMBINED: {**PLAIN, **REST},
        f"www.x.example:443 {COMBINED}": {**PLAIN, **REST, "vhost": "www.x.example:443"},
        '::1 - - [10/Oct/2026:13:55:36 +0000] "-" 408 - "-" "-"': {
            "client": "::1",
            "ts": at(2026, 10, 10, 13, 55, 36),
            "status": 408,
        },
        '1.2.3.4 - a b [10/Oct/2026:13:55:36 +0000] "\\x16\\x03 \\"" 400 0': {
            "client": "1.2.3.4",
            "user": "a b",
            "ts": at(2026, 10, 10, 13, 55, 36),
            "request": '\\x16\\x03 \\"',
            "status": 400,
            "bytes": 0,
        },
        '1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] "GET /old" 200 1': {
            "client": "1.2.3.4",
            "ts": at(2026, 10, 10, 13, 55, 36),
            "request": "GET /old",
            "method": "GET",
            "path": "/old",
            "status": 200,
            "bytes": 1,
        },
        '1.2.3.4 - - [yesterday] "GET / HTTP/1.0" 200 1': BAD,
        "no access log": BAD,
    }
    assert dict(zip(lines, records(spark, source, list(lines)), strict=True)) == lines


def test_a_long_field_of_an_access_log_does_not_end_the_search(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (ts TIMESTAMP, agent STRING) WITH (format='nginx', path='*')"
    )
    agent = "x\\\\" * 50_000
    (found,) = records(spark, source, [f'{COMMON} "-" "{agent}"'])
    assert found["agent"] == agent


def test_some_columns_of_a_named_format_in_types_of_ones_own(spark: SparkSession) -> None:
    text = "CREATE SOURCE s (status STRING, `ts` TIMESTAMP) WITH (format = 'apache', path = '*')"
    assert records(spark, source_of(text), [COMMON]) == [
        {"status": "200", "ts": at(2026, 10, 10, 20, 55, 36)}
    ]


def test_syslog_of_both_kinds_and_as_files_have_it(spark: SparkSession) -> None:
    source = source_of("CREATE SOURCE s WITH (format = 'syslog', path = '*', year = '2026')")
    t = at(2026, 10, 11, 22, 14, 15)
    lines = {
        "<34>Oct 11 22:14:15 mymachine su: 'su root' failed": {
            "priority": 34,
            "ts": t,
            "host": "mymachine",
            "app": "su",
            "message": "'su root' failed",
        },
        "Oct  1 22:14:15 web-1 sshd[4721]: a: b": {
            "ts": at(2026, 10, 1, 22, 14, 15),
            "host": "web-1",
            "app": "sshd",
            "pid": "4721",
            "message": "a: b",
        },
        "2026-10-11T22:14:15.000+02:00 web-1 sshd[4721]: x": {
            "ts": at(2026, 10, 11, 20, 14, 15),
            "host": "web-1",
            "app": "sshd",
            "pid": "4721",
            "message": "x",
        },
        '<165>1 2026-10-11T22:14:15Z h.example evnt 77 ID47 [a@1 b="c]\\"" d="e"][x] two words': {
            "priority": 165,
            "ts": t,
            "host": "h.example",
            "app": "evnt",
            "pid": "77",
            "message_id": "ID47",
            "data": '[a@1 b="c]\\"" d="e"][x]',
            "message": "two words",
        },
        "<34>1 2026-10-11T22:14:15Z - su - ID47 - \ufeffhi": {
            "priority": 34,
            "ts": t,
            "app": "su",
            "message_id": "ID47",
            "message": "hi",
        },
        "<34>Oct 41 22:14:15 mymachine su: x": BAD,
        "nothing of it": BAD,
    }
    assert dict(zip(lines, records(spark, source, list(lines)), strict=True)) == lines


def test_a_syslog_without_years_is_malformed_unless_the_source_says_which(
    spark: SparkSession,
) -> None:
    source = source_of("CREATE SOURCE s WITH (format = 'syslog', path = '*')")
    assert records(spark, source, ["Oct 11 22:14:15 web sshd: x"]) == [BAD]


W3C = "#Fields: date time cs-method cs-uri-stem x(y) sc-status"


def test_the_extended_log_names_its_columns(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (`sc-status` INT, `x(y)` STRING, date STRING, time STRING) "
        "WITH (format = 'w3c', path = '*')"
    )
    lines = [
        "#Software: x",
        W3C,
        '2026-05-01 12:00:00 GET /a "b c" 200',
        "2026-05-01 12:00:01 GET / - -",
        "2026-05-01 12:00:01 GET /",
    ]
    found = records(spark, source, lines, header=W3C)
    assert [one if one == BAD else one["event_time"] for one in found] == [
        at(2026, 5, 1, 12),
        at(2026, 5, 1, 12, 0, 1),
        BAD,
    ]
    assert found[0]["sc-status"] == 200
    assert found[0]["x(y)"] == "b c"
    assert "x(y)" not in found[1]


def test_an_extended_log_whose_header_is_not_known_is_malformed(spark: SparkSession) -> None:
    source = source_of("CREATE SOURCE s (date STRING, time STRING) WITH (format='w3c', path='*')")
    assert records(spark, source, ["2026-05-01 12:00:00"]) == [BAD]


def test_cloudfront_brings_its_columns(spark: SparkSession) -> None:
    source = source_of("CREATE SOURCE s WITH (format = 'cloudfront', path = '*')")
    names = [column.name for column in source.fields]
    header = "#Fields: " + " ".join([*names, "c-port"])
    values = dict.fromkeys(names, "-") | {
        "date": "2026-05-01",
        "time": "12:00:00",
        "sc-bytes": "17",
        "cs(User-Agent)": "a%20b",
        "time-taken": "0.001",
    }
    lines = ["#Version: 1.0", header, "\t".join([*values.values(), "443"])]
    assert records(spark, source, lines, header=header) == [
        {
            "date": "2026-05-01",
            "time": "12:00:00",
            "sc-bytes": 17,
            "cs(User-Agent)": "a%20b",
            "time-taken": 0.001,
            "event_time": at(2026, 5, 1, 12),
        }
    ]


def test_logfmt_finds_values_by_their_names(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (ts TIMESTAMP, level STRING, msg STRING, n INT, `a.b` STRING) "
        "WITH (format = 'logfmt', path = '*', time = 'ts')"
    )
    t = {"ts": at(2026, 5, 1, 12)}
    lines = {
        "ts=2026-05-01T12:00:00Z level=info msg=hi n=1": {
            **t,
            "level": "info",
            "msg": "hi",
            "n": 1,
        },
        'level=warn msg="say \\"n=2\\" \\\\o" n=3 ts=2026-05-01T12:00:00Z flag': {
            **t,
            "level": "warn",
            "msg": 'say "n=2" \\o',
            "n": 3,
        },
        'ts="2026-05-01T12:00:00Z" xa.b=1 a.b=2 level= msg=""': {**t, "a.b": "2"},
        "ts=2026-05-01T12:00:00Z n=1 n=2": {**t, "n": 1},
        "ts=2026-05-01T12:00:00Z n=x": BAD,
        'ts=2026-05-01T12:00:00Z msg="open': BAD,
        "only words": BAD,
    }
    assert dict(zip(lines, records(spark, source, list(lines)), strict=True)) == lines


def test_a_journal_s_records_have_their_fields_by_name(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (ts TIMESTAMP, message STRING, priority INT, MY_FIELD STRING) "
        "WITH (format = 'journald', path = '*')"
    )
    record = "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1777636800000000\nPRIORITY=6\nMESSAGE=a=b c"
    assert records(spark, source, [record, f"MY_FIELD=x\n{record}", "PRIORITY=6", "?"]) == [
        {"ts": at(2026, 5, 1, 12), "message": "a=b c", "priority": 6},
        {"ts": at(2026, 5, 1, 12), "message": "a=b c", "priority": 6, "MY_FIELD": "x"},
        BAD,
        BAD,
    ]


def test_a_value_of_a_journal_that_is_no_text_is_malformed_where_it_is_used(
    spark: SparkSession,
) -> None:
    source = source_of("CREATE SOURCE s WITH (format = 'journald', path = '*')")
    time = "__REALTIME_TIMESTAMP=1777636800000000\n"
    lines = [f"{time}MESSAGE=one\n\x1f\n\x1ftwo\nPRIORITY=6", f"{time}MESSAGE=\x1f4 bytes\n_COMM=x"]
    read, unread = records(spark, source, lines)
    assert (read["message"], read["priority"]) == ("one\n\ntwo", 6)
    assert unread == BAD
    (column,) = [one for one in source.columns if one.name == "command"]
    by_command = msgspec.structs.replace(
        source, columns=(*(one for one in source.columns if one.name == "ts"), column)
    )
    assert [one["command"] for one in records(spark, by_command, lines[1:])] == ["x"]


def test_fields_of_fixed_width(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (ts TIMESTAMP, name STRING, n INT) "
        "WITH (format='fixed', path='*', time='ts', widths='20,5,4', comment='--', null_value='?')"
    )
    t = "2026-05-01T12:00:00Z"
    lines = {
        f"{t}abc     7": {"name": "abc", "n": 7},
        f"{t}äöü     7": {"name": "äöü", "n": 7},
        f"{t}abc  1234": {"name": "abc", "n": 1234},
        f"{t}abc  12345": BAD,
        f"{t}abc  1": {"name": "abc", "n": 1},
        f"{t}ab": BAD,
        f"{t}?       7  ": {"n": 7},
        f"{t}abc     x": BAD,
        f"{t}abc      ": {"name": "abc"},
        f"{t}abc   ": {"name": "abc"},
        f"{t}abc  ": BAD,
    }
    found = records(spark, source, [*lines, "-- a comment"])
    for one in found:
        if one != BAD:
            assert one.pop("ts") == at(2026, 5, 1, 12)
    assert dict(zip(lines, found, strict=True)) == lines


def test_a_delimiter_of_several_characters_and_comments(spark: SparkSession) -> None:
    source = source_of(
        "CREATE SOURCE s (ts TIMESTAMP, a STRING, b STRING) "
        "WITH (format = 'csv', path = '*', time = 'ts', delimiter = '||', comment = '#')"
    )
    t = "2026-05-01T12:00:00Z"
    found = records(spark, source, ["# x", f'{t}||a|b||"c||d"', f"{t}||a||b"])
    assert [(one["a"], one["b"]) for one in found] == [("a|b", "c||d"), ("a", "b")]


NESTED = (
    "CREATE SOURCE s (`@timestamp` TIMESTAMP, country STRING PATH 'geo.country', geo STRING, "
    "first STRING PATH 'tags[0]', tags ARRAY<STRING>, `a.b` INT, labels MAP<STRING, INT>, "
    "who STRUCT<name: STRING, n: INT>, code VARCHAR(3), lasted INTERVAL DAY TO SECOND) "
    "WITH (format = 'json', path = '*', time = '@timestamp')"
)


def test_json_by_paths_and_in_nested_types(spark: SparkSession) -> None:
    source = source_of(NESTED)
    t = '{"@timestamp": "2026-05-01T12:00:00Z"'
    lines = {
        t + ', "geo": {"country": "NO"}, "tags": ["x", "y"], "a.b": 1, "a": {"b": 2}}': {
            "country": "NO",
            "geo": '{"country":"NO"}',
            "first": "x",
            "tags": ["x", "y"],
            "a.b": 1,
        },
        t + ', "labels": {"k": 1}, "who": {"name": "z"}, "code": "abc"}': {
            "labels": [("k", 1)],
            "who": {"name": "z", "n": None},
            "code": "abc",
        },
        t + ', "geo": "text", "tags": [], "lasted": "1 02:03:04"}': {
            "geo": "text",
            "tags": [],
            "lasted": datetime.timedelta(1, 2 * 3600 + 3 * 60 + 4),
        },
        t + ', "geo": null, "code": "äöü"}': {"code": "äöü"},
        t + ', "tags": "x"}': BAD,
        t + ', "labels": {"k": "x"}}': BAD,
        t + ', "who": {"n": 1.5}}': BAD,
        t + ', "code": "abcd"}': BAD,
        t + ', "lasted": "long"}': BAD,
    }
    found = records(spark, source, list(lines))
    for one in found:
        if one != BAD:
            assert one.pop("@timestamp") == at(2026, 5, 1, 12)
    assert dict(zip(lines, found, strict=True)) == lines


def test_rows_of_files_with_columns_are_taken_over_by_name_or_malformed(
    spark: SparkSession,
) -> None:
    source = source_of(
        "CREATE SOURCE s (TS TIMESTAMP, small INT, price DECIMAL(8,2), name STRING, absent STRING, "
        "d DATE, deep INT PATH 'st.a', tags ARRAY<STRING>) "
        "WITH (format = 'parquet', path = '*', time = 'ts')"
    )
    noon = at(2026, 5, 1, 12)
    view(
        spark,
        {
            "ts": pa.array([noon, noon, noon, None, noon], pa.timestamp("us", tz="UTC")),
            "small": pa.array([1.0, 1.5, 2.0, 3.0, 3e9], pa.float64()),
            "price": pa.array(["1.25", "1.25", "1.255", "1", "1"], pa.string()),
            "name": pa.array([7, 8, 9, 10, None], pa.int64()),
            "d": pa.array([datetime.date(2026, 5, 1)] * 5, pa.date32()),
            "st": pa.array([{"a": 5}] * 5, pa.struct([("a", pa.int64())])),
            "tags": pa.array([["x"]] * 5, pa.list_(pa.string())),
        },
    )
    types = tuple(spark.table("lines").dtypes)
    need = frozenset(column.name for column in source.columns)
    parser = Parser(source, (need,), types=types)
    rows = spark.sql(parser.typed_sql("lines")).toArrow().to_pylist()
    assert [row["__bad_0"] for row in rows] == [False, True, True, True, True]
    assert rows[0]["small"] == 1
    assert rows[0]["name"] == "7"
    assert rows[0]["absent"] is None
    assert rows[0]["deep"] == 5
    assert rows[0]["tags"] == ["x"]
