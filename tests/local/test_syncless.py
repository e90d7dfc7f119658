"""Three sites, one with a clock that is an hour ahead: by age, every answer is right."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

SQL = """
CREATE SOURCE hits (ts TIMESTAMP, n BIGINT) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM counts WITH (time = 'age', disorder = '1s', deadline = '8s')
AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '5 seconds');
"""
WINDOW_S = 5.0
AHEAD_S = {"home": 0.0, "good": -0.7, "ahead": 3_600.0}
"""How far each site's clock is ahead of the true time. Its log is stamped by it."""


@pytest.mark.timeout(240)
def test_a_clock_that_is_an_hour_ahead_moves_no_record(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(_run(running_spark, tmp_path), 220))


async def _run(spark: RunningSpark, tmp_path: Path) -> None:
    folders = {site: tmp_path / "logs" / site for site in AHEAD_S}
    for folder in folders.values():
        folder.mkdir(parents=True)
    federation = Federation(
        tmp_path / "federation",
        Roster(1, tuple(Site(number, name) for number, name in enumerate(AHEAD_S)), "home"),
        spark=spark,
        world=MemoryWorld(),
        settings=RuntimeSettings(),
        data=folders,
        now_s=time.time,
        clocks={
            site: lambda ahead_s=ahead_s: time.time() + ahead_s for site, ahead_s in AHEAD_S.items()
        },
    )
    await federation.start()
    try:
        await _until_clocks_are_known(federation)
        (query,) = install(federation.home, SQL, slack_us=3_000_000)
        results = tmp_path / "federation" / "sites" / "home" / "results" / "counts"
        written, answers = await _write_until(folders, results, windows=3)
        assert query.begin_pane is not None
        for window, (envelope, count) in answers.items():
            if envelope.exact:
                assert (envelope.covered, envelope.expected) == (3, 3)
                assert count == written[window]
    finally:
        await federation.stop()


async def _until_clocks_are_known(federation: Federation) -> None:
    for name, runtime in federation.runtimes.items():
        while runtime.node.peer.root_clock("home") is None:
            await asyncio.sleep(0.05)
        clock = runtime.node.peer.root_clock("home")
        assert clock is not None
        assert clock.offset_s == pytest.approx(-AHEAD_S[name], abs=0.1)


async def _write_until(
    folders: dict[str, Path], results: Path, *, windows: int
) -> tuple[Counter[int], dict[int, tuple[Envelope, int]]]:
    """Until so many windows have an exact answer: what was written by true time, and the answers.

    Nothing is written near the borders of windows, for offsets are known to milliseconds only.
    """
    written: Counter[int] = Counter()
    while True:
        now_s = time.time()
        if 1.0 <= now_s % WINDOW_S <= 4.0:
            for site, folder in folders.items():
                stamp = datetime.fromtimestamp(now_s + AHEAD_S[site], UTC).isoformat()
                with (folder / "a.csv").open("a") as file:
                    file.write(f"{stamp},1\n")
            written[int(now_s // WINDOW_S)] += len(folders)
        await asyncio.sleep(0.25)
        answers = _answers(results)
        if sum(envelope.exact for envelope, _ in answers.values()) >= windows:
            return written, answers


def _answers(results: Path) -> dict[int, tuple[Envelope, int]]:
    if not results.exists():
        return {}
    reader = ResultsReader(results)
    found = {}
    for seq, envelope in reader.newest():
        rows = reader.answer(seq, envelope)
        if rows is not None and rows.num_rows:
            found[envelope.window] = (envelope, rows.to_pylist()[0]["n"])
    return found
