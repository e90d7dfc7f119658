"""A job of the root ends: by itself, by its limit, or with the JVM."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.errors import SparkDown, SparkFailed
from headwater.spark import end_jobs
from headwater.spark.jvm.lease import Work
from headwater.spark.root import root_job as module
from headwater.spark.root.root_job import root_job
from headwater.spark.root.root_sessions import RootSessions

WAIT_S_MAX = 120.0


class FakeContext:
    """The cancelling that ends the last job sets an event, unless the JVM is deaf."""

    def __init__(self, *, is_deaf: bool = False, jobs: int = 1) -> None:
        self.is_deaf = is_deaf
        self.jobs = jobs
        self.tags: set[str] = set()
        self.cancelled = threading.Event()

    def addJobTag(self, tag: str) -> None:
        self.tags.add(tag)

    def removeJobTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def setInterruptOnCancel(self, is_on: bool) -> None:
        assert is_on

    def cancelJobsWithTag(self, tag: str) -> None:
        assert tag in self.tags
        self.jobs -= 1
        if not self.is_deaf and self.jobs == 0:
            self.cancelled.set()


class FakeLease:
    def __init__(self, context: FakeContext) -> None:
        self.session: Any = SimpleNamespace(sparkContext=context)
        self.generation = 1
        self.is_over = False
        self.ended = 0
        self.works: list[Work] = []
        self.condemned = threading.Event()
        self.why: str | None = None

    @contextlib.contextmanager
    def at_work(self, work: Work) -> Any:
        self.works.append(work)
        yield

    def end(self) -> None:
        self.ended += 1

    def why_over(self) -> str | None:
        return self.why

    def condemn(self, waited_s: float) -> None:
        self.condemned.set()


class FakeSpark:
    def __init__(self, lease: FakeLease) -> None:
        self._lease = lease

    def lease(self) -> Any:
        return self._lease


def fail_after(event: threading.Event) -> None:
    event.wait(WAIT_S_MAX)
    raise RuntimeError("job cancelled")


def test_a_job_that_ends_in_time_is_left_alone() -> None:
    lease = FakeLease(FakeContext())
    with root_job(FakeSpark(lease), "q@home#1", job_s_max=WAIT_S_MAX) as given:
        assert given is lease
        assert len(lease.session.sparkContext.tags) == 1
    assert lease.works == [Work("root part", ("q@home#1",))]
    assert lease.ended == 1
    assert not lease.session.sparkContext.cancelled.is_set()
    assert lease.session.sparkContext.tags == set()


def test_a_job_that_takes_too_long_is_cancelled_and_says_so() -> None:
    context = FakeContext()
    lease = FakeLease(context)
    with (
        pytest.raises(SparkFailed, match=r"^limit: query q@home#1.*within 0.01 s.*cancelled"),
        root_job(FakeSpark(lease), "q@home#1", job_s_max=0.01),
    ):
        fail_after(context.cancelled)
    assert context.cancelled.is_set()
    assert lease.ended == 1


def test_jobs_that_follow_one_that_was_cancelled_are_cancelled_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(end_jobs, "CANCEL_EVERY_S", 0.001)
    context = FakeContext(jobs=3)
    lease = FakeLease(context)
    with (
        pytest.raises(SparkFailed, match="cancelled"),
        root_job(FakeSpark(lease), "q@home#1", job_s_max=0.01),
    ):
        fail_after(context.cancelled)
    assert context.cancelled.is_set()


def test_a_jvm_that_does_not_even_cancel_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CANCEL_S_MAX", 0.01)
    lease = FakeLease(FakeContext(is_deaf=True))
    with (
        pytest.raises(SparkFailed, match="did not end within"),
        root_job(FakeSpark(lease), "q@home#1", job_s_max=0.01),
    ):
        fail_after(lease.condemned)
    assert lease.condemned.is_set()


def test_a_jvm_that_ends_under_a_job_fails_it_with_the_cause() -> None:
    lease = FakeLease(FakeContext())
    lease.why = "the JVM was killed (SIGKILL)"
    with (
        pytest.raises(SparkFailed, match=r"q@home#1: root part: the JVM was killed"),
        root_job(FakeSpark(lease), "q@home#1", job_s_max=WAIT_S_MAX),
    ):
        raise EOFError
    assert lease.ended == 1


def test_an_error_of_the_job_stays_what_it_is() -> None:
    lease = FakeLease(FakeContext())
    with (
        pytest.raises(ZeroDivisionError),
        root_job(FakeSpark(lease), "q@home#1", job_s_max=WAIT_S_MAX),
    ):
        raise ZeroDivisionError
    assert lease.ended == 1


def test_without_a_spark_the_job_fails_at_once() -> None:
    class Down:
        def lease(self) -> Any:
            raise SparkDown("Spark is being replaced")

    with (
        pytest.raises(SparkDown, match="being replaced"),
        root_job(Down(), "q@home#1", job_s_max=1.0),
    ):
        raise AssertionError("never reached")


class FakeSession:
    def __init__(self) -> None:
        self.dropped: list[str] = []
        self.catalog = SimpleNamespace(dropTempView=self.dropped.append)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[FakeSession]:
    """Sessions that were made."""
    found: list[FakeSession] = []

    def make(*_: object) -> FakeSession:
        found.append(FakeSession())
        return found[-1]

    monkeypatch.setattr("headwater.spark.root.root_sessions.apply_settings", make)
    return found


def test_a_thousand_queries_share_as_many_sessions_as_are_at_work(made: list[FakeSession]) -> None:
    sessions, lease = RootSessions(), FakeLease(FakeContext())
    settings = (("spark.sql.x", "1"),)
    for _ in range(1_000):
        with (
            sessions.borrowed(lease, settings, view="panes") as one,  # type: ignore[arg-type]
            sessions.borrowed(lease, settings, view="panes") as other,  # type: ignore[arg-type]
        ):
            assert one is not other, "two jobs at once would replace each other's view"
    assert len(made) == 2
    assert set(made[0].dropped) == {"panes"}, "no view is left behind"


def test_sessions_of_a_former_jvm_and_of_other_settings_are_not_given_out(
    made: list[FakeSession],
) -> None:
    sessions, lease = RootSessions(), FakeLease(FakeContext())
    with sessions.borrowed(lease, (), view="panes"):  # type: ignore[arg-type]
        pass
    with sessions.borrowed(lease, (("a", "1"),), view="panes"):  # type: ignore[arg-type]
        assert len(made) == 2
    lease.generation = 2
    with sessions.borrowed(lease, (), view="panes") as fresh:  # type: ignore[arg-type]
        assert fresh is made[2]


def test_idle_sessions_are_bounded(made: list[FakeSession]) -> None:
    sessions, lease = RootSessions(), FakeLease(FakeContext())
    for number in range(100):
        with sessions.borrowed(lease, (("a", str(number)),), view="panes"):  # type: ignore[arg-type]
            pass
    assert len(sessions._idle) == 16
