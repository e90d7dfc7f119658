"""Lines by Python workers: the same rows and counts as by the JVM, and the JVM where they fail."""

from __future__ import annotations

import gzip
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
from spark_kit import HITS, Chunk, ListInbox, compiled, per_domain, stream

from headwater.algebra.rows.equality import difference
from headwater.plan.query import Query
from headwater.reading.form import form_of
from headwater.reading.outcome import SiteOutcome
from headwater.reading.strict.strict_columns import Layout, Strict, columns_of
from headwater.reading.strict.strict_kinds import ISO, TYPES
from headwater.reading.strict.strict_lines import LINE
from headwater.spark.lines.convert import conversion
from headwater.spark.lines.fields import literal
from headwater.spark.lines.lines import Linked, linked
from headwater.spark.lines.parse import Parser
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.query_group import groups_of
from headwater.spark.site.site_jobs import SiteJobs
from headwater.spark.workers import line_workers, readings, worker_lines
from headwater.spark.workers.made_fields import Made
from headwater.spark.workers.readings import reading_of
from headwater.spark.workers.worker_lines import WORKER_LINES, LineWorkers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINES = [
    "2026-05-01T12:00:01Z,a.example,10,1.5",
    "2026-05-01T12:00:02Z,b.example,20,",
    "2026-05-01T12:00:12Z,a.example,9223372036854775807,NaN",
    "2026-05-01T12:00:13Z,a.example, 17 ,-1",
    "2026-05-01T12:00:14.25+02:00,a.example,-9223372036854775808,0.25",
    "broken",
    "",
    "2026-05-01T12:00:15Z,,7,1",
    "2026-05-01T12:00:15Z,b.example,many,1",
    "2026-05-01T12:00:15Z,b.example,0x10,1",
    "12:00:15,b.example,1,1",
    ",b.example,1,1",
    "2026-05-01 12:00:16.123456,ä.example,+5,1e3",
    "1969-12-31T23:59:59Z,old.example,1,1",
]
SEVERAL = (
    "CREATE STREAM a AS SELECT domain, count(*) AS n, sum(ms) AS b FROM hits "
    "GROUP BY window(ts, '10 seconds'), domain;"
    "CREATE STREAM b AS SELECT max(bytes DIV 2) AS m, count(*) AS n FROM hits WHERE bytes > 0 "
    "GROUP BY window(ts, '5 seconds');"
)


class Noted:
    """What workers read, and what went wrong there."""

    def __init__(self) -> None:
        self.batches = 0
        self.failures: list[str] = []


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Workers get every batch that they can take."""
    monkeypatch.setattr(worker_lines, "WORKERS_BYTES_MIN", 0)
    monkeypatch.setattr(readings, "GIVEN_BACK_MAX", 1.0)
    found = Noted()
    parser, failed = LineWorkers.parser, LineWorkers.failed

    def with_parser(self: LineWorkers, *given: Any, **more: Any) -> Any:
        made = parser(self, *given, **more)
        found.batches += made is not None
        return made

    def with_failed(self: LineWorkers, why: str) -> None:
        found.failures.append(why)
        failed(self, why)

    monkeypatch.setattr(LineWorkers, "parser", with_parser)
    monkeypatch.setattr(LineWorkers, "failed", with_failed)
    return found


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


def sites(tmp_path: Path, *queries: Query, fence: Fence = Fence()) -> list[SiteBatch]:  # noqa: B008
    """Two sites, one of which has its lines in two chunks."""
    made = []
    for name, parts in {"x": [LINES[:5], LINES[5:]], "y": [LINES[::2]]}.items():
        inbox = ListInbox(tmp_path / name, queries[0].program.source)
        for lines in parts:
            inbox.put(*lines)
        made.append(SiteBatch(name, tuple(inbox.chunks), queries, fence))
    return made


def assert_same(found: list[SiteOutcome], wanted: list[SiteOutcome]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.lines > 0
        for name in ("records", "unparsed", "high_time_us", "fenced", "refused", "lines"):
            assert getattr(one, name) == getattr(other, name), name
        assert {kind.reason for kind in one.samples} == {kind.reason for kind in other.samples}
        for mine, theirs in zip(one.results, other.results, strict=True):
            assert (mine.failed, mine.malformed) == (theirs.failed, theirs.malformed)
            assert (mine.table is None) == (theirs.table is None)
            if mine.table is not None and theirs.table is not None:
                assert mine.table.schema == theirs.table.schema
                assert difference(mine.table, theirs.table) is None


def by_the_jvm(runner: BatchRunner, batches: list[SiteBatch]) -> list[SiteOutcome]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker_lines, "WORKERS_BYTES_MIN", 1 << 40)
        patched.setattr(runner._samples, "_next_s", 0.0)
        return runner.run(batches)


@pytest.mark.parametrize("fence", [Fence(), Fence(1777636812_000_000, 1777636814_000_000)])
@pytest.mark.parametrize("count", [1, 2], ids=["one site", "two sites"])
@pytest.mark.parametrize("is_several", [False, True], ids=["one query", "two queries"])
def test_a_batch_gives_the_same(
    runner: BatchRunner, noted: Noted, tmp_path: Path, count: int, is_several: bool, fence: Fence
) -> None:
    queries = compiled(SEVERAL) if is_several else [per_domain()]
    batches = sites(tmp_path, *queries, fence=fence)[:count]
    wanted = by_the_jvm(runner, batches)
    assert noted.batches == 0
    runner._samples._next_s = 0.0
    assert_same(runner.run(batches), wanted)
    assert (noted.batches, noted.failures) == (1, [])
    assert wanted[0].unparsed > 0


HEADED = HITS.replace("format = 'csv'", "format = 'csv', header = 'true'")


def test_files_with_other_headers_give_the_same(
    runner: BatchRunner, noted: Noted, tmp_path: Path
) -> None:
    query = stream(
        "SELECT domain, sum(bytes) AS b FROM hits GROUP BY window(ts, '10 seconds'), domain",
        source=HEADED,
    )
    texts = {
        "ts,domain,bytes,ms": "2026-05-01T12:00:01Z,a,10,1\n2026-05-01T12:00:02Z,b,x,1\n",
        "more,bytes,ms,Domain,ts": "?,5,1,a,2026-05-01T12:00:03Z\n?,?\n",
    }
    chunks = []
    for cut, (header, text) in enumerate(texts.items(), start=1):
        path = tmp_path / f"{cut}.csv"
        path.write_text(f"{header}\n{text}{header}\n")
        chunks.append(Chunk(cut, path, path.stat().st_size, header))
    batches = [SiteBatch("x", tuple(chunks), (query,))]
    wanted = by_the_jvm(runner, batches)
    assert (wanted[0].records, wanted[0].unparsed) == (2, 2)
    runner._samples._next_s = 0.0
    assert_same(runner.run(batches), wanted)
    assert noted.batches == 1


def kills_itself(*_: object) -> Iterator[pa.RecordBatch]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield from ()


def raises(*_: object) -> Iterator[pa.RecordBatch]:
    raise OSError("no such disk")
    yield


@pytest.mark.parametrize(
    ("end", "words"), [(kills_itself, "Python worker"), (raises, "no such disk")]
)
@pytest.mark.parametrize("is_several", [False, True], ids=["one query", "two queries"])
def test_where_workers_fail_the_jvm_reads_the_batch_and_they_pause(
    runner: BatchRunner,
    noted: Noted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[..., Any],
    words: str,
    is_several: bool,
) -> None:
    queries = compiled(SEVERAL) if is_several else [per_domain()]
    batches = sites(tmp_path, *queries)[: 1 + is_several]
    wanted = by_the_jvm(runner, batches)
    by_value = type(end)(end.__code__, {"os": os, "signal": signal}, "by_value")
    monkeypatch.setattr(worker_lines, "read_tasks", by_value)
    runner._samples._next_s = 0.0
    assert_same(runner.run(batches), wanted)
    (why,) = noted.failures
    assert words in why


def hangs(*_: object) -> Iterator[pa.RecordBatch]:
    signal.pause()
    yield from ()


class ShortForWorkers(SiteJobs):
    """Workers have little time, and the JVM, on a busy machine, all it needs."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark, job_s_max=3600.0)

    @contextmanager
    def by_workers(self) -> Iterator[None]:
        with super().by_workers():
            self._job_s_max = 0.5
            try:
                yield
            finally:
                self._job_s_max = 3600.0


@pytest.mark.parametrize("is_in_time", [True, False], ids=["idle", "over its time"])
@pytest.mark.parametrize("is_several", [False, True], ids=["one query", "two queries"])
def test_a_worker_that_hangs_costs_no_query_its_batch(
    runner: BatchRunner,
    spark: SparkSession,
    noted: Noted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_several: bool,
    is_in_time: bool,
) -> None:
    """Spark ends it, or, where that comes too late, the job is over its time."""
    queries = compiled(SEVERAL) if is_several else [per_domain()]
    batches = sites(tmp_path, *queries)[: 1 + is_several]
    wanted = by_the_jvm(runner, batches)
    by_value = type(hangs)(hangs.__code__, {"signal": signal}, "by_value")
    monkeypatch.setattr(worker_lines, "read_tasks", by_value)
    monkeypatch.setattr(worker_lines, "WORKER_IDLE_S_MAX", 1 if is_in_time else 3600)
    if not is_in_time:
        runner.jobs = ShortForWorkers(spark)
    runner._samples._next_s = 0.0
    assert_same(runner.run(batches), wanted)
    (why,) = noted.failures
    assert ("Python worker" if is_in_time else "did not end within 0.5 s") in why


def asked(tmp_path: Path, lines: list[str], source: str = HITS) -> Asked:
    """A parser and where its chunks are linked, as a batch has them."""
    query = stream(
        "SELECT sum(bytes) AS b FROM hits GROUP BY window(ts, '10 seconds')", source=source
    )
    inbox = ListInbox(tmp_path / "asked", query.program.source)
    inbox.put(*lines)
    (group,) = groups_of([[query]])
    return Asked(group.parser(inbox.chunks), inbox, tmp_path / "linked")


class Asked:
    def __init__(self, parser: Parser, inbox: ListInbox, directory: Path) -> None:
        self.parser = parser
        self.inbox = inbox
        self._directory = directory

    def linked(self) -> AbstractContextManager[Linked]:
        return linked(self._directory, [self.inbox.chunks], form=form_of(self.inbox.source))


GOOD = [line for line in LINES[:2] for _ in range(50)]


def test_after_a_failure_workers_have_a_pause(
    spark: SparkSession, noted: Noted, tmp_path: Path
) -> None:
    given, workers = asked(tmp_path, GOOD), LineWorkers()
    workers.failed("for a test")
    with given.linked() as found:
        made = [
            workers.parser(spark, given.parser, found, byte_count=1)
            for _ in range(worker_lines.PAUSE_BATCHES + 1)
        ]
    assert [one is None for one in made] == [True] * worker_lines.PAUSE_BATCHES + [False]


@pytest.mark.parametrize("query_count", [1, 2])
def test_every_batch_reads_its_own_files_and_is_planned_once(
    runner: BatchRunner,
    noted: Noted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    query_count: int,
) -> None:
    """Of one site, of two, of one again; by one query and by several."""
    views = list[object]()
    made = worker_lines.frame_of
    monkeypatch.setattr(
        worker_lines, "frame_of", lambda *given: views.append(given) or made(*given)
    )
    queries = tuple(per_domain(f"q{n}") for n in range(query_count))
    for number, names in enumerate(["a", "ab", "b", "ab", "a"]):
        batches = []
        for name in names:
            inbox = ListInbox(tmp_path / f"{number}{name}", queries[0].program.source)
            inbox.put(*(f"2026-05-01T12:00:01Z,{name}{number},{number},1" for _ in range(9)))
            batches.append(SiteBatch(name, tuple(inbox.chunks), queries))
        for name, outcome in zip(names, runner.run(batches), strict=True):
            for one in outcome.results:
                assert one.table is not None
                (row,) = one.table.to_pylist()
                assert (row["domain"], int(row["sum_2"])) == (f"{name}{number}", 9 * number)
            assert (outcome.lines, outcome.records) == (9, 9)
    assert (noted.batches, noted.failures, len(views)) == (5, [], 1)


def test_a_statement_over_the_rows_of_workers_is_parsed_once(
    spark: SparkSession, noted: Noted, tmp_path: Path
) -> None:
    workers = LineWorkers()
    for number in range(3):
        given = asked(tmp_path / str(number), GOOD[: 10 * (number + 1)])
        with linked(tmp_path / "linked", [given.inbox.chunks]) as found:
            assert workers.parser(spark, given.parser, found, byte_count=1) is not None
            frame = workers.sql(f"SELECT count(*) FROM {worker_lines.WORKER_LINES}")
            assert frame.collect()[0][0] == 10 * (number + 1)
            phases = cast(Any, frame)._jdf.queryExecution().tracker().phases()
            assert phases.contains("parsing") == (number == 0)


def test_a_small_batch_is_the_jvms(spark: SparkSession, tmp_path: Path) -> None:
    given = asked(tmp_path, GOOD)
    with given.linked() as found:
        small = worker_lines.WORKERS_BYTES_MIN - 1
        assert LineWorkers().parser(spark, given.parser, found, byte_count=small) is None
        made = LineWorkers().parser(spark, given.parser, found, byte_count=small + 1)
    assert made is not None
    assert made.made == Made(WORKER_LINES, (("ts", "iso"), ("bytes", "bigint")))


def test_many_cores_have_a_few_workers(
    spark: SparkSession, noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, tasks = asked(tmp_path, GOOD), list[int]()
    monkeypatch.setattr(worker_lines, "core_count", lambda master: 100)
    monkeypatch.setattr(worker_lines, "reading_of", lambda *_, **more: tasks.append(more["tasks"]))
    with given.linked() as found:
        assert LineWorkers().parser(spark, given.parser, found, byte_count=1) is None
    assert tasks == [worker_lines.WORKERS_MAX]


def test_on_a_cluster_the_jvm_reads(
    spark: SparkSession, noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = asked(tmp_path, GOOD)
    monkeypatch.setattr(worker_lines, "is_cluster", lambda master: True)
    with given.linked() as found:
        assert LineWorkers().parser(spark, given.parser, found, byte_count=1) is None


@pytest.mark.parametrize("is_last", [False, True])
def test_lines_most_of_which_would_come_back_are_the_jvms(tmp_path: Path, is_last: bool) -> None:
    given = asked(tmp_path, GOOD)
    with given.linked() as found:
        assert reading_of(given.parser, found, tasks=2) is not None
    given.inbox.put(*GOOD[:80], *["broken"] * 40)
    if not is_last:
        given.inbox.chunks.reverse()
    with given.linked() as found:
        assert reading_of(given.parser, found, tasks=2) is None


def test_a_line_that_is_too_long_for_a_worker_is_the_jvms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_workers, "LINE_BYTES_MAX", 1 << 20)
    given = asked(tmp_path, ["x" * (3 << 20), *GOOD])
    with given.linked() as found:
        assert reading_of(given.parser, found, tasks=2) is None


@pytest.mark.parametrize(
    "options", ["delimiter = '||'", "delimiter = '§'"], ids=["two signs", "two bytes"]
)
def test_files_that_are_written_otherwise_are_the_jvms(tmp_path: Path, options: str) -> None:
    source = HITS.replace("format = 'csv'", f"format = 'csv', {options}")
    delimiter = options.split("'")[1]
    given = asked(tmp_path, [line.replace(",", delimiter) for line in GOOD], source)
    with given.linked() as found:
        assert reading_of(given.parser, found, tasks=2) is None


def test_lines_whose_quotes_are_not_simple_are_the_jvms(tmp_path: Path) -> None:
    for name, quoted, is_taken in (("a", '"a"', True), ("b", '"a""b"', False)):
        lines = [line.replace("a.example", quoted) for line in GOOD]
        given = asked(tmp_path / name, lines)
        with given.linked() as found:
            assert (reading_of(given.parser, found, tasks=2) is not None) is is_taken


QUOTED = [
    '2026-05-01T12:00:01Z,"a, b",10,1',
    '"2026-05-01T12:00:02Z","a","20","1.5"',
    '2026-05-01T12:00:03Z,"",30,""',
    '2026-05-01T12:00:03Z," ",30, ',
    '2026-05-01T12:00:04Z,"a""b",40,1',
    '2026-05-01T12:00:05Z,a"b,50,1',
    '2026-05-01T12:00:06Z,"a"b,60,1',
    '2026-05-01T12:00:07Z, "a",70,1',
    '2026-05-01T12:00:08Z,"a\\"b",80,1',
    '2026-05-01T12:00:09Z,"a,90,1',
    '2026-05-01T12:00:09Z,"two\nlines",90,1',
    '2026-05-01T12:00:09Z,"two\r\nlines",90,1',
]


@pytest.mark.parametrize("options", ["", "multiline = 'true'", r"escape = '\\'"])
@pytest.mark.parametrize("is_apart", [False, True])
def test_lines_with_quotes_give_the_same(
    runner: BatchRunner, noted: Noted, tmp_path: Path, options: str, is_apart: bool
) -> None:
    source = HITS.replace("format = 'csv'", ", ".join(["format = 'csv'", *filter(None, [options])]))
    query = stream(
        "SELECT domain, count(*) AS n, sum(bytes) AS b, sum(ms) AS m FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain",
        source=source,
    )
    inbox = ListInbox(tmp_path / "x", query.program.source)
    for lines in [[one] for one in QUOTED] if is_apart else [QUOTED]:
        inbox.put(*lines)
    batches = [SiteBatch("x", tuple(inbox.chunks), (query,))]
    wanted = by_the_jvm(runner, batches)
    runner._samples._next_s = 0.0
    assert_same(runner.run(batches), wanted)
    assert (noted.batches, noted.failures) == (1, [])


def test_compressed_files_are_the_jvms(tmp_path: Path) -> None:
    given = asked(tmp_path, GOOD)
    given.inbox.put_bytes(gzip.compress("\n".join(GOOD).encode()), name="b.csv.gz")
    with given.linked() as found:
        assert reading_of(given.parser, found, tasks=2) is None


def test_tasks_share_the_bytes_and_large_files_are_divided(tmp_path: Path) -> None:
    given = asked(tmp_path, GOOD)
    for _ in range(4):
        given.inbox.put(*GOOD[:10])
    with given.linked() as found:
        reading = reading_of(given.parser, found, tasks=3)
    assert reading is not None
    sizes = [sum(one.end - one.start for one in task) for task in reading.tasks]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) <= 3
    assert sum(sizes) == sum(chunk.bytes for chunk in given.inbox.chunks)


SEEDS = {
    "number": [
        "0", "-0", "5", "-5", "+5", "007", "127", "128", "-128", "-129", "32767", "32768", "65536",
        "2147483647", "2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "18446744073709551615", "1777636800", "1777636800000", "1.5", "1.",
        ".5", "-.5", ".", "-", "+", "1e5", "1E5", "1e-5", "1e400", "1e-400", "4.9e-324", "1d", "1f",
        "1L", "0x1F", "0X1f", "0b1", "1_000", "1,5", "NaN", "nan", "-nan", "inf", "-inf", "+inf",
        "Infinity", "-infinity", "INF", "0.1", "16777217", "3.4028236e38", "1e39",
        "9007199254740993",
        "123456789012345678901234567890", "0.30000000000000004", "1 2", "٣", "１", "−5", "5\x00",
    ],
    "time": [
        "2026-05-01T12:00:00Z", "2026-05-01 12:00:00", "2026-05-01T12:00:00.5Z",
        "2026-05-01T12:00:00.123456Z", "2026-05-01T12:00:00.1234567Z", "2026-05-01T12:00:00.Z",
        "2026-05-01T12:00:00.123456", "2026-05-01T12:00", "2026-05-01T12", "2026-05-01",
        "2026-05-01T12:00Z", "2026-05-01T12Z", "2026-05-01Z", "2026-05", "2026", "20260501",
        "2026-05-01T120000Z", "20260501T120000Z", "2026-5-1T1:2:3Z", "2026-05-01T24:00:00Z",
        "2026-05-01T23:59:60Z", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2024-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-10T00:00:00Z",
        "2026-05-01T12:00:00+02:00", "2026-05-01T12:00:00+0200", "2026-05-01T12:00:00+02",
        "2026-05-01T12:00:00-19:00", "2026-05-01T12:00:00 UTC", "2026-05-01T12:00:00UTC",
        "2026-05-01t12:00:00z", "2026-05-01T12:00:00z", "2026-05-01  12:00:00Z", "12:00:00",
        "T12:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
        "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "1582-10-10T00:00:00Z",
        "1969-12-31T23:59:59.999999Z", "2026-05-01T12:00:00,5Z", "2026/05/01 12:00:00",
    ],
    "word": [
        "true", "True", "TRUE", "tRuE", "t", "T", "yes", "Yes", "YES", "y", "Y", "1", "false", "f",
        "no", "NO", "n", "0", "on", "off", "wahr", "null", "NULL", "\\N", "NA", "ja", "ſ",
    ],
}  # fmt: skip
SIGNS = " \t0123456789+-.:eExXTZtz_ä\x0b\u00a0"


def nasty_texts() -> list[str]:
    """All seeds, with blanks around them, and with some of their signs changed."""
    chance = random.Random(7)
    seeds = [one for of_kind in SEEDS.values() for one in of_kind]
    found = [*seeds, *(f" {one}\t" for one in seeds), " ", "\t"]
    for _ in range(1_500):
        text = chance.choice(seeds)
        at = chance.randrange(len(text) + 1)
        found.append(text[:at] + chance.choice(SIGNS) + text[at + chance.randrange(2) :])
    return sorted({one for one in found if one and "," not in one})


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Times as microseconds: they may lie beyond what Python has."""
    is_time = pa.types.is_timestamp(column.type)
    return (column.cast(pa.int64()) if is_time else column).to_pylist()


def values_by_spark(spark: SparkSession, texts: list[str], kind: str) -> list[Any]:
    """By the number of the text, as the JVM reads a field."""
    options = {"timestamp_format": kind} if kind.startswith("epoch") else {}
    type_ = "timestamp" if TYPES[kind] == TYPES[ISO] else kind
    rows = ", ".join(f"({n}, {literal(text)})" for n, text in enumerate(texts))
    value = conversion("t", type_, options)
    table = spark.sql(f"SELECT n, {value} AS v FROM VALUES {rows} AS x(n, t)").toArrow()
    found = dict(zip(*map(plain, table.combine_chunks().columns), strict=True))
    return [found[number] for number in range(len(texts))]


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "text"])
def test_what_is_taken_is_what_spark_makes_of_it(spark: SparkSession, kind: str) -> None:
    texts = nasty_texts()
    wanted = values_by_spark(spark, texts, kind)
    strict, layout = Strict(",", ("bigint", kind)), Layout(2, (0, 1))
    lines = [f"{number},{text}\n".encode() for number, text in enumerate(texts)]
    taken = 0
    for block in [*lines, b"".join(lines)]:
        for batch in columns_of(block, strict, layout):
            if batch.column(LINE).null_count:
                for number, value in zip(*map(plain, batch.columns[1:]), strict=True):
                    assert value is not None
                    assert repr(value) == repr(wanted[number]), texts[number]
                    taken += 1
    assert taken > 20
