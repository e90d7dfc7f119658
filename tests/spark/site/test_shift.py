"""Records placed by their age: a wrong clock at a site does not move them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_kit import ListInbox, inverse, per_domain

from headwater.algebra.panes import MICROS
from headwater.plan.query import Query
from headwater.reading.outcome import SiteOutcome
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TRUE = ["2026-05-01T12:00:01Z,a.example,10,1", "2026-05-01T12:00:12Z,a.example,20,1"]
AN_HOUR_AHEAD = ["2026-05-01T13:00:01Z,a.example,10,1", "2026-05-01T13:00:12Z,a.example,20,1"]
HOUR_US = 3_600 * MICROS


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[BatchRunner]:
    made = BatchRunner(spark, tmp_path / "batch")
    yield made
    made.close()


def batch(tmp_path: Path, query: Query, name: str, lines: list[str], offset_us: int) -> SiteBatch:
    inbox = ListInbox(tmp_path / name, query.program.source)
    inbox.put(*lines)
    offsets_us = {str(query.id): offset_us}
    return SiteBatch(name, tuple(inbox.chunks), (query,), offsets_us=offsets_us)


def rows(outcome: SiteOutcome) -> list[dict[str, object]]:
    (result,) = outcome.results
    assert result.table is not None, result.failed
    return sorted(result.table.to_pylist(), key=lambda row: row["pane"])


def test_the_same_records_by_wrong_clocks_give_the_same_panes(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = per_domain()
    batches = [
        batch(tmp_path, query, "true", TRUE, 0),
        batch(tmp_path, query, "ahead", AN_HOUR_AHEAD, -HOUR_US),
    ]
    true, ahead = runner.run(batches)
    assert rows(true) == rows(ahead)
    assert ahead.high_time_us == true.high_time_us + HOUR_US
    """How far a source was read is told by the site's own clock."""


def test_one_site_alone_gives_the_same(runner: BatchRunner, tmp_path: Path) -> None:
    query = per_domain()
    (true,) = runner.run([batch(tmp_path, query, "true", TRUE, 0)])
    (ahead,) = runner.run([batch(tmp_path, query, "ahead", AN_HOUR_AHEAD, -HOUR_US)])
    assert rows(true) == rows(ahead)
    assert ahead.high_time_us == true.high_time_us + HOUR_US


def test_a_query_that_fails_names_the_panes_of_the_roots_time(
    runner: BatchRunner, tmp_path: Path
) -> None:
    query = inverse()
    bad = [line.replace(",10,", ",0,") for line in AN_HOUR_AHEAD]
    (outcome,) = runner.run([batch(tmp_path, query, "ahead", bad, -HOUR_US)])
    (result,) = outcome.results
    assert result.failed is not None
    first = query.window.pane_at(1_777_636_801 * MICROS)
    assert result.touched == (first, first + 1)
