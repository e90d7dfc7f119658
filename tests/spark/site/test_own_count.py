"""Records are counted in the order of cuts and of lines, however Spark divides them into tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from spark_kit import ListInbox, compiled

from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.lines import lines as lines_module
from headwater.spark.rows import collect
from headwater.spark.site import standing_lines
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.site_host import SiteHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM rows AS SELECT collect_list(bytes) AS ids FROM hits GROUP BY rows_window(10);
CREATE STREAM even AS SELECT collect_list(bytes) AS ids FROM hits WHERE bytes % 2 = 0
GROUP BY rows_window(10);
CREATE STREAM bytes AS SELECT collect_list(bytes) AS ids FROM hits GROUP BY bytes_window('300 B');
CREATE STREAM none AS SELECT count(*) AS n FROM hits WHERE bytes < 0 GROUP BY rows_window(10);
"""
BAD = "no record"


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


@pytest.fixture
def in_small_blocks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file is read by several tasks, and no task is alone."""
    name = "spark.sql.files.maxPartitionBytes"
    former = spark.conf.get(name)
    monkeypatch.setattr(lines_module, "ONE_TASK_BYTES", 0)
    monkeypatch.setattr(standing_lines, "ONE_TASK_BYTES", 0)
    spark.conf.set(name, "200b")
    yield
    spark.conf.set(name, former)


def line(number: int) -> str:
    return f"2026-05-01T12:00:{number % 60:02}Z,{'ü' * (number % 3)},{number},1"


def text(number: int) -> str:
    """Every seventh line is malformed."""
    return BAD if number % 7 == 0 else line(number)


def inbox_of(directory: Path, query: Query, counts: list[int], *, first: int = 0) -> ListInbox:
    """Chunks with so many lines, the numbers of which go on from chunk to chunk."""
    inbox, number = ListInbox(directory, query.program.source), first
    for count in counts:
        inbox.put(*(text(n) for n in range(number, number + count)))
        number += count
    return inbox


def meant(query: Query, numbers: range, *, row: int = 0, byte: int = 0) -> dict[int, list[int]]:
    """By pane, in plain Python: the lines that the query keeps."""
    found: dict[int, list[int]] = {}
    for n in numbers:
        if text(n) == BAD:
            continue
        pane = query.window.pane_at(byte if query.counted == "byte" else row)
        row, byte = row + 1, byte + len(f"{line(n)}\n".encode())
        is_kept = {"even": n % 2 == 0, "none": False}.get(query.id.name, True)
        if is_kept:
            found.setdefault(pane, []).append(n)
    return found


def through(query: Query, numbers: range) -> int:
    good = [n for n in numbers if text(n) != BAD]
    is_bytes = query.counted == "byte"
    return sum(len(f"{line(n)}\n".encode()) for n in good) if is_bytes else len(good)


def of(outcome: SiteOutcome, query: Query) -> QueryResult:
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    return found


def panes(found: QueryResult) -> dict[int, list[int]]:
    tables = [*([] if found.table is None else [found.table]), *(found.pieces or [])]
    rows: list[dict[str, Any]] = [row for table in tables for row in table.to_pylist()]
    made: dict[int, list[int]] = {}
    for row in rows:
        made.setdefault(row["pane"], []).append(row["value_1"])
    return {pane: sorted(values) for pane, values in made.items()}


COUNTS = [4, 0, 9, 1, 1, 1, 1, 1, 1, 1, 30, 2]
"""More than nine chunks: their names as they are would be in another order."""


def test_one_query_at_one_site_counts_in_order_and_the_same_again(
    runner: BatchRunner, tmp_path: Path
) -> None:
    for query in compiled(STREAMS):
        inbox = inbox_of(tmp_path / query.id.name, query, COUNTS)
        batch = SiteBatch("x", tuple(inbox.chunks), (query,))
        numbers = range(sum(COUNTS))
        for _ in range(2):  # a batch that a crash made come again
            (outcome,) = runner.run([batch])
            assert panes(of(outcome, query)) == meant(query, numbers), query.id.name
            assert of(outcome, query).counted_through == through(query, numbers)
            assert outcome.unparsed == len([n for n in numbers if text(n) == BAD])


@pytest.mark.usefixtures("in_small_blocks")
def test_files_that_are_read_by_several_tasks_count_in_order(
    runner: BatchRunner, tmp_path: Path
) -> None:
    for query in compiled(STREAMS):
        inbox = inbox_of(tmp_path / query.id.name, query, COUNTS)
        (outcome,) = runner.run([SiteBatch("x", tuple(inbox.chunks), (query,))])
        assert panes(of(outcome, query)) == meant(query, range(sum(COUNTS))), query.id.name
        assert outcome.unparsed == len([n for n in range(sum(COUNTS)) if text(n) == BAD])


@pytest.mark.parametrize("quick_bytes_max", [collect.QUICK_BYTES_MAX, -1], ids=["driver", "files"])
def test_sites_and_queries_of_one_batch_each_count_from_where_they_are(
    runner: BatchRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_bytes_max: int
) -> None:
    monkeypatch.setattr(collect, "QUICK_BYTES_MAX", quick_bytes_max)
    queries = tuple(compiled(STREAMS))
    starts = [{str(one.id): start for one in queries} for start in (0, 25, 1_000)]
    numbers = [range(60), range(100, 112), range(200, 200)]
    batches = []
    for n, of_site in enumerate(numbers):
        inbox = inbox_of(tmp_path / str(n), queries[0], [len(of_site)], first=of_site.start)
        chunks = tuple(inbox.chunks)
        batches.append(SiteBatch(f"site {n}", chunks, queries, starts=starts[n]))
    outcomes = runner.run(batches)
    for n, outcome in enumerate(outcomes):
        for query in queries:
            found, start = of(outcome, query), starts[n][str(query.id)]
            wanted = meant(query, numbers[n], row=start, byte=start)
            assert panes(found) == wanted, (n, query.id.name)
            assert found.counted_through == start + through(query, numbers[n])


def test_what_the_fence_refuses_is_not_counted(runner: BatchRunner, tmp_path: Path) -> None:
    query = compiled(STREAMS)[0]
    inbox = ListInbox(tmp_path / "x", query.program.source)
    inbox.put(line(1), line(2).replace("2026", "2106"), line(3))
    fence = Fence(1_800_000_000_000_000, 1_900_000_000_000_000)
    (outcome,) = runner.run([SiteBatch("x", tuple(inbox.chunks), (query,), fence)])
    assert (panes(of(outcome, query)), of(outcome, query).counted_through) == ({0: [1, 3]}, 2)
    assert outcome.refused == 1


def test_batch_after_batch_the_count_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    queries = compiled(STREAMS)
    inbox = inbox_of(tmp_path / "x", queries[0], [17])
    host = SiteHost(spark, tmp_path / "host")
    try:
        for query in queries:
            host.install(query)
            inbox.installed.add(str(query.id))
        host.serve("x", inbox)
        inbox.wait_for_all()
        more = inbox_of(tmp_path / "more", queries[0], [20], first=17)
        (chunk,) = more.chunks
        inbox.put_bytes(Path(chunk.path).read_bytes())
        host.notice("hits")
        inbox.wait_for_all()
    finally:
        host.stop()
    for query in queries:
        found = [one for one in inbox.results if one.query == str(query.id)]
        both: dict[int, list[int]] = {}
        for one in found:
            for pane, numbers in panes(one).items():
                both[pane] = sorted([*both.get(pane, []), *numbers])
        assert both == meant(query, range(37)), query.id.name
        assert found[-1].counted_through == through(query, range(37))


def test_lines_of_json_that_sparks_reader_of_objects_would_take_are_counted(
    runner: BatchRunner, tmp_path: Path
) -> None:
    source = (
        "CREATE SOURCE hits (ts TIMESTAMP, bytes BIGINT) "
        "WITH (format = 'json', path = '*.json', time = 'ts');\n"
    )
    query = compiled(
        "CREATE STREAM rows AS SELECT collect_list(bytes) AS ids FROM hits "
        "GROUP BY rows_window(10);",
        source,
    )[0]
    inbox = ListInbox(tmp_path / "x", query.program.source)
    inbox.put(*(f'{{"ts": "2026-05-01T12:00:00Z", "bytes": {n}}}' for n in range(12)))
    (outcome,) = runner.run([SiteBatch("x", tuple(inbox.chunks), (query,))])
    assert panes(of(outcome, query)) == {0: [*range(10)], 1: [10, 11]}
