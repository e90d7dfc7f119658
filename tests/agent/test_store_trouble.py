"""An agent over stores that fail: it ends where only a new start helps, and else tries again."""

from __future__ import annotations

import asyncio
import errno
import time
from pathlib import Path

import msgspec
import pytest
from home_agent import at_home, until
from store_kit import FaultyDisk, query_of, rows_of

from headwater.agent.answers import answer_runner
from headwater.agent.runtime import SiteRuntime
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.site_state import SiteState
from headwater.errors import StoreBroken
from headwater.plan.command import Install
from headwater.plan.query import Query, Timing
from headwater.store.results.results import ResultsReader

LIFE = 77


@pytest.mark.parametrize("which", ["cube", "ledger", "commands"])
def test_an_agent_whose_store_has_to_be_opened_anew_does_not_sit_for_ever(
    tmp_path: Path, which: str
) -> None:
    """Nobody writes here just now, and nobody may be the next to write for a long time."""

    async def work(runtime: SiteRuntime) -> None:
        store = getattr(runtime.stores, which)
        manifest = store.manifest if which == "cube" else store._manifest
        manifest._tables.broken = "manifest.sqlite: committing: disk I/O error"
        await until(lambda: runtime.failure)
        assert "disk I/O error; nothing more is written until it is opened anew" in runtime.failure
        assert StoreBroken.__name__ in runtime.failure

    at_home(tmp_path, work)


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

    at_home(tmp_path, work)


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

    at_home(tmp_path, hide)
    assert told == [], "nobody can see it"
    at_home(tmp_path, look)


async def _installed(runtime: SiteRuntime) -> Query:
    pane = query_of().window.pane_at(round(time.time() * 1e6)) - 10
    query = msgspec.structs.replace(
        query_of(), begin_pane=pane, timing=Timing(revise_every_s=0.1, deadline_s=0.1)
    )
    runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
    await until(lambda: runtime.node.root(str(query.id)))
    await until(lambda: runtime._answers.runner and runtime._answers.runner._writers)
    return query


def _receive(runtime: SiteRuntime, query: Query) -> None:
    root, id_, now_s = runtime.node.root(str(query.id)), str(query.id), time.time()
    assert root is not None
    assert query.begin_pane is not None
    pane = query.begin_pane
    root.receive_states(
        [SiteState(query=id_, ordinal=1, incarnation=LIFE, number=1, first_pane=pane)], now_s=now_s
    )
    root.receive(
        Summary(query=id_, pane=pane, coverage=Coverage.of_whole(1, LIFE), rows=rows_of(("/a", 1))),
        now_s=now_s,
    )
