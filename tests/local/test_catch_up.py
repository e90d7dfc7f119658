"""A late question about the past: answered from the files that are there, as plain Spark has it."""

from __future__ import annotations

import asyncio
import gzip
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING, n BIGINT)
WITH (format = 'csv', path = 'hits.csv*', time = 'ts');
"""
LIVE = """
CREATE STREAM live WITH (disorder = '1s', deadline = '8s')
AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '2 seconds');
"""
LATE = """
CREATE STREAM late WITH (begin = '95 minutes ago', disorder = '1s')
AS SELECT page, count(*) AS n, sum(n) AS total FROM hits GROUP BY window(ts, '10 minutes'), page;
CREATE STREAM all_of_it WITH (begin = 'earliest', disorder = '1s')
AS SELECT page, count(*) AS n, sum(n) AS total FROM hits GROUP BY window(ts, '10 minutes'), page;
"""
PLAIN = """
SELECT unix_micros(window.start) AS start, page, count(*) AS n, sum(n) AS total
FROM records GROUP BY window(ts, '10 minutes'), page
"""
Row = tuple[int, str, int, int]
WINDOW_US = 600_000_000


@pytest.mark.timeout(300)
def test_a_late_question_gets_the_past_that_plain_spark_finds_in_the_files(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(_run(running_spark, tmp_path), 280))


async def _run(spark: RunningSpark, tmp_path: Path) -> None:
    folders = {site: tmp_path / "logs" / site for site in ("home", "far")}
    began_s = time.time()
    for number, folder in enumerate(folders.values()):
        folder.mkdir(parents=True)
        _write_past(folder, began_s, number=number)
    federation = Federation(
        tmp_path / "federation",
        Roster(1, tuple(Site(number, name) for number, name in enumerate(folders)), "home"),
        spark=spark,
        world=MemoryWorld(),
        settings=RuntimeSettings(),
        data=folders,
        now_s=time.time,
    )
    await federation.start()
    try:
        install(federation.home, SOURCE + LIVE, slack_us=2_000_000)
        await _until(lambda: any(one.exact for one, _ in _answers(tmp_path, "live")), folders)
        late, earliest = install(federation.home, SOURCE + LATE)
        await _until(lambda: _is_answered(tmp_path, late, began_s), folders)
        await _until(lambda: _is_answered(tmp_path, earliest, began_s), folders)
        expected = _plain(spark, folders, before_us=_past_end_us(began_s))
        assert _rows(tmp_path, "all_of_it", began_s) == expected
        assert late.begin_pane is not None
        begin_us = late.window.pane_start_us(late.begin_pane)
        assert _rows(tmp_path, "late", began_s) == [row for row in expected if row[0] >= begin_us]
        assert len({start for start, *_ in _rows(tmp_path, "late", began_s)}) >= 7
        for runtime in federation.runtimes.values():
            await _until(lambda feeder=runtime.feeder: set(feeder.followed) == {"hits"}, folders)
    finally:
        await federation.stop()


def _write_past(folder: Path, now_s: float, *, number: int) -> None:
    """Two hours, in a compressed file, a rotated one and the log itself."""
    times_s = [now_s - 7_200.0 + 5.0 * n + number for n in range(1_439)]
    lines = [_line(time_s) for time_s in times_s]
    (folder / "hits.csv.2.gz").write_bytes(gzip.compress("".join(lines[:600]).encode()))
    (folder / "hits.csv.1").write_text("".join(lines[600:1_000]))
    (folder / "hits.csv").write_text("".join(lines[1_000:]))


def _line(time_s: float) -> str:
    stamp = datetime.fromtimestamp(time_s, UTC).isoformat()
    return f"{stamp},/{int(time_s) % 7},{int(time_s) % 1000}\n"


async def _until(is_so, folders: dict[str, Path]) -> None:
    """Meanwhile the logs go on."""
    while not is_so():
        for folder in folders.values():
            with (folder / "hits.csv").open("a") as file:
                file.write(_line(time.time()))
        await asyncio.sleep(0.25)


def _past_end_us(began_s: float) -> int:
    """All windows that were over when the test began."""
    return int(began_s * 1e6) // WINDOW_US * WINDOW_US


def _answers(tmp_path: Path, stream: str) -> list[tuple[Envelope, list[dict[str, object]]]]:
    results = tmp_path / "federation" / "sites" / "home" / "results" / stream
    if not results.exists():
        return []
    reader = ResultsReader(results)
    found = []
    for seq, envelope in reader.newest():
        rows = reader.answer(seq, envelope)
        found.append((envelope, [] if rows is None else rows.to_pylist()))
    return found


def _is_answered(tmp_path: Path, query: Query, began_s: float) -> bool:
    past = [e for e, _ in _answers(tmp_path, query.stream) if e.end_us <= _past_end_us(began_s)]
    exact = [one for one in past if one.exact]
    if query.begin_pane is None:
        return len(exact) >= 12
    first = query.window.pane_start_us(query.begin_pane)
    wanted = (_past_end_us(began_s) - first) // WINDOW_US
    return len(exact) == wanted


def _rows(tmp_path: Path, stream: str, began_s: float) -> list[Row]:
    found = []
    for envelope, rows in _answers(tmp_path, stream):
        if envelope.end_us <= _past_end_us(began_s):
            found += [(envelope.start_us, r["page"], r["n"], r["total"]) for r in rows]
    return sorted(found)  # type: ignore[type-var]


def _plain(spark: RunningSpark, folders: dict[str, Path], *, before_us: int) -> list[Row]:
    paths = [str(path) for folder in folders.values() for path in folder.iterdir()]
    schema = "ts TIMESTAMP, page STRING, n BIGINT"
    spark.session.read.schema(schema).csv(paths).createOrReplaceTempView("records")
    rows = spark.session.sql(PLAIN).collect()
    return sorted(tuple(row) for row in rows if row.start + WINDOW_US <= before_us)
