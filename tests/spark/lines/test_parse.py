"""Nasty lines of every format: what is a record, what is malformed, what each field becomes.

Expected values are written out, or come from the sentence in the docstring of ``parse``; where two
ways of parsing exist they must agree.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.algebra.rows.columns import Column
from headwater.plan.sources.source import Source, SourceFormat
from headwater.spark.lines.fields import LINE
from headwater.spark.lines.parse import Parser
from headwater.spark.site.scan_counts import ScanCounts, scan_counts
from headwater.spark.site.site_part import over_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
BAD = "bad"


def source(format_: SourceFormat, *columns: str, time: str = "ts", **options: str) -> Source:
    pairs = [column.split(" ", 1) for column in columns]
    return Source(
        name="s",
        columns=tuple(Column(name, type_) for name, type_ in pairs),
        format=format_,
        path="*",
        time_column=time,
        options=tuple(options.items()),
    )


def parsed(
    spark: SparkSession,
    of: Source,
    lines: Sequence[str],
    *,
    need: Sequence[str] = (),
    is_quote_free: bool = False,
) -> list[Any]:
    """For each line that is not passed over its values without the time, or ``BAD``."""
    names = [column.name for column in of.columns]
    parser = Parser(of, (frozenset(need or names),), is_quote_free)
    view_of(spark, lines)
    found = spark.sql(parser.typed_sql("lines")).toArrow().to_pylist()
    columns = [name for name in parser.columns if name != of.time_column]
    return [BAD if row["__bad_0"] else tuple(row[name] for name in columns) for row in found]


def view_of(spark: SparkSession, lines: Sequence[str]) -> None:
    table = pa.table({LINE: pa.array(lines, pa.string())})
    spark.createDataFrame(table).createOrReplaceTempView("lines")


CSV = source(SourceFormat.CSV, "ts timestamp", "name string", "n int", "x double")
T = "2026-05-01T12:00:00Z"

PLAIN_LINES = [
    (f"{T},a,1,2.5", ("a", 1, 2.5)),
    (f"{T},,,", (None, None, None)),
    (f"{T},a,,1e3", ("a", None, 1000.0)),
    (f"{T},a, 7 ,2", ("a", 7, 2.0)),
    (f"{T},a,x,2", BAD),
    (f"{T},a,1.5,2", BAD),
    (f"{T},a,2147483648,2", BAD),
    (f"{T},a,-2147483648,-0.0", ("a", -2147483648, -0.0)),
    (f"{T},a,1", BAD),
    (f"{T},a,1,2,3", BAD),
    (f"{T},a,1,2,", BAD),
    ("yesterday,a,1,2", BAD),
    (",a,1,2", BAD),
    ("2026-02-30T00:00:00Z,a,1,2", BAD),
    ("no record at all", BAD),
    (" ", BAD),
    (f"{T},ÄÖ日本,1,2", ("ÄÖ日本", 1, 2.0)),
    (f"{T},a\\,1,2", ("a\\", 1, 2.0)),
    (f"{T},' a ',1,2", ("' a '", 1, 2.0)),
]


@pytest.mark.parametrize("is_quote_free", [False, True])
def test_a_line_without_quotes_is_split_and_converted(
    spark: SparkSession, is_quote_free: bool
) -> None:
    lines = [line for line, _ in PLAIN_LINES]
    found = parsed(spark, CSV, lines, is_quote_free=is_quote_free)
    assert dict(zip(lines, found, strict=True)) == dict(PLAIN_LINES)


def test_extreme_doubles_are_what_spark_takes_them_for(spark: SparkSession) -> None:
    found = parsed(spark, CSV, [f"{T},a,1,{x}" for x in ("NaN", "Infinity", "-1e-300", "1e999")])
    assert str(found[0][2]) == "nan"
    assert [row[2] for row in found[1:]] == [float("inf"), -1e-300, float("inf")]


def test_quotes_protect_delimiters_and_double_to_stand_for_themselves(spark: SparkSession) -> None:
    found = parsed(
        spark,
        CSV,
        [
            f'{T},"a,b",1,2',
            f'"{T}","a ""b""",1,"2.5"',
            f'{T},"",1,2',
            f'{T},"a,b",1',
            f'{T},"a,b",1,2,3',
            f'{T},"a",x,2',
            f'{T},a"b,1,2',
        ],
    )
    assert found == [
        ("a,b", 1, 2.0),
        ('a "b"', 1, 2.5),
        (None, 1, 2.0),
        BAD,
        BAD,
        BAD,
        ('a"b', 1, 2.0),
    ]


def test_a_source_without_quotes_takes_them_as_letters(spark: SparkSession) -> None:
    of = source(SourceFormat.CSV, "ts timestamp", "name string", quote="")
    assert parsed(spark, of, [f'{T},"a"', f'{T},"a,b"']) == [('"a"',), BAD]


def test_tabs_pipes_and_dots_delimit_as_they_are(spark: SparkSession) -> None:
    columns = ("ts timestamp", "a string", "b string")
    tsv = source(SourceFormat.TSV, *columns)
    assert parsed(spark, tsv, [f'{T}\t"a,\tb']) == [('"a,', "b")]
    for sign in "|.;$ ^":
        of = source(SourceFormat.CSV, *columns, delimiter=sign)
        time = T if sign != "." else "2026-05-01T12:00:00Z"
        assert parsed(spark, of, [sign.join([time, "x", "y"])]) == [("x", "y")]


def test_empty_lines_and_headers_are_passed_over(spark: SparkSession) -> None:
    of = source(SourceFormat.CSV, "ts timestamp", "name string", header="true")
    lines = ["ts,name", '"TS","Name"', "", f"{T},a", "ts,other", "name,ts"]
    assert parsed(spark, of, lines) == [("a",), BAD, BAD]
    without = source(SourceFormat.CSV, "ts timestamp", "name string")
    assert parsed(spark, without, ["ts,name", ""]) == [BAD]


def test_the_null_value_is_null_in_every_type(spark: SparkSession) -> None:
    of = source(SourceFormat.TSV, "ts timestamp", "a string", "n int", null_value="-")
    assert parsed(spark, of, [f"{T}\t-\t-", f"{T}\tx-\t-1", "-\ta\t1"]) == [
        (None, None),
        ("x-", -1),
        BAD,
    ]


def test_only_the_columns_that_are_used_decide(spark: SparkSession) -> None:
    lines = [f"{T},a,x,2", f"{T},a,1,y", "yesterday,a,1,2", f"{T},a,1,2,3"]
    assert parsed(spark, CSV, lines, need=["n"]) == [BAD, (1,), BAD, BAD]
    assert parsed(spark, CSV, lines, need=["x"]) == [(2.0,), BAD, BAD, BAD]
    assert parsed(spark, CSV, lines, need=["name"]) == [("a",), ("a",), BAD, BAD]


def test_several_needs_are_told_apart_in_one_pass(spark: SparkSession) -> None:
    parser = Parser(CSV, (frozenset(["n"]), frozenset(["x"])))
    view_of(spark, [f"{T},a,x,2", f"{T},a,1,y", f"{T},a,1,2"])
    typed = f"({parser.typed_sql('lines')})"
    assert parser.columns == ["ts", "n", "x"]
    assert [row["n"] for row in spark.sql(parser.records_sql(typed, 0)).collect()] == [1, 1]
    assert [row["x"] for row in spark.sql(parser.records_sql(typed, 1)).collect()] == [2.0, 2.0]


@pytest.mark.parametrize(
    ("format_", "text", "is_noon"),
    [
        ("", "2026-05-01T14:00:00+02:00", True),
        ("", "2026-05-01 12:00:00", True),
        ("epoch_s", "1777636800", True),
        ("epoch_s", "1777636800.0", True),
        ("epoch_ms", "1777636800000", True),
        ("epoch_us", "1777636800000000", True),
        ("dd/MMM/yyyy:HH:mm:ss Z", "01/May/2026:12:00:00 +0000", True),
        ("epoch_s", "soon", False),
        ("epoch_s", "99999999999999999999", False),
        ("epoch_us", "9999999999999999999999", False),
        ("dd/MMM/yyyy:HH:mm:ss Z", "2026-05-01T12:00:00Z", False),
    ],
)
def test_times_are_read_by_their_format(
    spark: SparkSession, format_: str, text: str, is_noon: bool
) -> None:
    options = {"timestamp_format": format_} if format_ else {}
    of = source(SourceFormat.TSV, "ts timestamp", "again timestamp", **options)
    assert parsed(spark, of, [f"{text}\t{text}"]) == [(NOON,) if is_noon else BAD]


def test_fractions_of_an_epoch_are_kept_to_the_microsecond(spark: SparkSession) -> None:
    of = source(SourceFormat.CSV, "ts timestamp", "at timestamp", timestamp_format="epoch_s")
    (row,) = parsed(spark, of, ["1777636800,1777636800.123456"])
    assert row == (NOON + datetime.timedelta(microseconds=123456),)


def test_every_type_converts_or_refuses(spark: SparkSession) -> None:
    of = source(
        SourceFormat.CSV,
        "ts timestamp",
        "flag boolean",
        "small tinyint",
        "big bigint",
        "money decimal(10,2)",
        "day date",
        "raw binary",
        date_format="dd.MM.yyyy",
    )
    good = f"{T},true,-128,9223372036854775807,12345678.90,01.05.2026,xyz"
    bad = [
        f"{T},maybe,1,1,1,01.05.2026,x",
        f"{T},true,128,1,1,01.05.2026,x",
        f"{T},true,1,9223372036854775808,1,01.05.2026,x",
        f"{T},true,1,1,123456789.00,01.05.2026,x",
        f"{T},true,1,1,1,2026-05-01,x",
    ]
    found = parsed(spark, of, [good, *bad])
    day = datetime.date(2026, 5, 1)
    assert found[0] == (True, -128, 2**63 - 1, Decimal("12345678.90"), day, b"xyz")
    assert found[1:] == [BAD] * len(bad)


JSON = source(SourceFormat.JSON, "ts timestamp", "name string", "n int")


def test_a_decimal_of_json_has_the_digits_of_its_line_or_is_malformed(spark: SparkSession) -> None:
    """Fifteen digits come through a double; these have more, or stand beside one that has."""
    money = source(SourceFormat.JSON, "ts timestamp", "v decimal(30,20)")
    long = "1.2345678901234567890"
    expected = {
        f'"v":{long}': (Decimal("1.23456789012345678900"),),
        f'"v":"{long}"': (Decimal("1.23456789012345678900"),),
        f'"v":{long}e2': (Decimal("123.45678901234567890000"),),
        f'"v":1e-05,"w":{long}': (Decimal("0.00001000000000000000"),),
        f'"v":1.5,"v":2.5,"w":{long}': (Decimal("2.50000000000000000000"),),
        f'"w":{long}': (None,),
        f'"v":0.{"1234567890" * 4}': BAD,
        f'"v":many,"w":{long}': BAD,
        f'"v":1.0{"0" * 20}1': BAD,
    }
    lines = [f'{{"ts":"{T}",{rest}}}' for rest in expected]
    assert parsed(spark, money, lines) == list(expected.values())


def test_decimals_within_a_nested_value_of_json_have_the_digits_of_their_line(
    spark: SparkSession,
) -> None:
    nested = source(SourceFormat.JSON, "ts timestamp", "v array<decimal(30,20)>")
    lines = [f'{{"ts":"{T}","v":[1.2345678901234567890, 2]}}', f'{{"ts":"{T}","v":[1, "x"]}}']
    found = [Decimal("1.23456789012345678900"), Decimal("2.00000000000000000000")]
    assert parsed(spark, nested, lines) == [(found,), BAD]


def test_json_values_convert_like_fields_of_other_formats(spark: SparkSession) -> None:
    cases = {
        f'{{"ts":"{T}","name":"a","n":1,"more":[1,{{}}]}}': ("a", 1),
        f'{{"n":"7","ts":"{T}"}}': (None, 7),
        f'{{"ts":"{T}","name":"","n":null}}': ("", None),
        f'{{"ts":"{T}","name":{{"b":[1, 2]}},"n":2}}': ('{"b":[1,2]}', 2),
        f'{{"ts":"{T}","name":true,"n":1.5}}': BAD,
        f'{{"ts":"{T}","n":"x"}}': BAD,
        f'{{"ts":"{T}","n":1': BAD,
        '{"n":1}': BAD,
        "null": BAD,
        "7": BAD,
        "not json": BAD,
        "  ": BAD,
        f'{{"ts":"{T}","name":"\\u65e5\\n","n":1}}': ("日\n", 1),
    }
    assert dict(zip(cases, parsed(spark, JSON, list(cases)), strict=True)) == cases


def test_a_pattern_must_match_from_end_to_end(spark: SparkSession) -> None:
    of = source(
        SourceFormat.REGEX,
        "ts timestamp",
        "name string",
        "n int",
        pattern=r"\[(\S+)\] (\w+)(?: (\d+))?",
    )
    cases = {
        f"[{T}] a 1": ("a", 1),
        f"[{T}] a": ("a", None),
        f"[{T}] a 1 ": BAD,
        f"x[{T}] a 1": BAD,
        f"[{T}] a x": BAD,
        "\x01" + T + "\x01a\x011": BAD,
        f"[{T}] a\x01b 1": BAD,
        f"[{T}] $1 1": BAD,
    }
    assert dict(zip(cases, parsed(spark, of, list(cases)), strict=True)) == cases
    assert parsed(spark, of, list(cases), need=["n"])[0] == (1,)


def test_named_groups_fill_the_columns_of_their_names(spark: SparkSession) -> None:
    of = source(
        SourceFormat.REGEX,
        "ts timestamp",
        "name string",
        "n int",
        pattern=r"(?<n>\d+)\|(?<name>[^|]*)\|(?<ts>.*)",
    )
    assert parsed(spark, of, [f"5|$2\\|{T}", f"x|a|{T}"]) == [("$2\\", 5), BAD]


BROKEN_BYTES = f"{T},".encode() + b"a\xff\xc3b,1,2\n" + f'{T},"'.encode() + b'\xff",1,2\r\n'


def test_bytes_that_are_not_utf8_become_replacement_signs_where_the_source_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "log").write_bytes(BROKEN_BYTES)
    spark.read.text(str(tmp_path / "log")).createOrReplaceTempView("lines")
    of = source(SourceFormat.CSV, "ts timestamp", "name string", "n int", "x int", replace="true")
    table = spark.sql(Parser(of, (frozenset(["name"]),)).typed_sql("lines")).toArrow()
    table.validate(full=True)
    assert table["name"].to_pylist() == ["a��b", "�"]


@pytest.mark.parametrize(
    ("of", "bad", "good"),
    [
        (CSV, b",a\xff,1,2", ",ä�,1,2".encode()),
        (source(SourceFormat.TSV, "ts timestamp", "name string"), b"\t\xc3", "\tä".encode()),
        (
            source(SourceFormat.REGEX, "ts timestamp", "name string", pattern=r"(\S+) (.*)"),
            b" \xe4",
            " ä".encode(),
        ),
        (
            source(SourceFormat.FIXED, "ts timestamp", "name string", widths="20,5"),
            b"ab\xffcd",
            "äöüßé".encode(),
        ),
    ],
    ids=lambda one: one.format if isinstance(one, Source) else "",
)
def test_bytes_that_are_not_utf8_make_their_line_malformed(
    spark: SparkSession, tmp_path: Path, of: Source, bad: bytes, good: bytes
) -> None:
    (tmp_path / "log").write_bytes(b"\n".join(T.encode() + rest for rest in (bad, good)))
    spark.read.text(str(tmp_path / "log")).createOrReplaceTempView("lines")
    parser = Parser(of, (frozenset(["ts"]),))
    sql = f"SELECT __bad_0, __fault FROM ({parser.typed_sql('lines', is_explained=True)})"
    rows = spark.sql(sql).toArrow().to_pylist()
    assert [row["__bad_0"] for row in rows] == [True, False]
    assert "bytes that are not utf-8" in rows[0]["__fault"]


def test_a_sign_for_what_was_not_of_another_encoding_makes_its_line_malformed(
    spark: SparkSession,
) -> None:
    of = source(SourceFormat.CSV, "ts timestamp", "name string", encoding="windows-1252")
    assert parsed(spark, of, [f"{T},a�", f"{T},ä"]) == [BAD, ("ä",)]


def test_lines_that_are_known_to_be_ascii_are_not_looked_through() -> None:
    parser = Parser(CSV, (frozenset(["n"]),), is_ascii=True)
    assert "is_valid_utf8" not in parser.typed_sql("lines")


def test_each_line_is_split_once_and_counted_for_free(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "log"
    lines = [f"{T},a,{n % 7},2" for n in range(50)] + ["", "broken", f"{T},a,x,1"]
    file.write_text("\n".join(lines) + "\n")
    parser = Parser(CSV, (frozenset(["n", "x"]),), is_quote_free=True)
    spark.read.text(str(file)).createOrReplaceTempView("lines")
    records = parser.records_sql(f"({parser.typed_sql('lines')})", 0, is_counted=True)
    query = "SELECT ts, n, count(*) FROM records WHERE NOT ts IS NULL AND n > 3 GROUP BY 1, 2"
    frame = spark.sql(over_records(records, query))
    frame.toArrow()
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("split(") == 1, plan
    assert plan.count("try_cast") == 3, plan
    assert scan_counts(frame) == ScanCounts(candidates=52, records=50)


@pytest.mark.parametrize("header", ["true", "false"])
def test_no_line_is_counted_character_by_character(header: str) -> None:
    """Bytes are known, characters are not: counting them took a fifth of a simple query."""
    made = source(SourceFormat.CSV, "ts timestamp", "a string", header=header)
    text = Parser(made, (frozenset(["a"]),)).typed_sql("lines")
    assert "octet_length(" in text
    assert " length(" not in text.replace("(length(", " length(")
