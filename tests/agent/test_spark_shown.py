"""What happened to Spark is seen where people look: in ``streams``, in ``why``, in the notices."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from home_agent import alone
from store_kit import query_of

from headwater.agent import agent_spark
from headwater.agent.agent_spark import AgentSpark, end_left_behind, kind_of
from headwater.agent.care.death_book import DeathBook
from headwater.agent.config import AgentConfig
from headwater.agent.control.control import ControlDesk
from headwater.agent.runtime import SiteRuntime
from headwater.errors import ConfigurationError, HeadwaterError, SparkFailed
from headwater.local.trial.run_spark import raise_if_dead
from headwater.plan.command import Install, Remove
from headwater.plan.notice import Notice
from headwater.plan.over_limit import OVER_LIMIT
from headwater.spark.jvm.jvm import JvmIdentity
from headwater.spark.jvm.jvm_end import (
    JvmDied,
    JvmEnd,
    JvmNotStarted,
    JvmReplaced,
    JvmStarted,
    end_of,
)
from headwater.spark.jvm.keeper import KeeperLimits
from headwater.spark.jvm.lease import Work
from headwater.spark.jvm.session import RunningSpark, SparkConfig

WAIT_S_MAX = 120.0
HEAP = "Terminating due to java.lang.OutOfMemoryError: Java heap space"


def died(*queries: str) -> JvmDied:
    return JvmDied(end_of(3, HEAP, heap="512m"), (Work("batch", queries),))


def test_streams_and_why_tell_of_deaths_with_the_query_at_work(tmp_path: Path) -> None:
    async def run() -> tuple[Any, Any]:
        book = DeathBook(tmp_path)
        spark = SimpleNamespace(deaths_of=book.of_query, suspended_roots=book.suspended)
        runtime = alone(tmp_path / "state", spark=cast(AgentSpark, spark))
        await runtime.start()
        try:
            query = query_of()
            book.add(died(str(query.id)), at_s=5.0)
            book.add(died("other@home#7"), at_s=6.0)
            runtime.command(Install(query=query, trees=runtime.trees, roster_version=1))
            desk = ControlDesk()
            desk.open(runtime)
            desk.note(Notice("spark", "died: heap", "it died"))
            assert runtime.notice_counts["spark: died: heap"] == 1
            asked = {"stream": query.id.name, "window": "7"}
            return await desk.handle("streams", {}), await desk.handle("why", asked)
        finally:
            await runtime.stop()

    streams, why = asyncio.run(run())
    assert streams["streams"][0]["spark_deaths"] == 1
    (said,) = why["value"]["spark_deaths"]
    assert "1970-01-01T00:00:05Z" in said
    assert "no room left in its heap of 512m" in said
    assert said in why["text"]


def test_a_death_is_written_down_before_it_is_told(tmp_path: Path) -> None:
    told: list[tuple[Notice, int]] = []
    spark = AgentSpark(
        AgentConfig("x", directory=str(tmp_path)),
        now_s=lambda: 5.0,
        tell=lambda notice: told.append((notice, len(DeathBook(tmp_path).deaths))),
    )
    spark._told(died("a@x#1"))
    spark._told(JvmReplaced("its heap is 90% full"))
    assert [(notice.kind, written) for notice, written in told] == [
        ("died: heap", 1),
        ("replaced", 1),
    ]
    assert told[0][0].part == "spark"
    assert "batch of a@x#1" in told[0][0].text
    assert len(spark.deaths_of("a@x#1")) == 1


def test_a_query_with_which_the_jvm_dies_again_alone_is_blamed(tmp_path: Path) -> None:
    blamed: list[tuple[str, str]] = []
    spark = AgentSpark(
        AgentConfig("x", directory=str(tmp_path)),
        now_s=lambda: 7.0,
        tell=lambda _: None,
        blame=lambda query_id, why: blamed.append((query_id, why)),
    )
    spark._told(died("a@x#1"))
    assert blamed == []
    spark._told(died("a@x#1"))
    ((query_id, why),) = blamed
    assert query_id == "a@x#1"
    assert why.startswith(OVER_LIMIT)


def test_a_query_whose_root_part_ends_the_jvm_again_alone_is_blamed_for_that(
    tmp_path: Path,
) -> None:
    blamed: list[tuple[str, str]] = []
    spark = AgentSpark(
        AgentConfig("x", directory=str(tmp_path)),
        now_s=lambda: 7.0,
        tell=lambda _: None,
        blame=lambda query_id, why: pytest.fail("its site part has done nothing"),
        blame_root=lambda query_id, why: blamed.append((query_id, why)),
    )
    work = (Work("root part", ("a@x#1",)),)
    spark._told(JvmDied(end_of(3, HEAP, heap="512m"), work))
    assert blamed == []
    spark._told(JvmDied(end_of(3, HEAP, heap="512m"), work))
    ((query_id, why),) = blamed
    assert query_id == "a@x#1"
    assert why.startswith(OVER_LIMIT)
    assert "its root part ended the JVM twice" in why


class SuspendingBench:
    """An agent that answers, and the Spark beside it; each life takes up the same directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.query = query_of()

    async def live(self, *, is_first: bool) -> SiteRuntime:
        book = DeathBook(self.directory)
        spark = SimpleNamespace(
            deaths_of=book.of_query,
            suspended_roots=book.suspended,
            suspend_root=book.suspend,
            forget_root=book.forget,
        )
        runtime = alone(self.directory / "state", spark=cast(AgentSpark, spark))
        await runtime.start()
        if is_first:
            runtime.command(Install(query=self.query, trees=runtime.trees, roster_version=1))
        return runtime

    async def asked(self, runtime: SiteRuntime) -> tuple[str, str]:
        """(what ``streams`` says of its trouble, what ``why`` says)."""
        desk = ControlDesk()
        desk.open(runtime)
        streams = await desk.handle("streams", {})
        with pytest.raises(HeadwaterError) as told:
            await desk.handle("why", {"stream": self.query.id.name, "window": "7"})
        return streams["streams"][0]["trouble"], str(told.value)


def test_a_suspended_root_part_is_shown_and_stays_so_until_its_query_is_removed(
    tmp_path: Path,
) -> None:
    bench = SuspendingBench(tmp_path)

    async def run() -> None:
        runtime = await bench.live(is_first=True)
        desk = ControlDesk()
        desk.open(runtime)
        desk.suspend_answers(str(bench.query.id), "limit: twice")
        await said_so(runtime)
        await until(lambda: bool(DeathBook(tmp_path).suspended()))
        await runtime.stop()
        again = await bench.live(is_first=False)
        try:
            assert again.node.root(str(bench.query.id)) is None
            await said_so(again)
            again.command(
                Remove(id=bench.query.id, installer="home", counter=again.node.peer.next_counter())
            )
            await until(lambda: not DeathBook(tmp_path).suspended())
        finally:
            await again.stop()

    async def until(is_so: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + WAIT_S_MAX
        while not is_so():
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.005)

    async def said_so(runtime: SiteRuntime) -> None:
        trouble, why = await bench.asked(runtime)
        assert "it is not answered here: suspended: limit: twice" in trouble
        assert "is not answered here, at its root: suspended: limit: twice" in why

    asyncio.run(run())


def test_trouble_is_told_apart_from_news() -> None:
    assert kind_of(JvmNotStarted("no Java", 2.0)) == ("not started", True)
    assert kind_of(JvmStarted(2)) == ("started", False)
    assert kind_of(died())[1]


def test_a_file_about_a_jvm_that_can_not_be_read_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "jvm.json").write_bytes(b"{")
    end_left_behind(tmp_path)
    assert not (tmp_path / "jvm.json").exists()


class OneJvm:
    """A process has one session at a time: a JVM that nobody stops is in the way of the next."""

    running: OneJvm | None = None
    started = 0

    def __init__(self, _: SparkConfig) -> None:
        if OneJvm.running is not None:
            raise ConfigurationError("there is one already")
        OneJvm.running = self
        OneJvm.started += 1
        self.session = object()
        self.jvm = JvmIdentity(7, OneJvm.started)
        self.death = threading.Event()

    def ends_within(self, wait_s: float) -> bool:
        return self.death.wait(wait_s)

    def end(self) -> JvmEnd:
        return end_of(-9, "")

    def stop(self) -> None:
        OneJvm.running = None


def test_a_jvm_of_which_no_file_can_tell_is_stopped_and_the_next_one_comes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OneJvm, "running", None)
    monkeypatch.setattr(OneJvm, "started", 0)
    monkeypatch.setattr(agent_spark, "start_session", OneJvm)
    file, told, is_up_again = tmp_path / "jvm.json", list[Notice](), threading.Event()

    def tell(notice: Notice) -> None:
        told.append(notice)
        if notice.kind == "not started":
            file.rmdir()
        if notice.kind == "started":
            is_up_again.set()

    spark = AgentSpark(
        AgentConfig("x", directory=str(tmp_path)),
        now_s=lambda: 5.0,
        tell=tell,
        limits=KeeperLimits(look_s=0.01, restart_s_min=0.01, restart_s_max=0.02),
    )
    spark.open()
    try:
        file.unlink()
        file.mkdir()  # so that it can't be written
        assert OneJvm.running is not None
        OneJvm.running.death.set()
        assert is_up_again.wait(WAIT_S_MAX), told
        assert [one.kind for one in told] == ["died: killed", "not started", "started"]
        assert OneJvm.started == 3
        assert msgspec.json.decode(file.read_bytes(), type=JvmIdentity).started_ticks == 3
    finally:
        spark.close()
    assert OneJvm.running is None


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (3, HEAP, r"no room left in its heap of 512m.*--memory \(2g, say\)"),
        (-9, "", r"killed \(SIGKILL\).*take less with --memory"),
        (1, "no such host", r"ended by itself.*no such host.*log"),
    ],
)
def test_a_try_whose_jvm_dies_says_what_to_change(code: int, words: str, said: str) -> None:
    dead = SimpleNamespace(end=lambda: end_of(code, words, heap="512m"))
    with pytest.raises(SparkFailed, match=said):
        raise_if_dead(cast(RunningSpark, dead))
    raise_if_dead(cast(RunningSpark, SimpleNamespace(end=lambda: None)))


def test_an_agent_has_a_limit_for_answers() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"answer_s_max.*got 0"):
        msgspec.convert({"site": "x", "spark": {"answer_s_max": 0}}, AgentConfig)
