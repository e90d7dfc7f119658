"""A row of a cube or a ledger that can't be read costs its own query, and no agent its start."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from home_agent import alone
from store_kit import envelope_of, query_of, rows_of

from headwater.agent.control.control import ControlDesk
from headwater.agent.runtime import SiteRuntime
from headwater.agent.stores import SiteStores
from headwater.algebra.coverage import Coverage
from headwater.algebra.words.site_state import SiteState
from headwater.errors import HeadwaterError, UnreadableRow
from headwater.plan.command import Install, Remove
from headwater.plan.query import Query
from headwater.root.outputs import Keep, KeepState, KeptSummary, WindowAnswered
from headwater.store.results.results import ResultsWriter

GOOD, BAD = query_of("good", 1), query_of("bad", 2)
CUBE, LEDGER = "cube/manifest.sqlite", "root/ledger.sqlite"
WAIT_S_MAX = 120.0
DAMAGE = {
    "no message at all": b"\xc1\xc1",
    "a value of another shape": b"\x01",
    "text instead of bytes": "damaged",
}


class Bench:
    """Lives of one agent over the same directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def live(self, work: Callable[[SiteRuntime], Awaitable[None]]) -> None:
        asyncio.run(self._live(work))

    async def _live(self, work: Callable[[SiteRuntime], Awaitable[None]]) -> None:
        runtime = alone(self.directory)
        runtime.can_answer = True  # or its having no Spark would be shown as well
        await runtime.start()
        try:
            await work(runtime)
            assert not runtime.failure
        finally:
            await runtime.stop()
            runtime.stores.close()

    def damage(self, database: str, sql: str, *values: Any) -> None:
        (path,) = self.directory.glob(f"**/{Path(database).name}")
        with sqlite3.connect(path) as connection:
            changed = connection.execute(sql, values).rowcount
        connection.close()
        assert changed, "the test damages something"

    def count(self, database: str, sql: str, *values: Any) -> int:
        (path,) = self.directory.glob(f"**/{Path(database).name}")
        with sqlite3.connect(path) as connection:
            (found,) = connection.execute(sql, values).fetchone()
        connection.close()
        return int(found)


async def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not is_so():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.005)


async def both_installed(runtime: SiteRuntime) -> None:
    for query in (GOOD, BAD):
        runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
    ids = {str(GOOD.id), str(BAD.id)}
    await until(lambda: {one.query for one in runtime.stores.cube.restore()} == ids)
    for query in (GOOD, BAD):
        _keep_something(runtime.stores, query)


def _keep_something(stores: SiteStores, query: Query) -> None:
    """A summary, a state and an answer of long ago."""
    query_id = str(query.id)
    kept = KeptSummary(1, 3, Coverage.of_whole(0, 7), rows_of(("a", 1)), True)
    stores.ledger.write(
        [
            Keep(query_id, kept),
            KeepState(
                query_id,
                SiteState(query=query_id, ordinal=0, incarnation=7, number=1, first_pane=3),
                1,
            ),
        ]
    )
    answer = WindowAnswered(1, 1, 1, envelope_of(query, 1))
    writer = ResultsWriter(stores.results_directory / query.id.name, disk=stores.results_disk)
    stores.ledger.publish(query, [answer], {1: rows_of(("a", 1))}, writer)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.live(both_installed)
    return made


async def streams(runtime: SiteRuntime) -> dict[str, str]:
    """By stream: its trouble."""
    desk = ControlDesk()
    desk.open(runtime)
    told = await desk.handle("streams", {})
    return {line["stream"]: line["trouble"] for line in told["streams"]}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_record_that_can_not_be_read_is_set_aside_alone_and_named(
    bench: Bench, content: object
) -> None:
    bench.damage(CUBE, "UPDATE queries SET record = ? WHERE name = ?", content, str(BAD.id))

    async def look(runtime: SiteRuntime) -> None:
        edge = runtime.node.edge
        assert edge is not None
        assert [one.query for one in edge.progress()] == [str(GOOD.id)], "it is not begun anew"
        told = await streams(runtime)
        assert told["good"] == ""
        assert "set aside at home" in told["bad"]
        assert "can't be read" in told["bad"]
        assert runtime.notice_counts["edge: set aside"] == 1
        assert runtime.node.root(str(BAD.id)) is not None, "others' records of it are answered"
        runtime.stores.cube.retention(now_s=time.time() + 1e6)

    bench.live(look)
    kept = bench.count(CUBE, "SELECT count(*) FROM queries WHERE name = ?", str(BAD.id))
    assert kept == 1, "it stays as it is"


@pytest.mark.parametrize(
    ("table", "column"), [("summaries", "coverage"), ("states", "content"), ("answers", "content")]
)
def test_a_ledger_that_can_not_be_read_is_set_aside_alone_and_named(
    bench: Bench, table: str, column: str
) -> None:
    sql = f"UPDATE {table} SET {column} = ? WHERE query = ?"
    bench.damage(LEDGER, sql, b"\xc1", str(BAD.id))

    async def look(runtime: SiteRuntime) -> None:
        assert runtime.node.root(str(GOOD.id)) is not None
        assert runtime.node.root(str(BAD.id)) is None
        told = await streams(runtime)
        assert told["good"] == ""
        assert "it is not answered here" in told["bad"]
        assert "can't be read" in told["bad"]
        assert "headwater resume" in told["bad"]
        with pytest.raises(HeadwaterError, match="can't be read"):
            runtime.node.why(str(BAD.id), 1)

    bench.live(look)
    assert bench.count(LEDGER, f"SELECT count(*) FROM {table} WHERE query = ?", str(BAD.id))


def test_what_can_not_be_read_goes_with_its_query(bench: Bench) -> None:
    bench.damage(CUBE, "UPDATE queries SET record = ? WHERE name = ?", b"\xc1", str(BAD.id))
    bench.damage(LEDGER, "UPDATE states SET content = ? WHERE query = ?", b"\xc1", str(BAD.id))

    async def remove(runtime: SiteRuntime) -> None:
        runtime.command(
            Remove(id=BAD.id, installer="home", counter=runtime.node.peer.next_counter())
        )
        await until(lambda: str(BAD.id) not in runtime.stores.ledger.queries())
        await until(lambda: not runtime.stores.cube.unread())

    bench.live(remove)
    assert bench.count(CUBE, "SELECT count(*) FROM queries WHERE name = ?", str(BAD.id)) == 0


def test_what_was_removed_while_its_agent_could_not_read_it_goes_at_the_next_start(
    bench: Bench,
) -> None:
    async def remove(runtime: SiteRuntime) -> None:
        runtime.command(
            Remove(id=BAD.id, installer="home", counter=runtime.node.peer.next_counter())
        )
        await until(lambda: str(BAD.id) not in runtime.stores.ledger.queries())
        await until(lambda: len(runtime.stores.cube.restore()) == 1)

    bench.live(remove)
    bench.damage(CUBE, "INSERT INTO queries (name, record) VALUES (?, ?)", str(BAD.id), b"\xc1")
    bench.damage(LEDGER, "INSERT INTO states VALUES (?, 0, 7, 1, ?, NULL)", str(BAD.id), b"\xc1")

    async def look(runtime: SiteRuntime) -> None:
        await until(lambda: str(BAD.id) not in runtime.stores.ledger.queries())
        await until(lambda: not runtime.stores.cube.unread())

    bench.live(look)


def test_a_pane_that_is_over_for_a_reason_of_a_newer_version_is_over(bench: Bench) -> None:
    number = bench.count(CUBE, "SELECT id FROM queries WHERE name = ?", str(GOOD.id))
    bench.damage(CUBE, "INSERT INTO expired VALUES (?, 5, 'moonlight')", number)

    async def look(runtime: SiteRuntime) -> None:
        (kept,) = [one for one in runtime.stores.cube.restore() if one.query == str(GOOD.id)]
        assert any(one.first <= 5 <= one.last for one in kept.record.declined)

    bench.live(look)


def test_a_file_of_a_source_that_can_not_be_read_stops_no_start_and_is_said(bench: Bench) -> None:
    async def look(runtime: SiteRuntime) -> None:
        cuts = runtime.stores.cube.cuts
        state = cuts.open_source(GOOD.program.source.name, ends=False)
        with pytest.raises(
            UnreadableRow, match=f"source {GOOD.program.source.name}.*can't be read"
        ):
            cuts.files(state)

    async def begin(runtime: SiteRuntime) -> None:
        runtime.stores.cube.cuts.open_source(GOOD.program.source.name, ends=False)

    bench.live(begin)
    number = bench.count(CUBE, "SELECT id FROM sources WHERE name = ?", GOOD.program.source.name)
    bench.damage(CUBE, "INSERT INTO files VALUES (?, 1, ?)", number, b"\xc1")
    bench.live(look)
