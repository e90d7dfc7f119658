"""Work that is suspected has the JVM for itself, and holds up nobody for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headwater.spark.jvm.alone import Alone

WAIT_S_MAX = 120.0


class Worker:
    """One thread that goes to work and stays there until it is let go."""

    def __init__(self, gate: Alone, *, alone: bool) -> None:
        self.is_in = threading.Event()
        self._leave = threading.Event()
        self._gate = gate
        self._alone = alone
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._gate.at_work(alone=self._alone):
            self.is_in.set()
            self._leave.wait(WAIT_S_MAX)

    def began(self) -> bool:
        return self.is_in.wait(WAIT_S_MAX)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(WAIT_S_MAX)


def until(is_so: Callable[[], bool]) -> None:
    """The other thread is where it waits; it can't be asked."""
    event = threading.Event()
    for _ in range(1_000):
        if is_so():
            return
        event.wait(0.005)
    raise AssertionError("it never was")


def test_others_work_side_by_side() -> None:
    gate = Alone()
    one, two = Worker(gate, alone=False), Worker(gate, alone=False)
    assert one.began()
    assert two.began()
    one.leave()
    two.leave()


def test_who_is_suspected_waits_for_the_others_and_those_who_come_later_wait_for_it() -> None:
    gate = Alone()
    first = Worker(gate, alone=False)
    assert first.began()
    suspect = Worker(gate, alone=True)
    until(lambda: gate._waiting == 1)
    later = Worker(gate, alone=False)
    assert not suspect.is_in.is_set()
    first.leave()
    assert suspect.began()
    assert not later.is_in.is_set()
    suspect.leave()
    assert later.began()
    later.leave()


def test_two_suspects_are_alone_one_after_the_other() -> None:
    gate = Alone()
    one, two = Worker(gate, alone=True), Worker(gate, alone=True)
    until(lambda: one.is_in.is_set() or two.is_in.is_set())
    inside, outside = (one, two) if one.is_in.is_set() else (two, one)
    until(lambda: gate._waiting == 1)
    assert not outside.is_in.is_set()
    inside.leave()
    assert outside.began()
    outside.leave()


def test_who_can_not_be_alone_in_time_goes_to_work_with_the_others() -> None:
    gate = Alone(wait_s_max=0.01)
    first = Worker(gate, alone=False)
    assert first.began()
    suspect = Worker(gate, alone=True)
    assert suspect.began()
    first.leave()
    suspect.leave()
    last = Worker(gate, alone=True)
    assert last.began()
    last.leave()
