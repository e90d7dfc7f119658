"""Why a line is malformed: every format, every kind of fault, and each line once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headwater.algebra.rows.columns import Column
from headwater.algebra.words.malformed import Malformed
from headwater.plan.sources.source import Source, SourceFormat
from headwater.spark.lines.fields import LINE
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.malformed import LINE_CHARACTERS, VALUE_CHARACTERS, kinds_of
from headwater.spark.lines.parse import Parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = "2026-05-01T12:00:00Z"
COLUMNS = (Column("ts", "timestamp"), Column("name", "string"), Column("n", "int"))
ALL = frozenset({"ts", "name", "n"})


def source(format_: SourceFormat = SourceFormat.CSV, **options: str) -> Source:
    return Source("s", COLUMNS, format_, "*", "ts", tuple(options.items()))


def explained(
    spark: SparkSession, of: Source, *sites: Sequence[str], needs: Sequence[frozenset[str]] = (ALL,)
) -> list[tuple[Malformed, ...]]:
    pairs = [(line, number) for number, lines in enumerate(sites) for line in lines]
    table = pa.table(
        {
            LINE: pa.array([line for line, _ in pairs], pa.string()),
            SITE: pa.array([number for _, number in pairs], pa.int32()),
        }
    )
    spark.createDataFrame(table).coalesce(1).createOrReplaceTempView("lines")
    return kinds_of(spark, Parser(of, tuple(needs)), "lines", site_count=len(sites))


@pytest.mark.spark
def test_the_field_what_was_wanted_and_what_came_are_told_for_each_site(
    spark: SparkSession,
) -> None:
    first, second = explained(
        spark,
        source(),
        [f"{T},a,1", f"{T},a,1,", f"{T},b,2,", f"{T},a,many", "soon,a,1", ",a,1", "", f"{T},a,"],
        [f"{T},x"],
    )
    assert first == (
        Malformed(reason="wanted 3 fields, got 4", lines=2, came=None, sample=f"{T},a,1,"),
        Malformed(reason="n: wanted int", lines=1, came="many", sample=f"{T},a,many"),
        Malformed(reason="ts: wanted a time, it is empty", lines=1, came=None, sample=",a,1"),
        Malformed(reason="ts: wanted timestamp", lines=1, came="soon", sample="soon,a,1"),
    )
    assert second == (
        Malformed(reason="wanted 3 fields, got 2", lines=1, came=None, sample=f"{T},x"),
    )


@pytest.mark.spark
@pytest.mark.parametrize("name", ["value", "VALUE"])
def test_a_column_may_be_called_as_spark_calls_a_line(spark: SparkSession, name: str) -> None:
    columns = (Column("ts", "timestamp"), Column(name, "int"))
    of = Source("s", columns, SourceFormat.CSV, "*", "ts", ())
    (found,) = explained(spark, of, [f"{T},1", f"{T},many"], needs=[frozenset({name})])
    assert found == (
        Malformed(reason=f"{name}: wanted int", lines=1, came="many", sample=f"{T},many"),
    )


@pytest.mark.spark
def test_each_format_says_what_a_line_should_be(spark: SparkSession) -> None:
    def only(of: Source, line: str) -> str:
        ((kind,),) = explained(spark, of, [line])
        return kind.text()

    assert only(source(), f'{T},"a') == (
        f"wanted 3 fields, got another number, or a quote that does not end (1 line: '{T},\"a')"
    )
    assert only(source(SourceFormat.JSON), '{"ts": ').startswith("wanted a JSON object in one line")
    record = json.dumps({"ts": T, "name": "a", "n": [1]})
    assert only(source(SourceFormat.JSON), record).startswith("n: wanted int, came '[1]'")
    pattern = source(SourceFormat.REGEX, pattern=r"(\S+) (\S+) (\S+)")
    assert only(pattern, "a b").startswith("wanted a line that the pattern matches from end to end")
    assert "say record_start" in only(pattern, "\tat a.B.c(B.java:1)")
    started = source(SourceFormat.REGEX, pattern=r"(\S+) (\S+) (\S+)", record_start=r"\d")
    assert only(started, "a\nb").startswith("wanted a record whose lines the pattern matches")
    assert only(pattern, f"{T} a x").startswith("n: wanted int, came 'x'")
    written = source(timestamp_format="epoch_ms")
    assert only(written, f"{T},a,1").startswith(
        f"ts: wanted timestamp written as 'epoch_ms', came '{T}'"
    )
    many = ",".join("x" * 2000)
    assert only(source(), many).startswith("wanted 3 fields, got more than 1000")


@pytest.mark.spark
def test_fields_that_no_query_uses_are_no_reason(spark: SparkSession) -> None:
    lines = [f"{T},a,many"]
    assert explained(spark, source(), lines, needs=[frozenset({"name"})]) == [()]
    found = explained(spark, source(), lines, needs=[frozenset({"name"}), frozenset({"n"})])
    assert [kind.reason for (kind,) in found] == ["n: wanted int"]


@pytest.mark.spark
def test_what_is_shown_is_cut_and_has_nothing_that_a_terminal_obeys(spark: SparkSession) -> None:
    ((kind,),) = explained(spark, source(), [f"{T},a,\x1b[2J{'9' * 500}"])
    assert kind.came is not None
    assert kind.sample is not None
    assert kind.came.startswith("�[2J999")
    assert (len(kind.came), kind.came[-1]) == (VALUE_CHARACTERS, "…")
    assert (len(kind.sample), kind.sample[-1]) == (LINE_CHARACTERS, "…")
    assert "\x1b" not in kind.text()


BAD_LINES = {
    "wanted 3 fields, got 1": "x",
    "wanted 3 fields, got 5": ",,,,",
    "ts: wanted timestamp": "never,a,b",
    "ts: wanted a time, it is empty": ",a,b",
    "n: wanted int": f"{T},,1.5",
}


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_malformed_line_is_counted_once_with_its_reason(
    spark: SparkSession, seed: int
) -> None:
    """Whatever is wrong further on: the kinds add up to the lines that are malformed."""
    chance = random.Random(seed)
    wanted: list[Counter[str]] = [Counter() for _ in range(3)]
    sites: list[list[str]] = [[] for _ in wanted]
    for _ in range(300):
        number, reason = chance.randrange(3), chance.choice([*BAD_LINES, "", ""])
        sites[number].append(BAD_LINES.get(reason, f"{T},a,1"))
        if reason:
            wanted[number][reason] += 1
    found = explained(spark, source(), *sites)
    assert [{kind.reason: kind.lines for kind in kinds} for kinds in found] == wanted
