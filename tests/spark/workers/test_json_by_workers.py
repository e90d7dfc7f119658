"""JSON lines by Python workers: what Spark's expressions make of them, to the last value."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from json_texts import LINES

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


def source(type_: str, options: dict[str, str]) -> Source:
    """All records have the same time, which is in no line."""
    columns = (Column("ts", "timestamp"), Column("n", "bigint"), Column("v", type_))
    return Source(
        "s",
        columns,
        SourceFormat.JSON,
        "*",
        "ts",
        options=tuple(options.items()),
        time_sql="timestamp_seconds(0)",
    )


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
    SourceFormat.JSON,
    "*",
    "ts",
)


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
        of = Source("s", EVENTS.columns, SourceFormat.JSON, "*", "ts", paths=paths)
        assert asked(tmp_path, of, [line]) is None
    of = Source("s", EVENTS.columns, SourceFormat.JSON, "*", "ts", paths=(("n", "m"),))
    reading = asked(tmp_path, of, [line | {"m": 5}])
    assert reading is not None
    assert isinstance(reading.strict, StrictJson)
    assert reading.strict.keys == ("ts", "name", "m")
    parser = Parser(of, (frozenset(["n"]),))
    assert kinds_of(parser) == (("ts", "iso"), ("n", "bigint"))
