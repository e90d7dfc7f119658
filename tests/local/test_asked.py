"""Questions about the past: of the panes of two sites, and of their logs, as plain Spark has it."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.agent.asking.preparing import prepared_ask
from headwater.agent.control.ask_api import AskRequest
from headwater.agent.control.install import install, planned
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.view.stream_lines import results_of
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.words import query_in
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.root.said.envelope import Envelope

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING, status INT, n BIGINT, ms DOUBLE)
WITH (format = 'csv', path = 'hits.csv', time = 'ts');
"""
STREAM = """
CREATE STREAM pages WITH (begin = '40 minutes ago', disorder = '1s') AS
SELECT page, status, count(*) AS c, sum(n) AS total, avg(ms) AS mean, max(n) AS most,
       approx_count_distinct(n) AS kinds
FROM hits WHERE n >= 0 GROUP BY window(ts, '10 seconds'), page, status HAVING c > 1000000;
"""
CUBE, LOGS = "cube", "logs"
QUESTIONS = [
    (CUBE, "SELECT status, count(*) AS c FROM hits WHERE n >= 0 AND page = '/3' GROUP BY status"),
    (CUBE, "SELECT page, sum(n) AS t, max(n) AS m FROM hits WHERE n >= 0 GROUP BY page"),
    (CUBE, "SELECT count(*) AS c, round(avg(ms), 6) AS a FROM hits WHERE n >= 0"),
    (
        CUBE,
        "SELECT upper(page) AS p, status DIV 100 AS k, sum(n) AS t FROM hits WHERE n >= 0 AND "
        "(status BETWEEN 400 AND 499 OR page IS NULL) GROUP BY upper(page), status DIV 100",
    ),
    (
        CUBE,
        "SELECT page, count(*) AS c FROM hits WHERE n >= 0 AND page <> '/1' "
        "GROUP BY page HAVING count(*) > 20 ORDER BY c DESC, page LIMIT 3",
    ),
    (
        CUBE,
        "SELECT unix_micros(window.start) AS s, status, count(*) AS c FROM hits WHERE n >= 0 "
        "GROUP BY window(ts, '5 minutes'), status",
    ),
    (LOGS, "SELECT status, min(n) AS least FROM hits WHERE n >= 0 GROUP BY status"),
    (LOGS, "SELECT page, count(DISTINCT n) AS d FROM hits WHERE n > 3 GROUP BY page"),
]


@pytest.mark.timeout(300)
def test_questions_get_what_plain_spark_finds_in_the_logs(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(_run(running_spark, tmp_path), 280))


async def _run(spark: RunningSpark, tmp_path: Path) -> None:
    folders = {site: tmp_path / "logs" / site for site in ("home", "far")}
    began_s = time.time()
    for number, folder in enumerate(folders.values()):
        folder.mkdir(parents=True)
        (folder / "hits.csv").write_text("".join(_lines(began_s, seed=number)))
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
        (stream,) = install(federation.home, SOURCE + STREAM)
        to_us = int(began_s - 120) * 1_000_000
        await _until(lambda: _closed(federation, stream, to_us))
        for number, (source, select) in enumerate(QUESTIONS):
            query = _prepared(federation.home, number, select, to_us)
            assert query.reads_cube == (source == CUBE), select
            found = await _answers(federation.home, query)
            assert all(envelope.exact for envelope, _ in found), select
            rows = sorted((row for _, of_window in found for row in of_window), key=str)
            assert rows == _plain(spark, folders, query), select
    finally:
        await federation.stop()


def _lines(now_s: float, *, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        f"{datetime.fromtimestamp(now_s - 2_000 + n, UTC).isoformat()},"
        f"{chance.choice(['', '/1', '/2', '/3', '/É'])},{chance.choice([200, 200, 404, 500])},"
        f"{chance.randrange(-2, 50)},{chance.randrange(1_000) / 8}\n"
        for n in range(1_990)
    ]


def _closed(federation: Federation, stream: Query, through_us: int) -> bool:
    pane = stream.window.pane_at(through_us)
    found = [
        one.record.closed_through
        for runtime in federation.runtimes.values()
        for one in runtime.node.progress().edge
        if one.query == str(stream.id)
    ]
    return len(found) == 2 and min(found) > pane


def _prepared(runtime: SiteRuntime, number: int, select: str, to_us: int) -> Query:
    request = AskRequest(
        select=select, name=f"ask_{number}", from_us=to_us - 25 * 60 * 1_000_000, to_us=to_us
    )
    return query_in(prepared_ask(runtime, request).question)[0]


async def _answers(runtime: SiteRuntime, query: Query) -> list[tuple[Envelope, list[Any]]]:
    """The first answer of each window."""
    runtime.command(planned(runtime, query))
    reader = results_of(runtime, query)
    assert query.begin_pane is not None
    panes = (query.ends_at or 0) - query.begin_pane
    wanted = (panes - query.window.panes_per_window) // query.window.panes_per_slide + 1
    await _until(lambda: len(list(reader.newest())) == wanted)
    found = []
    for seq, envelope in reader.newest():
        rows = reader.answer(seq, envelope)
        found.append((envelope, [] if rows is None else [tuple(r.values()) for r in _dicts(rows)]))
    runtime.question_ends.end([str(query.id)])
    return found


def _dicts(rows: Any) -> list[dict[str, Any]]:
    return rows.to_pylist()  # type: ignore[no-any-return]


def _plain(spark: RunningSpark, folders: dict[str, Path], query: Query) -> list[Any]:
    """One Spark over all records in that time, by the reference of the question itself."""
    assert query.begin_pane is not None
    first_us = query.window.pane_start_us(query.begin_pane)
    end_us = query.window.pane_start_us(query.ends_at or 0)
    session = spark.session.newSession()
    for name, value in query.program.settings:
        session.conf.set(name, value)
    paths = [str(folder / "hits.csv") for folder in folders.values()]
    frame = session.read.schema("ts TIMESTAMP, page STRING, status INT, n BIGINT, ms DOUBLE")
    frame = frame.csv(paths).where(f"unix_micros(ts) >= {first_us} AND unix_micros(ts) < {end_us}")
    frame.createOrReplaceTempView("records")
    rows = [tuple(row) for row in session.sql(query.program.central_sql).collect()]
    whole = [
        row for row in rows if _us(row[0]["start"]) >= first_us and _us(row[0]["end"]) <= end_us
    ]
    return sorted((row[1:] for row in whole), key=str)


def _us(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6)


async def _until(is_so: Any) -> None:
    async with asyncio.timeout(120):
        while not is_so():
            await asyncio.sleep(0.05)
