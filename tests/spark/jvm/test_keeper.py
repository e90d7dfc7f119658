"""The keeper: a JVM that dies, sticks or fills up is another one soon, and everybody is told."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec
import pytest

from headwater.errors import SparkDown, SparkFailed
from headwater.spark.jvm.jvm_end import (
    Cause,
    JvmDied,
    JvmEnd,
    JvmNotStarted,
    JvmReplaced,
    JvmStarted,
    SparkEvent,
    end_of,
)
from headwater.spark.jvm.keeper import KeeperLimits, SparkKeeper
from headwater.spark.jvm.lease import Work
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.jvm.vitals import Vitals

WAIT_S_MAX = 120.0
WELL = Vitals(
    heap_bytes=10,
    heap_limit=100,
    metaspace_bytes=10,
    metaspace_limit=100,
    code_bytes=10,
    code_limit=100,
    class_count=1,
    thread_count=1,
    bound_objects=1,
    callbacks=1,
    listeners=1,
    cached_plans=0,
    streams=0,
)
FULL = msgspec.structs.replace(WELL, code_bytes=90)
LIMITS = KeeperLimits(
    look_s=0.01,
    vitals_every_s=0.02,
    answer_s_max=5.0,
    drain_s_max=5.0,
    restart_s_min=0.01,
    restart_s_max=0.05,
    steady_s=0.0,
    gone_s=0.5,
)


class FakeSpark:
    """A JVM that ends when it is told to."""

    def __init__(self) -> None:
        self.session = object()
        self._ended = threading.Event()
        self._end: JvmEnd | None = None
        self.is_stopped = False
        self.was_killed = False

    def die(self, code: int = -9, words: str = "") -> None:
        self._end = self._end or end_of(code, words)
        self._ended.set()

    def kill(self, verdict: JvmEnd | None = None) -> None:
        self.was_killed = True
        self._end = self._end or verdict
        self.die()

    def is_alive(self) -> bool:
        return not self._ended.is_set()

    def end(self) -> JvmEnd | None:
        return self._end if self._ended.is_set() else None

    def ends_within(self, wait_s: float) -> bool:
        return self._ended.wait(wait_s)

    def stop(self) -> None:
        self.is_stopped = True
        self.die(0)


class Bench:
    """A keeper with JVMs that are no JVMs, and what it told."""

    def __init__(self, limits: KeeperLimits = LIMITS) -> None:
        self.suspected: set[str] = set()
        self.jvms: list[FakeSpark] = []
        self.events: list[SparkEvent] = []
        self.failing_starts = 0
        self.vitals: Callable[[FakeSpark], Vitals] = lambda _: WELL
        self.collections = 0
        self.keeper = SparkKeeper(
            self._start,
            told=self.events.append,
            limits=limits,
            suspected=lambda work: work.queries[0] in self.suspected,
            vitals=lambda running: self.vitals(cast(FakeSpark, running)),
            collect=self._collect,
        )

    def _start(self) -> RunningSpark:
        if self.failing_starts:
            self.failing_starts -= 1
            raise SparkFailed("no Java here")
        self.jvms.append(FakeSpark())
        return cast(RunningSpark, self.jvms[-1])

    def _collect(self, _: RunningSpark) -> None:
        self.collections += 1

    def until(self, is_so: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + WAIT_S_MAX
        while not is_so():
            assert time.monotonic() < deadline_s, self.events
            time.sleep(0.005)

    def await_event(self, kind: type) -> Any:
        self.until(lambda: any(isinstance(event, kind) for event in self.events))
        return next(event for event in self.events if isinstance(event, kind))


MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench() -> Iterator[MakeBench]:
    """Keepers that are ended whatever becomes of the test."""
    made: list[Bench] = []

    def make(**limits: float) -> Bench:
        made.append(Bench(msgspec.structs.replace(LIMITS, **limits)))
        made[-1].keeper.open()
        return made[-1]

    yield make
    for bench in made:
        bench.keeper.close()


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench()


def test_a_death_is_told_with_its_cause_and_what_was_at_work(bench: Bench) -> None:
    lease = bench.keeper.lease()

    def lose_the_socket() -> None:
        bench.jvms[0].die()
        raise ConnectionError("the socket closed")

    with pytest.raises(ConnectionError), lease.at_work(Work("batch", ("a@home#1", "b@home#2"))):
        lose_the_socket()
    lease.end()
    died = bench.await_event(JvmDied)
    assert died.end.cause is Cause.KILLED
    assert died.at_work == (Work("batch", ("a@home#1", "b@home#2")),)
    assert "batch of a@home#1, b@home#2" in died.text
    bench.await_event(JvmStarted)
    assert bench.keeper.lease().generation == 2
    assert bench.keeper.status().deaths == {"killed": 1}


def test_who_is_suspected_is_alone_at_work_when_the_jvm_dies(bench: Bench) -> None:
    bench.suspected = {"bad"}
    lease, other = bench.keeper.lease(), bench.keeper.lease()
    began = threading.Event()

    def work_beside() -> None:
        with contextlib.suppress(ConnectionError), other.at_work(Work("batch", ("good",))):
            began.set()

    with contextlib.suppress(ConnectionError), lease.at_work(Work("root part", ("bad",))):
        threading.Thread(target=work_beside, daemon=True).start()
        assert not began.wait(0.05)
        bench.jvms[0].die(-9)
        raise ConnectionError
    assert bench.await_event(JvmDied).at_work == (Work("root part", ("bad",)),)
    assert began.wait(WAIT_S_MAX), "and then the others go on"
    for one in (lease, other):
        one.end()


def test_what_a_jvm_that_is_gone_was_at_is_put_away_with_it(bench: Bench) -> None:
    lease = bench.keeper.lease()
    bench.jvms[0].die()
    with pytest.raises(EOFError), lease.at_work(Work("batch", ("a@home#1",))):
        raise EOFError
    lease.end()
    bench.await_event(JvmStarted)
    assert bench.keeper._works == []


def test_an_ordinary_failure_does_not_wait_for_the_jvm_to_end(make_bench: MakeBench) -> None:
    bench = make_bench(gone_s=WAIT_S_MAX)
    lease, began_s = bench.keeper.lease(), time.monotonic()
    with pytest.raises(SparkFailed), lease.at_work(Work("batch", ("a@home#1",))):
        raise SparkFailed("division by zero")
    assert time.monotonic() - began_s < WAIT_S_MAX
    lease.end()


def test_a_lease_of_a_former_jvm_ends_none(bench: Bench) -> None:
    lease = bench.keeper.lease()
    bench.jvms[0].die()
    lease.end()
    bench.await_event(JvmStarted)
    lease.condemn(5.0)
    assert not any(jvm.was_killed for jvm in bench.jvms)


def test_a_jvm_that_lived_long_enough_did_not_die_young(make_bench: MakeBench) -> None:
    bench = make_bench(restart_s_min=0.01, restart_s_max=60.0)
    for count in range(1, 15):
        bench.jvms[-1].die()
        bench.until(lambda count=count: len(bench.jvms) == count + 1)  # type: ignore[misc]
    assert bench.keeper._young_ends == 0


def test_vitals_are_those_of_the_present_jvm(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.until(lambda: bench.keeper.status().vitals == WELL)

    def silent(_: FakeSpark) -> Vitals:
        raise ConnectionError

    bench.vitals = silent
    bench.jvms[0].die()
    bench.await_event(JvmStarted)
    assert bench.keeper.status().vitals is None


def test_the_work_counts_though_the_process_goes_after_its_sockets(bench: Bench) -> None:
    lease = bench.keeper.lease()
    late = threading.Timer(0.1, bench.jvms[0].die)
    late.start()
    with pytest.raises(EOFError), lease.at_work(Work("root part", ("a@home#1",))):
        raise EOFError
    lease.end()
    assert bench.await_event(JvmDied).at_work == (Work("root part", ("a@home#1",)),)


def test_work_that_is_done_or_failed_in_an_ordinary_way_is_not_blamed(bench: Bench) -> None:
    lease = bench.keeper.lease()
    with lease.at_work(Work("batch", ("fine@home#1",))):
        pass
    with pytest.raises(SparkFailed), lease.at_work(Work("batch", ("failed@home#2",))):
        raise SparkFailed("division by zero")
    with pytest.raises(ValueError), lease.at_work(Work("batch", ("odd@home#3",))):  # noqa: PT011
        raise ValueError
    lease.end()
    bench.jvms[0].die()
    died = bench.await_event(JvmDied)
    assert died.at_work == ()
    assert "no query was at work" in died.text


def test_while_there_is_no_jvm_a_lease_is_refused_with_the_reason(bench: Bench) -> None:
    lease = bench.keeper.lease()
    bench.jvms[0].die(3, "Terminating due to java.lang.OutOfMemoryError: Java heap space")
    bench.until(lambda: lease.is_over)
    with pytest.raises(SparkDown, match="no room left in its heap"):
        bench.keeper.lease()
    lease.end()
    bench.await_event(JvmStarted)


def test_a_new_jvm_waits_until_the_holders_of_the_old_one_let_go(bench: Bench) -> None:
    lease = bench.keeper.lease()
    bench.jvms[0].die()
    bench.until(lambda: lease.is_over)
    assert len(bench.jvms) == 1
    lease.end()
    bench.await_event(JvmStarted)
    assert bench.jvms[0].is_stopped, "its threads and sockets are put away"


def test_a_full_jvm_is_replaced_when_its_holders_have_let_go(bench: Bench) -> None:
    lease = bench.keeper.lease()
    bench.vitals = lambda jvm: FULL if jvm is bench.jvms[0] else WELL
    bench.until(lambda: lease.is_over)
    with pytest.raises(SparkDown, match="code cache is 90% full"):
        bench.keeper.lease()
    assert bench.jvms[0].is_alive(), "a batch is still under way"
    lease.end()
    assert "code cache is 90% full" in bench.await_event(JvmReplaced).text
    bench.await_event(JvmStarted)
    assert bench.jvms[0].is_stopped
    assert not bench.jvms[0].was_killed
    assert bench.collections == 1, "what a collection frees does not count"
    status = bench.keeper.status()
    assert (status.replacements, status.deaths) == (1, {})


def test_what_a_collection_frees_is_no_reason_to_replace(bench: Bench) -> None:
    bench.vitals = lambda _: WELL if bench.collections else FULL
    bench.until(lambda: bench.collections == 1 and bench.keeper.status().vitals == WELL)
    assert len(bench.jvms) == 1


def test_a_jvm_is_not_replaced_again_and_again(make_bench: MakeBench) -> None:
    bench = make_bench(steady_s=3600.0)
    bench.vitals = lambda _: FULL
    bench.until(lambda: bench.collections >= 3)
    assert len(bench.jvms) == 1


def test_a_holder_that_does_not_let_go_holds_nobody_up(make_bench: MakeBench) -> None:
    bench = make_bench(drain_s_max=0.05)
    bench.keeper.lease()
    bench.vitals = lambda jvm: FULL if jvm is bench.jvms[0] else WELL
    bench.await_event(JvmReplaced)
    assert bench.jvms[0].was_killed, "in order, its jobs would fail as if by themselves"


def test_a_jvm_that_does_not_answer_is_ended(make_bench: MakeBench) -> None:
    bench = make_bench(answer_s_max=0.05)

    def silent(jvm: FakeSpark) -> Vitals:
        if jvm is bench.jvms[0]:
            jvm.ends_within(WAIT_S_MAX)
            raise ConnectionError
        return WELL

    bench.vitals = silent
    died = bench.await_event(JvmDied)
    assert died.end.cause is Cause.STUCK
    assert "did not answer" in died.text
    bench.await_event(JvmStarted)


def test_an_application_whose_context_the_cluster_has_ended_is_begun_anew(bench: Bench) -> None:
    gone = bench.jvms[0]
    bench.vitals = lambda jvm: msgspec.structs.replace(WELL, is_stopped=jvm is gone)
    bench.until(lambda: len(bench.jvms) == 2)
    assert bench.await_event(JvmDied).end.cause == Cause.CLUSTER


def test_work_that_gets_no_executors_for_too_long_is_begun_anew(make_bench: MakeBench) -> None:
    bench = make_bench(executors_s_max=0.05)
    bare = bench.jvms[0]
    looks: list[FakeSpark] = []

    def read(jvm: FakeSpark) -> Vitals:
        looks.append(jvm)
        return msgspec.structs.replace(WELL, executors=0 if jvm is bare else 2)

    bench.vitals = read
    bench.until(lambda: len(looks) > 10)
    assert not bare.was_killed, "nobody waits for executors"
    lease = bench.keeper.lease()
    with lease.at_work(Work("batch", ("q@1",))):
        bench.until(lambda: bare.was_killed)
    lease.end()
    assert "gave no executors for 0 s" in bench.await_event(JvmDied).text
    bench.until(lambda: len(bench.jvms) == 2)


def test_a_patient_keeper_tells_that_the_first_start_failed_and_tries_again() -> None:
    bench = Bench()
    bench.failing_starts = 1
    try:
        bench.keeper.open(is_patient=True)
        assert "no Java here" in bench.await_event(JvmNotStarted).text
        bench.await_event(JvmStarted)
    finally:
        bench.keeper.close()


def test_an_impatient_keeper_raises_what_the_first_start_raised() -> None:
    bench = Bench()
    bench.failing_starts = 1
    with pytest.raises(SparkFailed, match="no Java here"):
        bench.keeper.open()


def test_a_start_that_fails_is_tried_again(bench: Bench) -> None:
    bench.failing_starts = 2
    bench.jvms[0].die()
    bench.await_event(JvmStarted)
    told = [event for event in bench.events if isinstance(event, JvmNotStarted)]
    assert len(told) == 2
    assert "no Java here" in told[0].text
    assert bench.keeper.status().failed_starts == 2


def test_the_pause_doubles_while_jvms_die_young(make_bench: MakeBench) -> None:
    bench = make_bench(restart_s_min=0.01, restart_s_max=0.06, steady_s=3600.0)
    bench.failing_starts = 4
    bench.jvms[0].die()
    bench.await_event(JvmStarted)
    pauses = [event.pause_s for event in bench.events if isinstance(event, JvmNotStarted)]
    assert pauses == [0.02, 0.04, 0.06, 0.06]


def test_whoever_is_told_can_not_end_the_keeper(bench: Bench) -> None:
    told: list[SparkEvent] = []

    def grumble(event: SparkEvent) -> None:
        told.append(event)
        raise RuntimeError("the one who is told is in trouble")

    bench.keeper._told = grumble
    bench.jvms[0].die()
    bench.until(lambda: len(bench.jvms) == 2)
    assert bench.jvms[0].is_stopped, "PySpark knows one JVM; the old one must be put away"
    bench.jvms[1].die()
    bench.until(lambda: len(bench.jvms) == 3)


def test_after_the_end_nothing_is_started(bench: Bench) -> None:
    bench.keeper.close()
    assert bench.jvms[0].is_stopped
    with pytest.raises(SparkDown, match="being stopped"):
        bench.keeper.lease()
    assert len(bench.jvms) == 1


def test_vitals_say_which_limit_is_near() -> None:
    assert WELL.near() is None
    assert FULL.near() == "its code cache is 90% full"
    no_limit = msgspec.structs.replace(WELL, metaspace_bytes=10**12, metaspace_limit=None)
    assert no_limit.near() is None
    assert msgspec.structs.replace(WELL, heap_bytes=85).near() == "its heap is 85% full"
