"""An agent over stores that fail: it ends where only a new start helps, and else tries again."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
import pytest
from store_kit import FaultyDisk, query_of, rows_of

from headwater.agent.answers import answer_runner
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import SiteState
from headwater.errors import StoreBroken
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.command import Install
from headwater.plan.query import Query, Timing
from headwater.plan.roster import Roster, Site
from headwater.spark.root.root_part import RootSpark
from headwater.store.results.results import ResultsReader

LIFE = 77


class RowsAsTheyAre:
    """A root part without Spark: the groups of the window."""

    def finish(self, query: Query, windows: dict[int, Any]) -> dict[int, pa.Table]:
        return windows


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not is_so():
            await asyncio.sleep(0.02)


def run_agent(directory: Path, work: Callable[[SiteRuntime], Awaitable[None]]) -> None:
    async def run() -> None:
        stores = SiteStores(directory, site="home", clock=time.time)
        runtime = SiteRuntime(
            site="home",
            roster=Roster(1, (Site(0, "home", has_data=False), Site(1, "paris")), "home"),
            settings=RuntimeSettings(),
            stores=stores,
            network=MemoryWorld().network("home", Codec(stores.book.schema)),
            now_s=time.time,
            admit=lambda query, duty, operator: None,
            root_spark=cast(RootSpark, RowsAsTheyAre()),
        )
        await runtime.start()
        try:
            await work(runtime)
        finally:
            await runtime.stop()

    asyncio.run(run())


@pytest.mark.parametrize("which", ["cube", "ledger", "commands"])
def test_an_agent_whose_store_has_to_be_opened_anew_does_not_sit_for_ever(
    tmp_path: Path, which: str
) -> None:
    """Nobody writes here just now, and nobody may be the next to write for a long time."""

    async def work(runtime: SiteRuntime) -> None:
        store = getattr(runtime.stores, which)
        manifest = store.manifest if which == "cube" else store._manifest
        manifest._broken = "manifest.sqlite: committing: disk I/O error"
        await until(lambda: runtime.failure)
        assert "disk I/O error; nothing more is written until it is opened anew" in runtime.failure
        assert StoreBroken.__name__ in runtime.failure

    run_agent(tmp_path, work)


def test_an_answer_that_readers_could_not_be_shown_is_shown_later_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_runner, "SHOW_RETRY_S", 0.05)

    async def work(runtime: SiteRuntime) -> None:
        query = await _installed(runtime)
        answers = runtime._answers.runner
        assert answers is not None
        disk = FaultyDisk()
        disk.fail["rename"] = errno.EIO
        writer = answers._writers[query.id.name]
        writer._disk = disk
        _receive(runtime, query)
        await until(lambda: writer.trouble)
        kept = [one.window for one in runtime.stores.ledger.restore(str(query.id)).answers]
        assert kept, "it is published: the ledger has it"
        monkeypatch.setattr(answers, "answer", lambda answer: None)  # no later one comes to help
        await until(lambda: len(answers._tasks) == 1)
        reader = ResultsReader(tmp_path / "results" / query.id.name)
        assert (reader.publications(), runtime.answer_count) == ([], 0)
        disk.fail.clear()
        await until(lambda: runtime.answer_count)
        envelopes = [e for seq in reader.publications() for e in reader.envelopes(seq)]
        assert len({(e.window, e.revision) for e in envelopes}) == len(envelopes) > 0

    run_agent(tmp_path, work)


def test_an_agent_that_ends_while_an_answer_is_hidden_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_runner, "SHOW_RETRY_S", 0.05)
    streams: list[str] = []
    told: list[int] = []

    async def hide(runtime: SiteRuntime) -> None:
        query = await _installed(runtime)
        runtime.watchers.add(lambda _, seq: told.append(seq))
        answers = runtime._answers.runner
        assert answers is not None
        writer = answers._writers[query.id.name]
        writer._disk = disk = FaultyDisk()
        disk.fail["rename"] = errno.EIO
        _receive(runtime, query)
        await until(lambda: writer.trouble)
        streams.append(query.id.name)

    async def look(runtime: SiteRuntime) -> None:
        reader = ResultsReader(tmp_path / "results" / streams[0])
        await asyncio.sleep(0)  # its tasks are begun before they are cancelled
        await until(reader.publications)

    run_agent(tmp_path, hide)
    assert told == [], "nobody can see it"
    run_agent(tmp_path, look)


async def _installed(runtime: SiteRuntime) -> Query:
    pane = query_of().window.pane_at(round(time.time() * 1e6)) - 10
    query = msgspec.structs.replace(
        query_of(), begin_pane=pane, timing=Timing(revise_every_s=0.1, deadline_s=0.1)
    )
    runtime.command(Install(query, runtime.trees, 1))
    await until(lambda: runtime.node.root(str(query.id)))
    await until(lambda: runtime._answers.runner and runtime._answers.runner._writers)
    return query


def _receive(runtime: SiteRuntime, query: Query) -> None:
    root, id_, now_s = runtime.node.root(str(query.id)), str(query.id), time.time()
    assert root is not None
    assert query.begin_pane is not None
    pane = query.begin_pane
    root.receive_states([SiteState(id_, 1, LIFE, 1, first_pane=pane)], now_s=now_s)
    root.receive(Summary(id_, pane, Coverage.of_whole(1, LIFE), rows_of(("/a", 1))), now_s=now_s)
