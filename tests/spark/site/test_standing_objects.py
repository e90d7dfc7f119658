"""JSON by Spark's own reader: what ``from_json`` makes of the same lines, to the last value."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from json_texts import LINES
from spark_kit import compiled

from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.equality import difference
from headwater.plan.query import Query
from headwater.plan.sources.source import Source, SourceFormat
from headwater.reading.form import form_of
from headwater.reading.json_starts import is_row_a_line
from headwater.reading.outcome import SiteOutcome
from headwater.spark.lines.lines import SITE, Linked, LinkedFile, linked
from headwater.spark.lines.parse import BAD, Parser
from headwater.spark.lines.readable import whole_files
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.query_group import groups_of
from headwater.spark.site.standing_objects import StandingObjects, asked_of, columns_asked
from headwater.spark.workers.made_fields import Made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

T = "2026-05-01T12:00:0"
FILES = 100
"""By which lines are told apart: those of a file are compared together."""
FIT = [line for line in LINES if is_row_a_line([line.encode("utf-8", "surrogatepass")])]


def source(type_: str, **options: str) -> Source:
    columns = (Column("ts", "timestamp"), Column("n", "bigint"), Column("v", type_))
    return Source(
        "s",
        columns,
        SourceFormat.JSON,
        "*",
        "ts",
        options=tuple(options.items()),
        time_sql="timestamp_seconds(n)",
    )


SOURCES = [
    *map(source, ["bigint", "int", "smallint", "tinyint", "boolean", "double", "float", "string"]),
    *map(source, ["timestamp", "date", "decimal(20,2)", "array<int>", "varchar(3)"]),
    source("timestamp", timestamp_format="epoch_ms"),
    source("decimal(20,2)", round="true"),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("objects")
    for number in range(FILES):
        (place / f"{SITE}={number}").mkdir()
        lines = "".join(f"{line}\n" for line in FIT[number::FILES])
        (place / f"{SITE}={number}" / "a.txt").write_bytes(lines.encode())
    return place


@pytest.mark.parametrize("of", SOURCES, ids=lambda of: f"{of.columns[2].type} {of.options}")
@pytest.mark.parametrize("value", [5, "5"], ids=["bare", "in quotes"])
def test_what_is_read_is_what_expressions_make_of_it(
    spark: SparkSession, directory: Path, of: Source, value: object
) -> None:
    """However the sample is written."""
    sample = [{"n": 1, "v": value if of.columns[2].type != "boolean" else True}]
    asked = columns_asked(of, ["n", "v"], sample)
    assert asked is not None
    objects = StandingObjects()
    objects.make_view(spark, asked, directory, is_one_task=True)
    parser = Parser(of, (frozenset(["n", "v"]),))
    made = Made("__object_lines", tuple((one.name, one.kind) for one in asked))
    by_reader = msgspec.structs.replace(parser, made=made)
    spark.read.text(str(directory)).coalesce(1).createOrReplaceTempView("fit_lines")
    found = rows_of(spark, by_reader, made.view)
    wanted = rows_of(spark, parser, "fit_lines")
    assert wanted - found == found - wanted == Counter()
    assert found.total() == len([line for line in FIT if line])


def rows_of(spark: SparkSession, parser: Parser, view: str) -> Counter[tuple[str, ...]]:
    """Whose values are bad is compared as that alone: nobody sees them."""
    typed = parser.typed_sql(view, keep=[SITE])
    values = [f"if({BAD}0, NULL, CAST({name} AS STRING))" for name in ("n", "v")]
    sql = f"SELECT {SITE}, {BAD}0, {values[0]} AS a, {values[1]} AS b FROM ({typed})"
    columns = spark.sql(sql).toArrow().columns
    return Counter(
        tuple(map(repr, row)) for row in zip(*(c.to_pylist() for c in columns), strict=True)
    )


EVENTS = """CREATE SOURCE events (ts TIMESTAMP, name STRING, n BIGINT, deep STRING PATH 'd.x',
deeper INT PATH 'd.y[0]', ok BOOLEAN, cost DOUBLE) WITH (format = 'json', path = '*', time = 'ts');
"""
GOOD = f'{{"ts":"{T}1Z","name":"a","n":1,"d":{{"x":"ä","y":[7]}},"ok":true,"cost":0.5}}\n'
AWKWARD = [
    GOOD, f'{{"ts":"{T}2Z","name":"b","n":"2","d":{{"x":1.50}}}}\n', "{\n", "Traceback:\n", "7\n",
    f'{{"ts":"{T}3Z","n":1.5}}\n', '{"ts":"yesterday","name":"b"}\n', "\n", "{}\n", "\r\n",
    f'{{"ts":"{T}4Z","n":9223372036854775808,"ok":"yes"}}\n', f'{{"ts":"{T}4Z","n":1}}}}\n',
    f'{{"ts":"{T}5Z","name":null,"n":null,"d":null,"ok":null,"cost":null}}\n',
    f'{{"ts":"{T}5Z","name":{{"a":[1, 2]}},"d":{{"y":"x"}},"cost":1e400}}\n',
    f'{{"ts":"{T}6Z","name":"\\ud800","n":-0,"n":3,"cost":-0}}\n',
]  # fmt: skip
QUERIES = [
    "SELECT name, sum(n) AS n, count(*) AS c FROM events GROUP BY window(ts, '10 seconds'), name",
    "SELECT deep, deeper, sum(cost) AS s FROM events WHERE ok OR ok IS NULL "
    "GROUP BY window(ts, '10 seconds'), deep, deeper",
]


def asking(count: int) -> tuple[Query, ...]:
    streams = [f"CREATE STREAM q{n} AS {text};" for n, text in enumerate(QUERIES[:count])]
    return tuple(compiled("".join(streams), EVENTS))


def run(
    spark: SparkSession, place: Path, queries: Sequence[Query], files: Sequence[Path]
) -> list[SiteOutcome]:
    """At two sites, where there are two files."""
    runner = BatchRunner(spark, place / "batch")
    form = form_of(queries[0].program.source)
    batches = [
        SiteBatch(f"site{n}", tuple(whole_files([file], form)), tuple(queries))
        for n, file in enumerate(files)
    ]
    try:
        return runner.run(batches)
    finally:
        runner.close()


@pytest.mark.parametrize("sites", [1, 2])
@pytest.mark.parametrize("query_count", [1, 2])
def test_a_batch_is_the_same_by_reader_and_by_lines(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    query_count: int,
    sites: int,
) -> None:
    files = [tmp_path / f"{n}.json" for n in range(sites)]
    for number, file in enumerate(files):
        file.write_text(GOOD * (200 + number) + "".join(AWKWARD))
    queries, taken = asking(query_count), []
    noted = StandingObjects.parser

    def parser(self: StandingObjects, *given: Any, **more: Any) -> Parser | None:
        taken.append(noted(self, *given, **more))
        return taken[-1]

    monkeypatch.setattr(StandingObjects, "parser", parser)
    found = run(spark, tmp_path, queries, files)
    assert [one is None for one in taken] == [False]
    monkeypatch.setattr(StandingObjects, "parser", lambda *_, **__: None)
    for ours, theirs in zip(found, run(spark, tmp_path, queries, files), strict=True):
        assert ours.unparsed > 5
        for one, other in zip(ours.results, theirs.results, strict=True):
            assert (one.failed, one.malformed) == (None, other.malformed)
            assert difference(cast(Any, one.table), cast(Any, other.table)) is None
        blank = {"results": ()}
        assert msgspec.structs.replace(ours, **blank) == msgspec.structs.replace(theirs, **blank)


def test_every_batch_reads_its_own_files_by_one_plan(spark: SparkSession, tmp_path: Path) -> None:
    (query,) = asking(1)
    (group,) = groups_of([(query,)])
    objects, form = StandingObjects(), form_of(query.program.source)
    for number in range(3):
        file = tmp_path / f"{number}.json"
        file.write_text(GOOD * (number + 1))
        chunks = whole_files([file], form)
        with linked(tmp_path / "batch", [chunks], form=form) as found:
            made = objects.parser(spark, group.parser(chunks), found, byte_count=1)
            assert made is not None
            assert made.made is not None
            sql = f"SELECT count(*), count(value) FROM {made.made.view} WHERE __made_0 <> ''"
            frame = objects.sql(sql)
            assert tuple(frame.collect()[0]) == (number + 1, 0)
            phases = cast(Any, frame)._jdf.queryExecution().tracker().phases()
            assert phases.contains("parsing") == (number == 0)


def asked(tmp_path: Path, text: str, *, options: str = "format = 'json'", columns: str = "") -> Any:
    declared = columns or "ts TIMESTAMP, name STRING, n BIGINT"
    created = f"CREATE SOURCE e ({declared}) WITH ({options}, path = '*', time = 'ts');"
    select = "CREATE STREAM q AS SELECT count(*) AS c FROM e GROUP BY window(ts, '10 seconds');"
    (query,) = compiled(select, created)
    path = tmp_path / "a.txt"
    path.write_text(text)
    of = query.program.source
    parser = Parser(of, (frozenset(one.name for one in of.columns),))
    return asked_of(parser, Linked(tmp_path, files=(LinkedFile(path, 0),)))


LINE = f'{{"ts":"{T}0Z","name":"a","n":1}}\n'


@pytest.mark.parametrize("more", ["null\n", "[{}]\n", "  \n", "\x00\n"])
def test_lines_of_which_it_makes_no_row_or_several_are_not_for_it(
    tmp_path: Path, more: str
) -> None:
    assert asked(tmp_path, LINE * 20) is not None
    assert asked(tmp_path, LINE * 20 + more) is None


@pytest.mark.parametrize("bad", ["1.5", "{}", "true", '"2"'])
def test_lines_many_of_which_would_be_parsed_twice_are_not_for_it(tmp_path: Path, bad: str) -> None:
    other = LINE.replace(":1}", f":{bad}}}")
    assert asked(tmp_path, LINE * 18 + other) is not None
    assert asked(tmp_path, LINE * 7 + other) is None
    quoted = asked(tmp_path, LINE.replace(":1}", ':"1"}'))
    assert [one.read_as for one in quoted] == ["string", "string", "string"]


@pytest.mark.parametrize(
    ("columns", "is_taken"),
    [
        ("ts TIMESTAMP, n DECIMAL(20, 2)", True),
        ("ts TIMESTAMP, n DECIMAL(20, 2) PATH 'd.n'", False),
        ("ts TIMESTAMP, n BIGINT, m STRING PATH 'N'", False),
        ("ts TIMESTAMP, n BIGINT, m STRING PATH 'n'", True),
        ("ts TIMESTAMP, n BIGINT, m STRING PATH '__corrupt'", False),
    ],
)
def test_columns_that_it_can_be_asked_for(tmp_path: Path, columns: str, is_taken: bool) -> None:
    assert (asked(tmp_path, LINE, columns=columns) is not None) == is_taken


def test_comments_and_compressed_files_are_not_for_it(tmp_path: Path) -> None:
    assert asked(tmp_path, LINE, options="format = 'json', comment = '#'") is None
    (query,) = asking(1)
    path = tmp_path / "b.json.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    (group,) = groups_of([(query,)])
    form = form_of(query.program.source)
    chunks = whole_files([path], form)
    with linked(tmp_path / "batch", [chunks], form=form) as found:
        assert asked_of(group.parser(chunks), found) is None
