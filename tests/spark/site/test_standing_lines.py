"""What is planned once for all batches: each batch still reads its own files, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_kit import ListInbox, compiled, per_domain, stream

from headwater.plan.query import Query
from headwater.reading.form import form_of
from headwater.reading.outcome import SiteOutcome
from headwater.spark.lines.lines import linked
from headwater.spark.lines.readable import whole_files
from headwater.spark.site import standing_lines
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.standing_lines import LINES, StandingLines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

T = "2026-11-16T10:00:0"


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()
    made.clear()


def sums(outcome: SiteOutcome) -> list[dict[str, int]]:
    """For each query, by domain."""
    tables = [one.table for one in outcome.results]
    assert [one.failed for one in outcome.results] == [None] * len(tables)
    return [
        {}
        if table is None
        else {row["domain"]: int(row["sum_2"]) for row in cast(Any, table).to_pylist()}
        for table in tables
    ]


@pytest.mark.parametrize("query_count", [1, 2])
def test_every_batch_reads_its_own_files(
    runner: BatchRunner, tmp_path: Path, query_count: int
) -> None:
    """Of one site, of two, of one again; by one query and by several."""
    queries = tuple(per_domain(f"q{n}") for n in range(query_count))
    for number, names in enumerate(["a", "a", "ab", "b", "ab", "a"]):
        batches = []
        for name in names:
            inbox = ListInbox(tmp_path / f"{number}{name}", queries[0].program.source)
            inbox.put(f"{T}1Z,{name},{number},1", f"{T}2Z,{name}{number},1,1", "broken")
            batches.append(SiteBatch(name, tuple(inbox.chunks), queries))
        for name, outcome in zip(names, runner.run(batches), strict=True):
            assert sums(outcome) == [{name: number, f"{name}{number}": 1}] * query_count
            assert (outcome.lines, outcome.records, outcome.unparsed) == (3, 2, 1)


def test_headers_of_a_batch_are_its_own(runner: BatchRunner, tmp_path: Path) -> None:
    source = "CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT) WITH (format = 'csv', "
    source += "path = '*.csv', time = 'ts', header = 'true');"
    text = "CREATE STREAM s AS SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits "
    (query,) = compiled(text + "GROUP BY window(ts, '10 seconds'), domain;", source)
    one, other = f"ts,domain,bytes\n{T}1Z,a,1\n", f"bytes,ts,domain\n2,{T}1Z,b\n"
    for number, texts in enumerate([[one], [other], [one, other], [other]]):
        paths = [tmp_path / f"{number}-{at}.csv" for at, _ in enumerate(texts)]
        for path, lines in zip(paths, texts, strict=True):
            path.write_text(lines)
        files = tuple(whole_files(paths, form_of(query.program.source)))
        (found,) = runner.run([SiteBatch("x", files, (query,))])
        wanted = {"a": 1} if one in texts else {}
        assert sums(found) == [wanted | ({"b": 2} if other in texts else {})]


def test_files_with_columns_of_their_own_may_have_others_in_the_next_batch(
    runner: BatchRunner, tmp_path: Path
) -> None:
    source = "CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT) "
    source += "WITH (format = 'parquet', path = '*.parquet', time = 'ts');"
    text = "CREATE STREAM s AS SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits "
    (query,) = compiled(text + "GROUP BY window(ts, '10 seconds'), domain;", source)
    for number, bytes_ in enumerate([pa.array([1], pa.int64()), pa.array(["2"]), None]):
        columns = {"ts": pa.array([0], pa.timestamp("us", tz="UTC")), "domain": pa.array(["a"])}
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table(columns | ({"bytes": bytes_} if bytes_ is not None else {})), path)
        files = tuple(whole_files([path], form_of(query.program.source)))
        (found,) = runner.run([SiteBatch("x", files, (query,))])
        (result,) = found.results
        (row,) = cast(Any, result.table).to_pylist()
        assert row["sum_2"] == (None if bytes_ is None else number + 1)


def lines_of(folder: Path, name: str, *lines: str) -> Any:
    inbox = ListInbox(folder / name, per_domain().program.source)
    inbox.put(*lines)
    return linked(folder / "batch", [inbox.chunks])


def test_a_statement_is_parsed_once(spark: SparkSession, tmp_path: Path) -> None:
    standing = StandingLines(spark)
    for number in range(3):
        with lines_of(tmp_path, str(number), *"x" * (number + 1)) as found:
            standing.read(found, byte_count=1)
            frame = standing.sql(f"SELECT count(*) FROM {LINES}")
            assert frame.collect()[0][0] == number + 1
            phases = cast(Any, frame)._jdf.queryExecution().tracker().phases()
            assert phases.contains("parsing") == (number == 0)
            assert phases.contains("optimization")


def test_few_lines_are_one_task_and_many_are_not_whatever_came_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    standing = StandingLines(spark)
    for number, byte_count in enumerate([1, 1 << 30, 1 << 30, 1]):
        with lines_of(tmp_path, str(number), "x") as found:
            standing.read(found, byte_count=byte_count)
            frame = standing.sql(f"SELECT count(*) FROM {LINES}")
            plan = cast(Any, frame)._jdf.queryExecution().executedPlan().toString()
            assert ("Coalesce 1" in plan) == (byte_count == 1)


def test_no_more_plans_are_kept_than_the_limit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing_lines, "TEXTS_MAX", 2)
    standing = StandingLines(spark)
    with lines_of(tmp_path, "x", "x") as found:
        standing.read(found, byte_count=1)
        for number in (1, 2, 3, 1, 3):
            (row,) = standing.sql(f"SELECT {number} * count(*) FROM {LINES}").collect()
            assert row[0] == number
    assert len(standing._statements) <= 2


def test_a_statement_that_fails_once_is_planned_again(runner: BatchRunner, tmp_path: Path) -> None:
    """What failed in one batch works in the next, with the same text."""
    query: Query = stream(
        "SELECT domain, count(*) AS n, sum(100 DIV bytes) AS b FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain"
    )
    for number, bytes_ in enumerate([1, 0, 2, 0, 4]):
        inbox = ListInbox(tmp_path / str(number), query.program.source)
        inbox.put(f"{T}1Z,a,{bytes_},1")
        (found,) = runner.run([SiteBatch("x", tuple(inbox.chunks), (query,))])
        (result,) = found.results
        assert (result.failed is None) == (bytes_ > 0)
        if bytes_:
            assert sums(found) == [{"a": 100 // bytes_}]
