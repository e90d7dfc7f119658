"""Writes that fail and parts that raise: tried again and shown, or the end, in a sentence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import home_agent
import msgspec
import pytest
from store_kit import query_of

from headwater.agent import effects as agent_effects
from headwater.agent import patience, replanning
from headwater.agent.control.control import ControlDesk
from headwater.agent.effects import EffectRunner
from headwater.agent.runtime import RETENTION_EVERY_S, SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.errors import DiskFull, HeadwaterError, StoreBroken, StoreError
from headwater.node import effects as fx
from headwater.overlay.messages import AskInstall
from headwater.plan.command import Count, Install, Remove
from headwater.plan.notice import Notice
from headwater.plan.query import Query
from headwater.plan.tree import Tree
from headwater.root.outputs import Trim
from headwater.spark.root.root_part import RootSpark

FULL = DiskFull("ledger.sqlite: no room")
TRIES_MAX = 20_000


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE_S_MIN", 0.0)
    monkeypatch.setattr(agent_effects, "PAUSE_S_MIN", 0.0)


class Refusing:
    """A store's call that refuses, so many times or until it is told to work."""

    def __init__(self, error: Exception, call: Callable[..., Any], times: float = 1) -> None:
        self.left = times
        self.error = error
        self.call = call
        self.tried = 0

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.tried += 1
        assert self.tried < TRIES_MAX, "it is tried for ever"
        if self.tried <= self.left:
            raise self.error
        return self.call(*args, **more)


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not is_so():
            await asyncio.sleep(0.005)


# The rule of all writes


class Runner:
    """An effect runner over stores that only refuse or write down."""

    def __init__(self, write: Callable[..., Any], *, patience_s: float = 60.0) -> None:
        self.heard: list[fx.Effect] = []
        self.sent: list[str] = []
        self.node = SimpleNamespace(site="home")
        self._pool = ThreadPoolExecutor(1)
        stores: dict[Any, Any] = dict.fromkeys(get_args(fx.Store), SimpleNamespace(write=write))
        stores["network"] = SimpleNamespace(dial=lambda effect: self.sent.append(effect.site))
        stores["people"] = SimpleNamespace(notice=self.heard.append)
        self.runner = EffectRunner(
            cast(Any, self.node), stores, writer=self._pool, now_s=time.time, patience_s=patience_s
        )

    async def run(self, *effects: fx.Effect) -> None:
        try:
            await self.runner.run(effects)
        finally:
            self._pool.shutdown()


WRITES: Sequence[fx.Effect] = (
    Trim("q", 1),
    fx.Forget("q"),
    fx.KeepCounts((Count(installer="home", number=1, revision=1),)),
    fx.AnswersBegun(query_of()),
    fx.AnswersEnded("q"),
)
"""To the ledger, the cube, the commands, the results and whatever knows of answers."""


@pytest.mark.parametrize("error", [FULL, StoreError("EIO"), OSError(24, "EMFILE")], ids=repr)
@pytest.mark.parametrize("effect", WRITES, ids=lambda effect: type(effect).__name__)
def test_a_write_that_fails_is_tried_again_before_anything_is_said(
    effect: fx.Effect, error: Exception
) -> None:
    write = Refusing(error, lambda writes: [None for _ in writes], times=3)
    runner = Runner(write)
    asyncio.run(runner.run(effect, fx.Dial("paris")))
    assert write.tried == 4
    assert runner.sent == ["paris"]
    assert [type(one) for one in runner.heard] == [Notice], "told once, not at every try"
    assert runner.runner.trouble == ""


def test_trouble_is_visible_while_a_write_waits_for_room() -> None:
    async def run() -> None:
        write = Refusing(FULL, lambda _: [None], times=float("inf"))
        runner = Runner(write, patience_s=0.0)
        task = asyncio.create_task(runner.run(Trim("q", 1), fx.Dial("paris")))
        await until(lambda: write.tried > 3)
        assert "no room" in runner.runner.trouble
        assert runner.sent == []
        write.left = 0
        await task
        assert runner.sent == ["paris"]

    asyncio.run(run())


def test_a_write_that_fails_for_too_long_ends_the_agent_with_a_sentence() -> None:
    write = Refusing(StoreError("input/output error"), lambda *_: None, times=float("inf"))
    runner = Runner(write, patience_s=0.0)
    with pytest.raises(StoreError, match=r"failed for 0 s.*input/output error.*looks anew"):
        asyncio.run(runner.run(Trim("q", 1), fx.Dial("paris")))
    assert runner.sent == []


def test_the_time_without_room_is_not_held_against_a_write_that_fails_otherwise() -> None:
    """One refusal after a long wait for room is the first of its kind."""
    failures = [FULL, FULL, StoreError("EIO"), FULL, StoreError("EIO")]

    def write(_: Any) -> list[None]:
        if failures:
            time.sleep(0.02)
            raise failures.pop(0)
        return [None]

    asyncio.run(Runner(write, patience_s=0.03).run(Trim("q", 1)))
    assert not failures


def test_a_write_that_worked_in_between_has_its_time_anew() -> None:
    async def run() -> None:
        write = Refusing(StoreError("EIO"), lambda _: [None])
        runner = Runner(write, patience_s=0.05)
        await runner.runner.run([Trim("q", 1)])
        await asyncio.sleep(0.1)
        write.left = write.tried + 1
        await runner.run(Trim("q", 2), fx.Dial("paris"))
        assert runner.sent == ["paris"]

    asyncio.run(run())


def test_a_life_above_another_is_written_before_the_node_goes_by_it() -> None:
    write = Refusing(FULL, lambda effects: [effects[0].above + 1], times=2)
    runner, told = Runner(write), list[tuple[str, int]]()
    runner.node.lives_anew = lambda life, now_s: told.append(("cube", life))
    runner.node.risen = lambda life, now_s: told.append(("ledger", life))
    asyncio.run(runner.run(fx.LiveAnew(7), fx.RiseAbove(20)))
    assert told == [("cube", 8), ("ledger", 21)]


def test_a_store_that_must_be_opened_anew_is_not_tried_again() -> None:
    write = Refusing(StoreBroken("nobody knows"), lambda *_: None, times=float("inf"))
    with pytest.raises(StoreBroken, match="nobody knows"):
        asyncio.run(Runner(write).run(Trim("q", 1)))
    assert write.tried == 1


# A whole site


class NoSpark:
    def finish(self, query: Query, windows: dict[int, Any]) -> dict[int, Any]:
        return {}


def at_home(directory: Path, work: Callable[[SiteRuntime], Coroutine[Any, Any, None]]) -> None:
    settings, spark = RuntimeSettings(replan_every_s=0.01), cast(RootSpark, NoSpark())
    home_agent.at_home(directory, work, settings=settings, root_spark=spark)


def _installed(runtime: SiteRuntime) -> Query:
    pane = query_of().window.pane_at(round(time.time() * 1e6)) + 10
    query = msgspec.structs.replace(query_of(), begin_pane=pane)
    runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
    return query


async def _is_alive(runtime: SiteRuntime) -> None:
    """A further command is done."""
    query = msgspec.structs.replace(query_of("other", counter=9), begin_pane=1 << 40)
    runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
    await until(lambda: query.id in [one.query.id for one in runtime.stores.commands.live()])
    assert runtime.failure == ""


def test_a_full_disk_while_a_query_is_removed_is_waited_for(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        ledger = runtime.stores.ledger
        refusing = Refusing(FULL, ledger.forget, times=float("inf"))
        ledger.forget = refusing  # type: ignore[method-assign]
        query = _installed(runtime)
        await until(lambda: runtime.node.root(str(query.id)))
        runtime.command(Remove(id=query.id, installer="home", counter=2))
        await until(lambda: runtime.troubles())
        desk = ControlDesk()
        desk.open(runtime)
        _installed_later = msgspec.structs.replace(query_of("later", counter=3), begin_pane=1 << 40)
        runtime.command(Install(query=_installed_later, trees=runtime.trees, roster_version=1))
        (line,) = (await desk.handle("streams", {}))["streams"]
        assert "no room" in line["trouble"]
        assert runtime.notice_counts["disk: write waits"] == 1
        refusing.left = 0
        await until(lambda: not runtime.troubles())
        await _is_alive(runtime)

    at_home(tmp_path, work)


def test_an_answer_that_fails_is_among_the_troubles_of_its_stream_until_one_is_made(
    tmp_path: Path,
) -> None:
    async def work(runtime: SiteRuntime) -> None:
        query = _installed(runtime)
        await until(lambda: runtime.node.root(str(query.id)))
        root = runtime.node.root(str(query.id))
        assert root is not None
        root.answers.failure = "publishing in results/hits: Input/output error"
        desk = ControlDesk()
        desk.open(runtime)
        (line,) = (await desk.handle("streams", {}))["streams"]
        assert "failed and is tried again: publishing in results/hits: Input" in line["trouble"]
        root.answers.failure = None
        (line,) = (await desk.handle("streams", {}))["streams"]
        assert line["trouble"] == ""

    at_home(tmp_path, work)


def test_a_full_disk_while_results_are_made_sound_is_waited_for(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        ledger = runtime.stores.ledger
        refusing = Refusing(FULL, ledger.finish_results, times=3)
        ledger.finish_results = refusing  # type: ignore[method-assign]
        query = _installed(runtime)
        await until(lambda: refusing.tried > 3)
        await _is_alive(runtime)
        assert runtime._answers.runner is not None
        assert query.id.name in runtime._answers.runner._writers

    at_home(tmp_path, work)


def test_a_full_disk_at_the_retention_is_told_and_ends_nothing(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        cube = runtime.stores.cube
        refusing = Refusing(FULL, cube.retention)
        cube.retention = refusing  # type: ignore[method-assign]
        runtime._retained_s -= 2 * RETENTION_EVERY_S
        await until(lambda: refusing.tried)
        await until(lambda: runtime.notice_counts["disk: retention waits"])
        await _is_alive(runtime)

    at_home(tmp_path, work)


def test_a_cube_that_breaks_at_the_retention_ends_the_agent(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        runtime.stores.cube.retention = Refusing(  # type: ignore[method-assign]
            StoreBroken("manifest.sqlite: nobody knows"), lambda **_: None, times=float("inf")
        )
        runtime._retained_s -= 2 * RETENTION_EVERY_S
        await until(lambda: runtime.failure)
        assert "nobody knows" in runtime.failure

    at_home(tmp_path, work)


def test_an_agent_tells_its_node_what_the_wall_clock_shows(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        runtime._ahead_s = lambda: 3_600.0
        await until(lambda: runtime.node.clock_steps == 1)
        before_s = runtime.wall_s()
        runtime.node._clock.ahead_s = 3_600.0
        assert runtime.wall_s() - before_s > 3_599.0

    at_home(tmp_path, work)


def test_a_broken_ledger_ends_the_agent_with_a_sentence(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        runtime.stores.ledger.forget = Refusing(  # type: ignore[method-assign]
            StoreBroken("ledger.sqlite: nobody knows"), lambda _: None, times=float("inf")
        )
        query = _installed(runtime)
        await until(lambda: runtime.node.root(str(query.id)))
        runtime.command(Remove(id=query.id, installer="home", counter=2))
        await until(lambda: runtime.failure)
        assert "the node stopped: StoreBroken: ledger.sqlite: nobody knows" in runtime.failure

    at_home(tmp_path, work)


def test_rows_that_can_not_be_read_are_among_the_troubles_that_are_shown(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        runtime._site.load_trouble = "I/O error"
        assert runtime.troubles() == {"reading rows": "I/O error"}

    at_home(tmp_path, work)


def test_the_first_failure_of_an_agent_is_the_one_that_is_shown(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        for reason in ("the cause", "a consequence"):
            with pytest.raises(ValueError, match=reason):
                runtime._tell(partial(_fail, reason))
        assert "the cause" in runtime.failure

    at_home(tmp_path, work)


def _fail(reason: str, *, now_s: float) -> None:
    raise ValueError(reason)


def test_a_ledger_is_not_mended_under_an_answer(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        query = _installed(runtime)
        await until(lambda: runtime.node.root(str(query.id)))
        root = runtime.node.root(str(query.id))
        assert root is not None
        mend = Refusing(FULL, lambda _: (), times=0)
        runtime.stores.ledger.mend = mend  # type: ignore[method-assign]
        root.answers.under_way = cast(Any, object())
        runtime._found_damaged(str(query.id))
        runtime._answers.mend(now_s=runtime.now_s())
        assert mend.tried == 0
        root.answers.under_way = None
        runtime._answers.mend(now_s=runtime.now_s())
        assert mend.tried == 1

    at_home(tmp_path, work)


def test_what_the_node_raises_for_a_message_ends_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state can't be trusted: half of what the message meant may be done."""

    async def work(runtime: SiteRuntime) -> None:
        def receive(*_: Any, **__: Any) -> None:
            raise AssertionError("a mistake of ours")

        monkeypatch.setattr(runtime.node.peer, "receive", receive)
        with pytest.raises(AssertionError):
            runtime.message("paris", AskInstall(()))
        assert "the node stopped: AssertionError: a mistake of ours" in runtime.failure

    at_home(tmp_path, work)


def test_planning_goes_on_after_a_plan_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(runtime: SiteRuntime) -> None:
        query = _installed(runtime)
        await until(lambda: runtime.node.root(str(query.id)))
        planned: list[str] = []

        async def plan(runtime: SiteRuntime, install: Install) -> bool:
            planned.append(str(install.query.id))
            if len(planned) == 1:
                raise ValueError("no tree")
            return False

        monkeypatch.setattr(replanning, "plan_anew", plan)
        task = asyncio.create_task(replanning.keep_planned(runtime))
        await until(lambda: len(planned) > 2 or task.done())
        assert not task.done()
        assert runtime.notice_counts["planner: not planned anew"] == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    at_home(tmp_path, work)


def test_a_query_that_is_removed_while_it_is_planned_gets_no_new_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(runtime: SiteRuntime) -> None:
        query = _installed(runtime)
        await until(lambda: str(query.id) in runtime.node.peer.live_queries())
        install = runtime.node.peer.live_queries()[str(query.id)]
        monkeypatch.setattr(replanning, "usable_coordinates", lambda runtime: {})
        monkeypatch.setattr(replanning, "is_much_better", lambda *_: True)
        loop = asyncio.get_running_loop()

        def plan(runtime: SiteRuntime, query: Query) -> Any:
            removed = asyncio.run_coroutine_threadsafe(_removed(runtime, query), loop)
            removed.result(120)
            return install.trees

        monkeypatch.setattr(replanning, "plan_here", plan)
        assert not await replanning.plan_anew(runtime, install)
        assert "overlay: refused" not in runtime.notice_counts

    at_home(tmp_path, work)


def _plans(
    monkeypatch: pytest.MonkeyPatch, trees: Sequence[Tree], meanwhile: Callable[[], None]
) -> None:
    """Planning finds these trees, and they are much better; something happens while it does."""
    loop = asyncio.get_running_loop()

    async def happen() -> None:
        meanwhile()

    def plan(runtime: SiteRuntime, query: Query) -> Any:
        asyncio.run_coroutine_threadsafe(happen(), loop).result(120)
        return tuple(trees)

    monkeypatch.setattr(replanning, "usable_coordinates", lambda runtime: {})
    monkeypatch.setattr(replanning, "is_much_better", lambda *_: True)
    monkeypatch.setattr(replanning, "plan_here", plan)


def test_new_trees_go_out_under_the_next_plan_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(runtime: SiteRuntime) -> None:
        id_ = str(_installed(runtime).id)
        await until(lambda: id_ in runtime.node.peer.live_queries())
        _plans(monkeypatch, runtime.trees[:1], lambda: None)
        for version in (1, 2):
            install = runtime.node.peer.live_queries()[id_]
            assert await replanning.plan_anew(runtime, install)
            live = runtime.node.peer.live_queries()[id_]
            assert (live.plan_version, live.trees) == (version, runtime.trees[:1])
        assert "overlay: refused" not in runtime.notice_counts

    at_home(tmp_path, work)


def test_a_plan_that_was_overtaken_by_another_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(runtime: SiteRuntime) -> None:
        id_ = str(_installed(runtime).id)
        await until(lambda: id_ in runtime.node.peer.live_queries())
        install = runtime.node.peer.live_queries()[id_]
        other = msgspec.structs.replace(install, plan_version=1)
        _plans(monkeypatch, runtime.trees[:1], lambda: runtime.replan(other))
        assert not await replanning.plan_anew(runtime, install)
        live = runtime.node.peer.live_queries()[id_]
        assert (live.plan_version, live.trees) == (1, runtime.trees)
        assert "overlay: refused" not in runtime.notice_counts

    at_home(tmp_path, work)


async def _removed(runtime: SiteRuntime, query: Query) -> None:
    runtime.command(Remove(id=query.id, installer="home", counter=2))


def test_an_answer_of_an_unknown_query_is_told_as_failed(tmp_path: Path) -> None:
    """Else its root would wait for it for ever."""

    async def work(runtime: SiteRuntime) -> None:
        runner, told = runtime._answers.runner, list[str | None]()
        assert runner is not None
        runner._told = lambda answer, failure, left_out: told.append(failure)
        runner.answer(fx.Answer("nobody@home#1", (), 0))
        await until(lambda: told)
        assert "not known here" in str(told[0])

    at_home(tmp_path, work)


def test_a_source_that_leads_outside_is_told(tmp_path: Path) -> None:
    async def work(runtime: SiteRuntime) -> None:
        async def install(query: Query, *, is_new: bool) -> None:
            raise HeadwaterError("not under a directory that this site opens")

        runtime.feeder.install = install  # type: ignore[method-assign]
        await runtime._site.install(fx.Installed(query_of()))
        assert runtime.notice_counts["feeder: source refused"] == 1

    at_home(tmp_path, work)
