"""The host's thread: no exception ends it, no stream holds it up, each JVM gets its streams."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.errors import SparkDown
from headwater.spark.site import site_host
from headwater.spark.site.site_host import SiteHost

WAIT_S_MAX = 120.0
FOR_EVER_S = 3600.0
LOOKS = 20


class FakeStream:
    made: list[FakeStream] = []

    def __init__(self, source: str, session: Any, directory: Path, **_: Any) -> None:
        self.source, self.session = source, session
        self.steps = 0
        self.is_stopped = False
        self.is_retired = False
        self.stuck: threading.Event | None = None
        self.trouble = ""
        self.error: Exception | None = None
        self.cancelled: list[str] = []
        FakeStream.made.append(self)

    def step(self) -> None:
        self.steps += 1
        if self.stuck is not None:
            self.stuck.wait(WAIT_S_MAX)
        if self.error is not None:
            raise self.error

    def retire(self) -> None:
        self.is_retired = True

    def cancel(self, query_id: str) -> None:
        self.cancelled.append(query_id)

    def stop(self) -> None:
        self.is_stopped = True


class FakeLease:
    def __init__(self, name: str) -> None:
        self.session = name
        self.is_over = False
        self.is_ended = False

    def at_work(self, _: Any) -> Any:
        raise AssertionError("no batch is run here")

    def end(self) -> None:
        self.is_ended = True


class FakeSpark:
    def __init__(self) -> None:
        self.given: FakeLease | None = FakeLease("first")

    def lease(self) -> Any:
        if self.given is None:
            raise SparkDown("it died")
        return self.given


class FakeInbox:
    def __init__(self, *names: str) -> None:
        self.names = names
        self.trouble: Exception | None = None
        self.asked = 0

    def sources(self) -> list[Any]:
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble
        return [SimpleNamespace(name=name) for name in self.names]

    def reads(self, source: str, query_id: str, *, first_cut: int) -> bool:
        return self.runs(query_id)

    def wants_first(self, source: str) -> bool:
        return False

    def runs(self, _: str) -> bool:
        return False


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    FakeStream.made = []
    monkeypatch.setattr(site_host, "SourceStream", FakeStream)
    monkeypatch.setattr(site_host, "LOOK_EVERY_S", 0.005)
    monkeypatch.setattr(site_host, "TROUBLE_S", 0.005)
    return FakeSpark()


@pytest.fixture
def host(spark: FakeSpark, tmp_path: Path) -> Iterator[SiteHost]:
    made = SiteHost(spark, tmp_path, stop_s_max=WAIT_S_MAX)
    yield made
    made.stop()


def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come true"
        time.sleep(0.005)


def test_sources_that_can_not_be_told_stop_nothing_and_end_nothing(host: SiteHost) -> None:
    inbox, other = FakeInbox("hits"), FakeInbox("clicks")
    host.serve("x", inbox)  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 1)
    inbox.trouble = RuntimeError("dictionary changed size during iteration")
    host.serve("y", other)  # type: ignore[arg-type]
    until(lambda: host.trouble_count >= 2)
    hits, clicks = FakeStream.made
    assert not hits.is_stopped, "unknown is not none"
    until(lambda: clicks.steps >= 2)
    inbox.trouble = None
    inbox.names = ()
    until(lambda: hits.is_stopped)


def test_an_error_of_the_host_itself_is_counted_and_got_over(
    host: SiteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = host._match_streams
    monkeypatch.setattr(host, "_match_streams", lambda _: 1 / 0)
    until(lambda: host.trouble_count >= 2)
    monkeypatch.setattr(host, "_match_streams", match)
    host.serve("x", FakeInbox("hits"))  # type: ignore[arg-type]
    until(lambda: bool(FakeStream.made) and FakeStream.made[0].steps >= 1)


def test_a_stream_in_trouble_leaves_the_others_alone(host: SiteHost) -> None:
    host.serve("x", FakeInbox("bad", "good"))  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 2)
    bad, good = sorted(FakeStream.made, key=lambda one: one.source)
    bad.error = RuntimeError("no")
    until(lambda: host.trouble_count >= 2)
    steps = good.steps
    until(lambda: good.steps > steps + 3)


def test_a_stream_in_trouble_is_left_alone_for_a_while(
    host: SiteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_host, "TROUBLE_S", FOR_EVER_S)
    host.serve("x", FakeInbox("bad", "good"))  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 2)
    bad, good = sorted(FakeStream.made, key=lambda one: one.source)
    bad.error = RuntimeError("no")
    until(lambda: host.trouble_count >= 1)
    steps = good.steps
    until(lambda: good.steps > steps + 10)
    assert host.trouble_count == 1, "it was looked at all the time"


def test_a_host_in_trouble_pauses_and_can_be_stopped_meanwhile(
    host: SiteHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_host, "TROUBLE_S", FOR_EVER_S)
    monkeypatch.setattr(host, "_match_streams", lambda _: 1 / 0)
    until(lambda: host.trouble_count >= 1)
    for _ in range(LOOKS):
        host.notice("hits")
        time.sleep(0.005)
    assert host.trouble_count == 1, "it fails as fast as it can"
    host.stop()
    assert not host._keeper.is_alive()


def test_the_next_jvm_gets_streams_of_its_own(host: SiteHost, spark: FakeSpark) -> None:
    host.serve("x", FakeInbox("hits"))  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 1)
    first = spark.given
    assert first is not None
    spark.given = None
    first.is_over = True
    until(lambda: first.is_ended)
    assert FakeStream.made[0].is_stopped
    spark.given = FakeLease("second")
    until(lambda: len(FakeStream.made) == 2)
    assert FakeStream.made[1].session == "second"


def test_stopping_waits_for_no_stream_for_ever_and_nothing_is_committed_after(
    spark: FakeSpark, tmp_path: Path
) -> None:
    host = SiteHost(spark, tmp_path, stop_s_max=0.05)
    host.serve("x", FakeInbox("hits"))  # type: ignore[arg-type]
    until(lambda: bool(FakeStream.made))
    (stream,) = FakeStream.made
    stuck = stream.stuck = threading.Event()
    steps = stream.steps
    until(lambda: stream.steps >= steps + 1)
    host.stop()
    assert stream.is_retired, "a stream that does not end is kept from committing"
    stuck.set()


def test_a_stream_that_fails_again_and_again_is_named_with_its_reason(host: SiteHost) -> None:
    host.serve("x", FakeInbox("bad", "good"))  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 2)
    bad = next(one for one in FakeStream.made if one.source == "bad")
    bad.trouble = "a pattern that Spark does not take"
    assert host.troubles() == {"bad": "a pattern that Spark does not take"}


def test_removing_a_query_cancels_what_it_does(host: SiteHost) -> None:
    host.serve("x", FakeInbox("hits"))  # type: ignore[arg-type]
    until(lambda: len(FakeStream.made) == 1)
    host.remove("gone@home#1")
    assert FakeStream.made[0].cancelled == ["gone@home#1"]
