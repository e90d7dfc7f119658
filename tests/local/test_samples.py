"""A stream that takes half of its panes by chance: what it has, and what it says all records have,
beside one Spark over the logs of its sites."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.agent.view.stream_lines import results_of
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

FILE = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING, n BIGINT, ms DOUBLE)
WITH (format = 'csv', path = 'hits.csv', time = 'ts');
CREATE STREAM pages WITH (begin = '30 minutes ago', disorder = '1s',
                          fidelity = 'area 50 %, random') AS
SELECT page, count(*) AS c, sum(n) AS total, max(n) AS most FROM hits
GROUP BY window(ts, '4 minutes', '10 seconds'), page;
"""
WINDOWS = 20
SITES = ("home", "far")
RECORDS_S = 1_500
"""One a second at each site."""
TOTAL_ERROR_MAX = 0.05
"""Of all windows together, of records that come evenly."""


@pytest.mark.timeout(300)
def test_a_sample_has_its_drawn_panes_and_says_what_all_records_have(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(_run(running_spark, tmp_path), 280))


async def _run(spark: RunningSpark, tmp_path: Path) -> None:
    began_s = time.time()
    folders = {site: tmp_path / "logs" / site for site in SITES}
    for number, folder in enumerate(folders.values()):
        folder.mkdir(parents=True)
        (folder / "hits.csv").write_text("".join(_lines(began_s, seed=number)))
    federation = Federation(
        tmp_path / "federation",
        Roster(1, tuple(Site(number, name) for number, name in enumerate(SITES)), "home"),
        spark=spark,
        world=MemoryWorld(),
        settings=RuntimeSettings(),
        data=folders,
        now_s=time.time,
    )
    await federation.start()
    try:
        (stream,) = install(federation.home, FILE)
        reader = results_of(federation.home, stream)
        first = stream.window.first_window_from(round((began_s - 1_500) * 1e6))
        wanted = range(first, first + WINDOWS)

        def found() -> dict[int, tuple[int, Envelope]]:
            return {
                one.window: (seq, one)
                for seq, one in reader.newest()
                if one.window in wanted and one.fidelity.area_drawn == 1.0
            }

        await _until(lambda: len(found()) == WINDOWS)
        answers = {
            window: (envelope, _dicts(reader.answer(seq, envelope)))
            for window, (seq, envelope) in found().items()
        }
    finally:
        await federation.stop()
    drawn, all_ = (_plain(spark, folders, stream, wanted, is_drawn=one) for one in (True, False))
    for window, (envelope, rows) in answers.items():
        scale, panes = envelope.fidelity.scale, stream.window.panes_of(window)
        draw = stream.draw
        assert draw is not None
        assert scale == pytest.approx(len(panes) / sum(draw.has(pane, 0) for pane in panes))
        assert {(r["page"], r["c"], r["total"], r["most"]) for r in rows} == drawn[window]
        for row in rows:
            assert row["c_scaled"] == pytest.approx(scale * row["c"])
            assert row["total_scaled"] == pytest.approx(scale * row["total"])
            assert "most_scaled" not in row
    said = sum(row["c_scaled"] for _, rows in answers.values() for row in rows)
    true = sum(c for rows in all_.values() for _, c, _, _ in rows)
    assert abs(said - true) <= TOTAL_ERROR_MAX * true


def _lines(now_s: float, *, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        f"{datetime.fromtimestamp(now_s - RECORDS_S - 20 + n, UTC).isoformat()},"
        f"{chance.choice(['/1', '/2', '/3'])},{chance.randrange(50)},{chance.random()}\n"
        for n in range(RECORDS_S)
    ]


def _plain(
    spark: RunningSpark, folders: dict[str, Path], stream: Query, windows: range, *, is_drawn: bool
) -> dict[int, set[tuple[Any, ...]]]:
    """By one Spark over all logs, of the drawn panes or of all."""
    draw, spec = stream.draw, stream.window
    assert draw is not None
    session = spark.session.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    frame = session.read.schema("ts TIMESTAMP, page STRING, n BIGINT, ms DOUBLE")
    frame.csv([str(one / "hits.csv") for one in folders.values()]).createOrReplaceTempView("hits")
    found = {}
    for window in windows:
        panes = [pane for pane in spec.panes_of(window) if not is_drawn or draw.has(pane, 0)]
        own = ", ".join(str(spec.pane_start_us(pane)) for pane in panes)
        rows = session.sql(
            "SELECT page, count(*), sum(n), max(n) FROM hits WHERE unix_micros(ts) - "
            f"pmod(unix_micros(ts) - {spec.start_us}, {spec.pane_us}) IN ({own}) GROUP BY page"
        )
        found[window] = {tuple(row) for row in rows.collect()}
    return found


def _dicts(rows: Any) -> list[dict[str, Any]]:
    return [] if rows is None else rows.to_pylist()


async def _until(is_so: Any) -> None:
    async with asyncio.timeout(150):
        while not is_so():
            await asyncio.sleep(0.1)
