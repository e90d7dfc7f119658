"""Agents without Spark that have panes of a stream in their cubes, so that these can be asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
from tests.kits.home_agent import RowsAsTheyAre

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.control.ask_api import AskRequest
from headwater.agent.control.control import ControlDesk
from headwater.agent.control.operator_client import (
    Question,
    give_question,
    prepared_question,
    run_statements,
)
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.edge.report import BatchReport, QueryBatch
from headwater.net.identity.signing import OperatorSignature
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.query import Query
from headwater.plan.readings import past_reading
from headwater.plan.roster import Roster, Site
from headwater.spark.root.root_part import RootSpark

NAMES = ("hub", "oslo", "rome")
ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate(NAMES)), "hub")
PAGES = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING, status INT) WITH (format = 'csv', path = '*.csv',
                                                                 time = 'ts');
CREATE STREAM pages WITH (begin = '20 minutes ago') AS
SELECT page, status, count(*) AS n FROM hits GROUP BY window(ts, '10 seconds'), page, status;
"""
WAIT_S_MAX = 60.0

Rows = dict[tuple[str, int], int]
"""(page, status): how many records."""


class AskedAgents:
    """Three agents; what their sites have of the stream is given by hand."""

    def __init__(self, directory: Path, ask: AskConfig | None = None) -> None:
        self.world = MemoryWorld()
        self._directory = directory
        self._settings = RuntimeSettings(ask=ask or AskConfig())
        self.runtimes: dict[str, SiteRuntime] = {}
        self.desks: dict[str, ControlDesk] = {}
        self.stream: Query

    async def start(self) -> None:
        for name in NAMES:
            await self.begin(name)
        await run_statements(self.desks["hub"].handle, PAGES, self.world.operator)
        for runtime in self.runtimes.values():
            await until(lambda here=runtime: here.node.progress().edge)
        (install,) = self.runtimes["hub"].node.peer.live_queries().values()
        self.stream = install.query

    async def begin(self, name: str) -> None:
        stores = SiteStores(self._directory / name, site=name, clock=time.time)
        runtime = SiteRuntime(
            site=name,
            roster=ROSTER,
            settings=self._settings,
            stores=stores,
            network=self.world.network(name, Codec(stores.book.schema)),
            now_s=time.time,
            admit=lambda query, duty, operator: None,
            root_spark=cast(RootSpark, RowsAsTheyAre()) if name == "hub" else None,
        )
        await runtime.start()
        self.runtimes[name], self.desks[name] = runtime, ControlDesk()
        self.desks[name].open(runtime)

    async def end(self, name: str) -> None:
        await self.runtimes.pop(name).kill()
        del self.desks[name]

    async def stop(self) -> None:
        for runtime in self.runtimes.values():
            await runtime.stop()

    async def give(self, site: str, by_pane: dict[int, Rows], *, behind_s: float = 0.0) -> None:
        """Panes of the stream, counted from its first one; all up to now are closed, or so long
        before."""
        runtime, query = self.runtimes[site], self.stream
        assert query.begin_pane is not None
        cube, edge = runtime.stores.cube, runtime.node.edge
        tables = {query.begin_pane + n: table_of(rows) for n, rows in by_pane.items()}
        await until(lambda: cube.past_of(str(query.id)) is not None)
        kept = cube.asked_rows.keep(str(query.id), tables)
        batch = QueryBatch(str(query.id), tuple(kept.items()))
        begin_us = query.window.pane_start_us(query.begin_pane)
        past = BatchReport(past_reading(query), (batch,), low_time_us=begin_us - 1, ended=True)
        read_s = time.time() - behind_s
        live = BatchReport(query.source_name, read_through_s=read_s, is_caught_up=True)
        for report in (past, live):
            runtime._tell(runtime.node.batch_committed, report)
        await until(lambda: _closed_through(runtime, query) > query.begin_pane + 60)
        assert edge.is_running(str(query.id))

    async def prepared(self, select: str, **more: Any) -> Question:
        request = AskRequest(select=select, **{"name": "ask_1", "since_s": 600.0, **more})
        return await prepared_question(self.desks["hub"].handle, request)

    async def asked(
        self, query: Query, *, answers: int = 1, signature: OperatorSignature | None = None
    ) -> list[dict[str, Any]]:
        signs = signature or self.world.operator
        await give_question(self.desks["hub"].handle, query, ROSTER.version, signs)
        events = await self.desks["hub"].handle("watch", {"stream": str(query.id)})
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(WAIT_S_MAX):
            async for event in events:
                found.append(event)
                if len(found) == answers:
                    break
        await events.aclose()
        return found


def _closed_through(runtime: SiteRuntime, query: Query) -> int:
    found = [one for one in runtime.node.progress().edge if one.query == str(query.id)]
    return found[0].record.closed_through


def table_of(rows: Rows) -> pa.Table:
    pages, statuses = [page for page, _ in rows], [status for _, status in rows]
    columns = [pa.array(pages), pa.array(statuses, pa.int32()), pa.array([*rows.values()])]
    return pa.table(columns, names=["page", "status", "count_1"])


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while not is_so():
            await asyncio.sleep(0.02)


def run_asked(
    directory: Path, story: Callable[[AskedAgents], Awaitable[None]], ask: AskConfig | None = None
) -> None:
    async def run() -> None:
        agents = AskedAgents(directory, ask)
        try:
            await agents.start()
            await story(agents)
        finally:
            await agents.stop()

    asyncio.run(asyncio.wait_for(run(), 3 * WAIT_S_MAX))


def rows_of(event: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(event["rows"], key=msgspec.json.encode)
