"""An agent whose ledger is damaged mends it and begins anew, instead of failing for ever."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
from home_agent import at_home, until
from store_kit import query_of, rows_of

from headwater.agent.runtime import SiteRuntime
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import SiteState
from headwater.errors import DiskFull, DiskTrouble
from headwater.plan.command import Install
from headwater.plan.query import Timing
from headwater.root.root import Root
from headwater.store.table_cache import TableCache

LIFE = 77


async def _damage(runtime: SiteRuntime) -> tuple[Root, str, int]:
    """A pane is answered, its summary damaged, the next answer asked for: (root, query, pane)."""
    pane = query_of().window.pane_at(round(time.time() * 1e6)) - 10
    query = msgspec.structs.replace(
        query_of(), begin_pane=pane, timing=Timing(revise_every_s=0.1, deadline_s=0.1)
    )
    id_ = str(query.id)
    runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
    await until(lambda: runtime.node.root(id_))
    root = runtime.node.root(id_)
    assert root is not None
    now_s = time.time()
    root.receive_states(
        [SiteState(query=id_, ordinal=1, incarnation=LIFE, number=1, first_pane=pane)], now_s=now_s
    )
    root.receive(
        Summary(query=id_, pane=pane, coverage=Coverage.of_whole(1, LIFE), rows=rows_of(("/a", 1))),
        now_s=now_s,
    )
    await until(lambda: runtime.answer_count and root.answers.under_way is None)
    ledger = runtime.stores.ledger
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE summaries SET checksum = x'00'")
    ledger.rows._cache = TableCache(0)
    whole = Summary(
        query=id_, pane=pane + 1, coverage=Coverage.of_whole(1, LIFE), rows=rows_of(("/b", 1))
    )
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
        root.receive(
            Summary(query=id_, pane=pane, coverage=repair, rows=rows_of(("/a", 1))),
            now_s=time.time(),
        )
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
