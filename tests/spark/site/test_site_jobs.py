"""A query's job in a batch has its time, and ends when the query is removed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_kit import ListInbox, per_domain, stream

from headwater.plan.over_limit import OVER_LIMIT
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.site.site_jobs import JobCancelled, SiteJobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
LINES = 4_000
WAIT_S_MAX = 60.0
FOR_EVER_S = 3600.0


def slow(name: str = "slow"):
    """Takes some milliseconds for each line, by a pattern of the third power."""
    return stream(
        "SELECT domain, count_if(regexp_like(repeat(domain, 20), '.*.*.*=')) AS n FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain",
        name=name,
    )


class ShortFor(SiteJobs):
    """One query has little time, and the others, on a busy machine, all they need."""

    def __init__(self, query_id: str, spark: SparkSession) -> None:
        super().__init__(spark, job_s_max=FOR_EVER_S)
        self._short = SiteJobs(spark, job_s_max=0.5)
        self._query_id = query_id

    def limit(self, *query_ids: str) -> AbstractContextManager[None]:
        short = self._query_id in query_ids
        return self._short.limit(*query_ids) if short else super().limit(*query_ids)


def batch_of(tmp_path: Path, *queries) -> SiteBatch:
    inbox = ListInbox(tmp_path / "in", queries[0].program.source)
    inbox.put(*(f"2026-05-01T12:00:0{n % 10}Z,abcdefgh{n},5,1" for n in range(LINES)))
    return SiteBatch("oslo", tuple(inbox.chunks), queries)


def test_a_job_over_its_time_fails_alone_and_says_the_limit(
    spark: SparkSession, tmp_path: Path
) -> None:
    runner = BatchRunner(spark, tmp_path / "batch")
    quick, endless = per_domain(), slow()
    runner.jobs = ShortFor(str(endless.id), spark)
    (outcome,) = runner.run([batch_of(tmp_path, quick, endless)])
    results = {one.query: one for one in outcome.results}
    assert results[str(quick.id)].failed is None
    failed = results[str(endless.id)].failed or ""
    assert failed.startswith(OVER_LIMIT)
    assert "query_batch_s_max" in failed
    assert results[str(endless.id)].touched is not None
    runner.close()


class ShortForLines(SiteJobs):
    """To count the lines there is no time at all, and queries may take as long as they like."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark, job_s_max=FOR_EVER_S)

    @contextmanager
    def limit(self, *query_ids: str) -> Iterator[None]:
        if query_ids == ("",):
            raise JobCancelled(f"{OVER_LIMIT}no time")
        with super().limit(*query_ids):
            yield


@pytest.mark.parametrize("others", [0, 1])
def test_lines_that_can_not_be_counted_in_time_fail_their_queries_and_not_the_batch(
    spark: SparkSession, tmp_path: Path, others: int
) -> None:
    """A query that fails has the lines counted, and so have several whose joint job fails."""
    runner = BatchRunner(spark, tmp_path / "batch")
    runner.jobs = ShortForLines(spark)
    fails = stream(
        "SELECT sum(bytes * 9223372036854775807) AS n FROM hits GROUP BY window(ts, '10 seconds')"
    )
    (outcome,) = runner.run([batch_of(tmp_path, fails, *[per_domain()] * others)])
    assert [one.failed for one in outcome.results] == [f"{OVER_LIMIT}no time"] * (1 + others)
    assert all(one.touched is None for one in outcome.results)
    runner.close()


@pytest.mark.parametrize("others", [0, 1])
def test_removing_a_query_ends_what_it_does(
    spark: SparkSession, tmp_path: Path, others: int
) -> None:
    """Also where it shares its job, which is then begun again without it."""
    runner = BatchRunner(spark, tmp_path / "batch", job_s_max=FOR_EVER_S)
    endless = slow()
    found: list[str | None] = []

    def run() -> None:
        (outcome,) = runner.run([batch_of(tmp_path, endless, *[per_domain()] * others)])
        found.extend(one.failed for one in outcome.results)

    batch = threading.Thread(target=run)
    batch.start()
    deadline_s = time.monotonic() + WAIT_S_MAX
    while str(endless.id) not in runner.jobs.at_work() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    runner.jobs.cancel(str(endless.id))
    batch.join(WAIT_S_MAX)
    assert found == ["it was removed", *[None] * others]
    runner.close()
