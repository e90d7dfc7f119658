"""The site part of a state query: a row for each record, numbered, and no more than can count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_kit import ListInbox, compiled

from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM few AS SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits
WHERE bytes % 2 = 0 GROUP BY last_rows(3, every => '10 seconds'), domain;
CREATE STREAM many AS SELECT count(DISTINCT domain) AS d, count(DISTINCT bytes) AS b, count(*) AS n
FROM hits GROUP BY last_rows(1000, every => '10 seconds');
"""
LINES = 40


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


def line(number: int) -> str:
    """Every fifth record is of ten seconds before."""
    second = number - (10 if number % 5 == 0 and number >= 10 else 0)
    return f"2026-05-01T12:00:{second:02}Z,{'ab'[number % 2]},{number},1"


def inbox_of(directory: Path, query: Query) -> ListInbox:
    inbox = ListInbox(directory, query.program.source)
    for first in range(0, LINES, 15):
        inbox.put(*(line(n) for n in range(first, min(first + 15, LINES))))
    return inbox


def rows_of(outcome: SiteOutcome, query: Query) -> tuple[QueryResult, list[tuple[int, int]]]:
    """(pane, number), the lowest number first."""
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    assert found.table is not None
    pairs = zip(found.table["pane"].to_pylist(), found.table["__row"].to_pylist(), strict=True)
    return found, sorted(set(pairs), key=lambda pair: pair[1])


def wanted(query: Query, *, start: int) -> list[tuple[int, int]]:
    """In plain Python: the last of each pane that WHERE keeps."""
    base, last_n = 177_763_680, query.last_n
    assert isinstance(last_n, int)
    by_pane: dict[int, list[int]] = {}
    for n in range(LINES):
        if query.id.name == "many" or n % 2 == 0:
            second = int(line(n)[17:19])
            by_pane.setdefault(base + second // 10, []).append(start + n)
    pairs = [(pane, n) for pane, numbers in by_pane.items() for n in numbers[-last_n:]]
    return sorted(pairs, key=lambda pair: pair[1])


@pytest.mark.parametrize("at", [0, 1], ids=["few", "many"])
def test_one_query_at_one_site(runner: BatchRunner, tmp_path: Path, at: int) -> None:
    query = compiled(STREAMS)[at]
    starts = {str(query.id): 100}
    batch = SiteBatch("x", tuple(inbox_of(tmp_path / "x", query).chunks), (query,), starts=starts)
    for _ in range(2):  # a batch that a crash made come again
        (outcome,) = runner.run([batch])
        found, rows = rows_of(outcome, query)
        assert rows == wanted(query, start=100)
        assert found.counted_through == 100 + LINES
        last = {"few": 38, "many": 39}[query.id.name]
        assert outcome.high_time_us == 1_777_636_800_000_000 + last * 1_000_000


def test_sites_and_queries_of_one_batch(runner: BatchRunner, tmp_path: Path) -> None:
    queries = tuple(compiled(STREAMS))
    batches = []
    for n in range(2):
        chunks = tuple(inbox_of(tmp_path / str(n), queries[0]).chunks)
        starts = {str(one.id): 1_000 * n for one in queries}
        batches.append(SiteBatch(f"site {n}", chunks, queries, starts=starts))
    for n, outcome in enumerate(runner.run(batches)):
        for query in queries:
            found, rows = rows_of(outcome, query)
            assert rows == wanted(query, start=1_000 * n)
            assert found.counted_through == 1_000 * n + LINES


def test_a_row_is_one_record_and_its_partials(runner: BatchRunner, tmp_path: Path) -> None:
    query = compiled(STREAMS)[0]
    batch = SiteBatch("x", tuple(inbox_of(tmp_path / "x", query).chunks), (query,))
    (outcome,) = runner.run([batch])
    found, _ = rows_of(outcome, query)
    assert found.table is not None
    partials = [name for name in found.table.column_names if name.startswith(("count", "sum"))]
    for row in found.table.to_pylist():
        assert [int(row[name]) for name in partials] == [1, row["__row"]]
        assert row["domain"] == "a", "of even numbers"
