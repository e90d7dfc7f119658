"""JSON lines by Python workers: what Spark's expressions make of them, to the last value."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headwater.algebra.rows.columns import Column
from headwater.plan.sources.source import Source, SourceFormat
from headwater.reading.strict.strict_json import StrictJson, json_columns_of
from headwater.reading.strict.strict_kinds import EPOCH_US, ISO, TEXT, TYPES
from headwater.reading.strict.strict_lines import LINE
from headwater.spark.lines.lines import Linked, LinkedFile
from headwater.spark.lines.parse import Parser
from headwater.spark.workers.line_workers import Reading
from headwater.spark.workers.readings import kinds_of, reading_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOKENS = [
    "0", "-0", "5", "-5", "+5", "05", "127", "128", "-129", "32768", "2147483648", "1777636800",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
    "1777636800000", "1.5", "1.0", "1.", ".5", "-", "1e5", "1E5", "1e-5", "1e400", "-1e400",
    "1e-400", "4.9e-324", "0.0", "-0.0", "0e5", "-0e5", "NaN", "-NaN", "Infinity", "-Infinity",
    "Inf", "-Inf", "INF", "0.1", "16777217", "3.4028236e38", "1e39", "9007199254740993",
    "1.000000059604644775390625", "1.00000017881393432617187499", "0.30000000000000004",
    "123456789012345678901234567890", "1.17549429e-38", "8.5e-46", "7e-46", "253402300800", "0x1F",
    "true", "false", "True", "null", "nul", "{}", "[]", '{"a":1}', "[1,2]", '"a"', '""', '" "',
    r'"\u0041\n\t\"\\\/"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00"', r'"\u0000"', r'"\x"',
    '"ä😀"', '"a\tb"', "'a'", '"unended', '"x" "y"', "1 2", '"2026-05-01T12:00:00Z"',
    '"2026-05-01 12:00:00.123456"', '"2026-05-01T12Z"', '"2026-05-01"', '"12:00:00"',
    '"2024-02-29T00:00:00Z"', '"2026-02-29T00:00:00Z"', '"2026-05-01T12:00:00+02:00"', '"0x1F"',
    '"0001-01-01T00:00:00Z"', '"10000-01-01T00:00:00Z"', '"2026-05-01T12:00:00.1234567Z"',
    '"5"', '" 5"', '"+5"', '"1.5"', '"NaN"', '"1e5"', '"true"', '"yes"', '"1777636800"', '"1d"',
    r'"\u0035"', '"5', "Infinit", "/* 5 */ 5", "5 // five", "5,", '5,"v":6', '5,"v":null',
    "1" * 1001, f"{'1' * 999}.5", "[" * 999 + "]" * 999, "[" * 998 + "]" * 998,
]  # fmt: skip
SIGNS = ' \t0123456789+-.eE"\\{}[]:,nuNIaä\x0b\x00'


def lines_with(tokens: list[str]) -> list[str]:
    """Each token as the value, as one that nobody wants, and in other lines."""
    lines = [f'{{"n":{at},"v":{token}}}' for at, token in enumerate(tokens)]
    lines += [f'{{"w":{token},"n":7}}' for token in tokens]
    lines += [
        '{"n":1}{"n":2}', '{"n":1}null', '{"n":1} x}', '{"n":1}}', ' {"n":1}', '{"n":1} ', "{}",
        '{"\\u006e":1}', '{"n":1,"n":2}', '{"w":1,"w":2,"n":1}', '{"N":1}', '{"n":1', '{"n":1,}',
        '{n:1}', "{'n':1}", '{"n" : 1 , "v":null}', '{"":1,"n":1}', "null", "[]", '[{"n":1},{}]',
        "7", "x", '\ufeff{"n":1}', '{"n":1}\x00', '{"n":1}\x00{}', '{"n":1,"w":"\x01"}', "{}{}{}",
        '{"n":1}//}', '/**/{"n":1}', f'{{"{"k" * 50_001}":1,"n":1}}', f'{{"{"k" * 49_000}":1}}',
        f'{{"w":"{"k" * 70_000}","n":1}}', '{"n":{"n":1}}', '{"n":1}\u2028', '{"n":[{"n":2}]}',
    ]  # fmt: skip
    return lines


def mutated(lines: list[str], count: int) -> list[str]:
    chance = random.Random(11)
    short = [line for line in lines if len(line) < 200]
    found = []
    for _ in range(count):
        line = chance.choice(short)
        at = chance.randrange(len(line) + 1)
        found.append(line[:at] + chance.choice(SIGNS) + line[at + chance.randrange(2) :])
    return found


LINES = [*lines_with(TOKENS), *mutated(lines_with(TOKENS), 1_500)]


def source(type_: str, options: dict[str, str]) -> Source:
    """All records have the same time, which is in no line."""
    columns = (Column("ts", "timestamp"), Column("n", "bigint"), Column("v", type_))
    return Source(
        "s", columns, SourceFormat.JSON, "*", "ts",
        options=tuple(options.items()), time_sql="timestamp_seconds(0)",
    )  # fmt: skip


def by_spark(spark: SparkSession, kind: str) -> list[tuple[bool, Any, Any]]:
    """By the number of the line: whether it is malformed, and its values."""
    options = {"timestamp_format": kind} if kind in EPOCH_US else {}
    type_ = {TEXT: "string"}.get(kind, "timestamp" if TYPES[kind] == TYPES[ISO] else kind)
    parser = Parser(source(type_, options), (frozenset(["n", "v"]),))
    table = pa.table({"k": pa.array(range(len(LINES))), LINE: pa.array(LINES)})
    spark.createDataFrame(table).createOrReplaceTempView("lines")
    inner = f"({parser.typed_sql('lines', keep=['k'])})"
    found = spark.sql(f"SELECT k, __bad_0, n, v FROM {inner}").toArrow().combine_chunks()
    rows = zip(*map(plain, found.columns), strict=True)
    by_line = {k: (bad, n, v) for k, bad, n, v in rows}
    return [by_line.get(number, (False, None, None)) for number in range(len(LINES))]


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Times as microseconds: they may lie beyond what Python has."""
    is_time = pa.types.is_timestamp(column.type)
    return (column.cast(pa.int64()) if is_time else column).to_pylist()


@pytest.mark.parametrize("kind", list(TYPES))
def test_what_is_taken_is_what_spark_makes_of_it(spark: SparkSession, kind: str) -> None:
    wanted = by_spark(spark, kind)
    for is_text in {ISO: [True], "boolean": [False]}.get(kind, [True, False]):
        strict = StrictJson(("n", "v"), ("bigint", kind), (False, is_text))
        taken = 0
        for number, line in enumerate(LINES):
            for batch in json_columns_of(line.encode("utf-8", "surrogatepass") + b"\n", strict):
                for row in zip(*map(plain, batch.columns[1:]), strict=True):
                    if batch.column(LINE).null_count:
                        is_bad, n, v = wanted[number]
                        assert repr(row) == repr((n, v)), line[:200]
                        assert not is_bad, line[:200]
                        taken += 1
        assert taken > 20


def test_a_block_of_all_lines_is_taken_as_its_lines_are() -> None:
    chance = random.Random(3)
    good = [f'{{"n":{n},"v":{n}.5}}' for n in range(2_000)]
    strict = StrictJson(("n", "v"), ("bigint", "double"), (False, False))
    alone = {line: rows_of(line, strict) for line in {*LINES, *good}}
    for _ in range(20):
        lines = [*good, *chance.sample(LINES, 40)]
        chance.shuffle(lines)
        taken, given_back = both("\n".join(lines) + "\n", strict)
        assert len(taken) + len(given_back) == len([one for one in lines if one])
        left = sorted(repr(row) for line in lines for row in alone[line] or ())
        for line in given_back:
            for row in alone.get(line) or ():
                left.remove(repr(row))
        assert sorted(map(repr, taken)) == left


def rows_of(line: str, strict: StrictJson) -> list[tuple[Any, ...]]:
    return both(line + "\n", strict)[0]


def both(block: str, strict: StrictJson) -> tuple[list[tuple[Any, ...]], list[str]]:
    taken: list[tuple[Any, ...]] = []
    given_back: list[str] = []
    for batch in json_columns_of(block.encode(), strict):
        if batch.column(LINE).null_count:
            taken += zip(*map(plain, batch.columns[1:]), strict=True)
        else:
            given_back += batch.column(LINE).to_pylist()
    return taken, given_back


def asked(tmp_path: Path, of: Source, lines: list[Any]) -> Reading | None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    parser = Parser(of, (frozenset(column.name for column in of.columns),))
    return reading_of(parser, Linked(tmp_path, files=(LinkedFile(path, 0),)), tasks=2)


EVENTS = Source(
    "s",
    (Column("ts", "timestamp"), Column("name", "string"), Column("n", "bigint")),
    SourceFormat.JSON, "*", "ts",
)  # fmt: skip


@pytest.mark.parametrize(("number", "name"), list(product([1, "1"], ["a", 5])))
def test_how_numbers_are_written_is_learned_from_a_sample(
    tmp_path: Path, number: object, name: object
) -> None:
    line = {"ts": "2026-05-01T12:00:00Z", "n": number, "name": name}
    reading = asked(tmp_path, EVENTS, [line] * 20)
    assert reading is not None
    assert isinstance(reading.strict, StrictJson)
    assert reading.strict.keys == ("ts", "name", "n")
    assert reading.strict.are_texts == (True, name == "a", number == "1")


@pytest.mark.parametrize("bad", [1.5, {"n": 1}, "x", True])
def test_lines_most_of_which_would_come_back_are_the_jvms(tmp_path: Path, bad: object) -> None:
    good = {"ts": "2026-05-01T12:00:00Z", "n": 1, "name": "a"}
    assert asked(tmp_path, EVENTS, [good] * 18 + [good | {"n": bad}]) is not None
    assert asked(tmp_path, EVENTS, [good] * 7 + [good | {"n": bad}]) is None


def test_values_that_lie_deeper_and_one_value_for_two_columns_are_the_jvms(tmp_path: Path) -> None:
    line = {"ts": "2026-05-01T12:00:00Z", "n": {"m": 1}, "name": "a"}
    for paths in ((("n", "n.m"),), (("n", "name"),)):
        of = Source(
            "s", EVENTS.columns, SourceFormat.JSON, "*", "ts", paths=paths
        )  # fmt: skip
        assert asked(tmp_path, of, [line]) is None
    of = Source("s", EVENTS.columns, SourceFormat.JSON, "*", "ts", paths=(("n", "m"),))
    reading = asked(tmp_path, of, [line | {"m": 5}])
    assert reading is not None
    assert isinstance(reading.strict, StrictJson)
    assert reading.strict.keys == ("ts", "name", "m")
    parser = Parser(of, (frozenset(["n"]),))
    assert kinds_of(parser) == (("ts", "iso"), ("n", "bigint"))
