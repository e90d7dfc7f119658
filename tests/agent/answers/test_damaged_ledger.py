"""An agent whose ledger is damaged mends it and begins anew, instead of failing for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
from store_kit import query_of, rows_of

from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import SiteState
from headwater.errors import DiskFull, DiskTrouble
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.codec import Codec
from headwater.plan.command import Install
from headwater.plan.query import Query, Timing
from headwater.plan.roster import Roster, Site
from headwater.root.root import Root
from headwater.spark.root.root_part import RootSpark
from headwater.store.table_cache import TableCache

LIFE = 77


class RowsAsTheyAre:
    """A root part without Spark: the groups of the window."""

    def finish(self, query: Query, windows: dict[int, Any]) -> dict[int, pa.Table]:
        return windows


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not is_so():
            await asyncio.sleep(0.02)


def at_home(directory: Path, work: Callable[[SiteRuntime], Coroutine[Any, Any, None]]) -> None:
    """A root at work, over sites of whom nobody is there."""

    async def run() -> None:
        roster = Roster(1, (Site(0, "home", has_data=False), Site(1, "paris")), "home")
        stores = SiteStores(directory, site="home", clock=time.time)
        runtime = SiteRuntime(
            site="home",
            roster=roster,
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


async def _damage(runtime: SiteRuntime) -> tuple[Root, str, int]:
    """A pane is answered, its summary damaged, the next answer asked for: (root, query, pane)."""
    pane = query_of().window.pane_at(round(time.time() * 1e6)) - 10
    query = msgspec.structs.replace(
        query_of(), begin_pane=pane, timing=Timing(revise_every_s=0.1, deadline_s=0.1)
    )
    id_ = str(query.id)
    runtime.command(Install(query, runtime.trees, 1))
    await until(lambda: runtime.node.root(id_))
    root = runtime.node.root(id_)
    assert root is not None
    now_s = time.time()
    root.receive_states([SiteState(id_, 1, LIFE, 1, first_pane=pane)], now_s=now_s)
    root.receive(Summary(id_, pane, Coverage.of_whole(1, LIFE), rows_of(("/a", 1))), now_s=now_s)
    await until(lambda: runtime.answer_count and root.answers.under_way is None)
    ledger = runtime.stores.ledger
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET checksum = x'00'")
    ledger._cache = TableCache(0)
    whole = Summary(id_, pane + 1, Coverage.of_whole(1, LIFE), rows_of(("/b", 1)))
    root.receive(whole, now_s=time.time())
    return root, id_, pane


def test_a_damaged_summary_is_dropped_and_asked_for_by_a_new_incarnation(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        ledger = runtime.stores.ledger
        before = ledger.incarnation
        root, id_, pane = await _damage(runtime)
        await until(lambda: ledger.incarnation > before)
        assert pane not in [one.pane for one in ledger.restore(id_).summaries]
        board = root.scoreboard.peek(pane)
        assert not board.covered, "it is no longer held, so the acknowledgement asks for it"
        repair = Coverage.of_part(1, LIFE, updates=((1, 1),), closed_at=1)
        root.receive(Summary(id_, pane, repair, rows_of(("/a", 1))), now_s=time.time())
        count = runtime.answer_count
        await until(lambda: runtime.answer_count > count)
        assert root.answers.failure is None
        assert root.scoreboard.peek(pane).covered

    at_home(tmp_path, work)


def test_a_ledger_that_can_not_be_read_when_it_is_mended_is_read_again(tmp_path: Path) -> None:
    """At the next try nothing is damaged any more; its root must hear of the loss all the same."""

    async def work(runtime: SiteRuntime) -> None:
        ledger, reads = runtime.stores.ledger, list[str]()
        restore = ledger.restore

        def restored(query: str) -> Any:
            reads.append(query)
            if len(reads) <= 2:
                raise DiskTrouble("ledger.sqlite: reading: I/O error")
            return restore(query)

        ledger.restore = restored  # type: ignore[method-assign]
        root, id_, pane = await _damage(runtime)
        await until(lambda: len(reads) == 3)
        assert not root.scoreboard.peek(pane).covered, "it is asked for"
        assert runtime.notice_counts["disk: ledger not mended"] == 2
        assert runtime.failure == ""
        runtime._found_damaged(id_)
        await until(lambda: not runtime._answers.to_mend)
        assert len(reads) == 3, "nothing was damaged, so its root has nothing to hear"

    at_home(tmp_path, work)


def test_a_ledger_that_can_not_be_mended_now_is_mended_later(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        ledger, tries = runtime.stores.ledger, list[str]()
        mend = ledger.mend

        def mended(query: str) -> Any:
            tries.append(query)
            if len(tries) == 1:
                raise DiskFull("ledger.sqlite: no room")
            return mend(query)

        ledger.mend = mended  # type: ignore[method-assign]
        root, _, pane = await _damage(runtime)
        await until(lambda: len(tries) == 2)
        assert not root.scoreboard.peek(pane).covered
        assert runtime.failure == ""

    at_home(tmp_path, work)
