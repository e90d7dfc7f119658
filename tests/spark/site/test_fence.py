"""The fence on Spark: what is ahead is counted apart, what is too far ahead is dropped.

::

    12:00 ──── clock 12:01 ── tolerated to 12:02 ────────────── refused from 13:30 ──►
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_kit import ListInbox, inverse, per_domain, stream

from headwater.algebra.panes import MICROS
from headwater.plan.query import Query
from headwater.plan.timestamps import timestamp_us
from headwater.reading.outcome import SiteOutcome
from headwater.spark.central import central_answers
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import SiteBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINES = [
    "2026-05-01T12:00:01Z,a.example,10,1",
    "2026-05-01T12:01:59Z,a.example,20,1",
    "2026-05-01T12:02:00Z,a.example,20,1",  # the last that is tolerated
    "2026-05-01T13:00:00Z,a.example,30,1",
    "2026-05-01T13:00:05Z,b.example,30,1",
    "2026-05-01T13:30:00Z,a.example,40,1",  # the first that is refused
    "2106-02-07T06:28:15Z,a.example,50,1",
    "broken",
]


def us(text: str) -> int:
    found = timestamp_us(text)
    assert found is not None
    return found


CLOCK_S = us("2026-05-01T12:01:00Z") / MICROS
FENCE = Fence.at(CLOCK_S, tolerance_s=60.0, keep_s=89 * 60.0)


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()


def batch(tmp_path: Path, *queries: Query, name: str = "s", fence: Fence = FENCE) -> SiteBatch:
    inbox = ListInbox(tmp_path / name, queries[0].program.source)
    inbox.put(*LINES)
    return SiteBatch(name, tuple(inbox.chunks), queries, fence)


def panes(outcome: SiteOutcome, query: Query) -> dict[str, int]:
    """By the start of the pane, how many records."""
    (found,) = [one for one in outcome.results if one.query == str(query.id)]
    assert found.failed is None, found.failed
    counts: dict[str, int] = {}
    for row in found.table.to_pylist():
        start_us = query.window.pane_start_us(row["pane"])
        for text in ("12:00:00", "12:01:50", "12:02:00", "13:00:00", "13:30:00"):
            if start_us == us(f"2026-05-01T{text}Z"):
                counts[text] = counts.get(text, 0) + row["count_1"]
    assert sum(counts.values()) == sum(row["count_1"] for row in found.table.to_pylist())
    return counts


KEPT = {"12:00:00": 1, "12:01:50": 1, "12:02:00": 1, "13:00:00": 2}


def check(outcome: SiteOutcome, query: Query) -> None:
    assert panes(outcome, query) == KEPT
    assert (outcome.fenced, outcome.refused, outcome.unparsed) == (2, 2, 1)
    assert outcome.high_time_us == us("2026-05-01T12:02:00Z"), "what is ahead closes nothing"


def test_one_query_at_one_site(runner: BatchRunner, tmp_path: Path) -> None:
    query = per_domain()
    (outcome,) = runner.run([batch(tmp_path, query)])
    check(outcome, query)


def test_several_queries_at_sites_with_different_clocks(
    runner: BatchRunner, tmp_path: Path
) -> None:
    first, second = per_domain("first"), per_domain("second")
    later = Fence.at(CLOCK_S + 3_600.0, tolerance_s=60.0, keep_s=1e6)
    here, there, free = runner.run(
        [
            batch(tmp_path, first, second, name="here"),
            batch(tmp_path, first, second, name="there", fence=later),
            batch(tmp_path, first, name="free", fence=Fence()),
        ]
    )
    check(here, first)
    check(here, second)
    assert (there.fenced, there.refused) == (1, 1)
    assert there.high_time_us == us("2026-05-01T13:00:05Z")
    assert panes(there, first) == {**KEPT, "13:30:00": 1}
    assert (free.fenced, free.refused) == (0, 0)


def test_a_query_that_counts_nothing_from_the_future_costs_nothing(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = stream(
        "SELECT count(*) AS n FROM hits WHERE bytes <= 20 GROUP BY window(ts, '10 seconds')"
    )
    (outcome,) = runner.run([batch(tmp_path, query)])
    assert (outcome.fenced, outcome.refused) == (0, 0)
    assert outcome.high_time_us == us("2026-05-01T12:02:00Z")


def test_a_failed_batch_touches_the_panes_that_are_ahead_as_well(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = inverse()
    inbox = ListInbox(tmp_path / "s", query.program.source)
    inbox.put(*LINES, "2026-05-01T12:00:02Z,a.example,0,1")
    (outcome,) = runner.run([SiteBatch("s", tuple(inbox.chunks), (query,), FENCE)])
    (failed,) = outcome.results
    assert failed.failed is not None
    times = [us("2026-05-01T12:00:01Z"), us("2026-05-01T13:00:05Z")]
    assert failed.touched == tuple(query.window.pane_at(time) for time in times)


def test_the_reference_has_the_same_fence(spark: SparkSession, tmp_path: Path) -> None:
    query = per_domain()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.csv").write_text("".join(f"{line}\n" for line in LINES))
    files = [tmp_path / "logs" / "a.csv"]
    found = central_answers(spark, query, files, before_us=FENCE.refused_us)
    everything = central_answers(spark, query, files)
    refused = everything.keys() - found.keys()
    assert {query.window.window_start_us(window) for window in refused} == {
        us("2026-05-01T13:30:00Z"),
        us("2106-02-07T06:28:10Z"),
    }
