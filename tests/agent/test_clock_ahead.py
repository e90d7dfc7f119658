"""A site whose clock is an hour ahead: the others don't suffer, and nothing of its own is lost."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.agent.view.site_lines import site_lines
from headwater.edge.config import EdgeConfig
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.node.config import NodeConfig
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope
from headwater.spark.central import central_answers
from headwater.store.input.site_files import paths_below
from headwater.store.results.results import ResultsReader

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

SQL = """
CREATE SOURCE hits (ts TIMESTAMP, n BIGINT) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM counts WITH (disorder = '1s', deadline = '8s')
AS SELECT count(*) AS n, sum(n) AS total FROM hits GROUP BY window(ts, '10 seconds');
"""
HOUR_S = 3_600.0
SITES = ("home", "good", "ahead")


class Clock:
    """The sites' clock. It runs, and can be set forward."""

    def __init__(self) -> None:
        self.forward_s = 0.0

    def now_s(self) -> float:
        return time.time() + self.forward_s


class Logs:
    """Writes a line a call at each site; one of them stamps it an hour ahead."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.folders = {site: directory / "logs" / site for site in SITES}
        self._clock = clock
        self._lines = 0
        for folder in self.folders.values():
            folder.mkdir(parents=True)

    def write(self) -> None:
        self._lines += 1
        for site, folder in self.folders.items():
            at_s = self._clock.now_s() + (HOUR_S if site == "ahead" else 0.0)
            stamp = datetime.fromtimestamp(at_s, UTC).isoformat()
            with (folder / "a.csv").open("a") as file:
                file.write(f"{stamp},{self._lines}\n")


@pytest.mark.timeout(240)
def test_one_clock_that_is_an_hour_ahead(running_spark: RunningSpark, tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_run(running_spark, tmp_path), 220))


async def _run(spark: RunningSpark, tmp_path: Path) -> None:
    clock = Clock()
    logs = Logs(tmp_path, clock)
    sites = tuple(Site(number, name) for number, name in enumerate(SITES))
    federation = Federation(
        tmp_path / "federation",
        Roster(1, sites, "home"),
        spark=spark,
        world=MemoryWorld(),
        settings=RuntimeSettings(node=NodeConfig(edge=EdgeConfig(clock_settle_s=1.0))),
        data=logs.folders,
        now_s=clock.now_s,
    )
    await federation.start()
    try:
        (query,) = install(federation.home, SQL, slack_us=3_000_000)
        results = tmp_path / "federation" / "sites" / "home" / "results" / "counts"
        await _until_followed(federation)
        answers = await _write_until(logs, results, windows=3)
        _check_present(federation, query, answers)
        first = query.window.first_window_from(
            round((clock.now_s() + HOUR_S - 10.0) * 1e6)
        )  # a window in which the third site has records already
        clock.forward_s += HOUR_S
        answers = await _write_until(logs, results, windows=1, from_window=first, is_written=False)
        _check_against_reference(spark, query, logs, results, answers)
    finally:
        await federation.stop()


async def _until_followed(federation: Federation) -> None:
    """What was written before a site follows its files is none of the query's, wherever its
    stamp lies."""
    for runtime in federation.runtimes.values():
        while not (
            "hits" in runtime.stores.cube.cuts.names()
            and runtime.stores.cube.cuts.state("hits").is_begun
        ):
            await asyncio.sleep(0.05)


async def _write_until(
    logs: Logs, results: Path, *, windows: int, from_window: int = 0, is_written: bool = True
) -> dict[int, Envelope]:
    """Until so many windows have an exact answer; all the newest answers from there on."""
    while True:
        if is_written:
            logs.write()
        await asyncio.sleep(0.25)
        reader = ResultsReader(results)
        newest = [one for _, one in reader.newest()] if results.exists() else []
        found = {one.window: one for one in newest if one.window >= from_window and one.rows}
        if sum(one.exact for one in found.values()) >= windows:
            return found


def _check_present(federation: Federation, query: Query, answers: dict[int, Envelope]) -> None:
    """On time and exact, with nothing of the third site in them, and it is said why."""
    for envelope in answers.values():
        if envelope.revision == 1:
            assert envelope.staleness_s < 8.0, "complete before its deadline"
        assert envelope.exact
        assert (envelope.covered, envelope.expected) == (3, 3)
    root = federation.home.node.root(str(query.id))
    assert root is not None
    text = root.why(max(answers)).text()
    assert "ahead: a clock there is ahead" in text
    lines = {line.site: line for line in site_lines(federation.home)}
    assert lines["ahead"].fenced > 0
    assert lines["good"].fenced == 0
    assert federation.runtimes["ahead"].feeder.fenced_count > 0


def _check_against_reference(
    spark: RunningSpark, query: Query, logs: Logs, results: Path, answers: dict[int, Envelope]
) -> None:
    """When their windows come the records count, and all windows equal plain Spark's."""
    files = paths_below(logs.folders.values(), query.program.source.path)
    reference = central_answers(spark.session, query, files)
    reader = ResultsReader(results)
    checked = 0
    for seq, envelope in reader.newest():
        if envelope.exact and envelope.rows:
            rows = reader.answer(seq, envelope)
            assert rows is not None
            (row,) = rows.to_pylist()
            (wanted,) = reference[envelope.window].to_pylist()
            assert (row["n"], row["total"]) == (wanted["n"], wanted["total"])
            checked += envelope.window in answers
    assert checked >= 1
