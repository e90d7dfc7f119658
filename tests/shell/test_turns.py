"""Threads that take turns: nothing at once, nothing lost, everything again with the same seed."""

from __future__ import annotations

import random

import pytest
from schedules.locks import Event, Lock
from schedules.turns import Killed, Stuck, Turns


def interleaved(seed: int) -> str:
    turns = Turns(random.Random(seed), switch_share=0.5)
    said: list[str] = []

    def count(name: str) -> None:
        for number in range(4):
            said.append(f"{name}{number}")
            turns.pause()

    for name in "ab":
        turns.start(lambda name=name: count(name), name)  # type: ignore[misc]
    turns.sleep(1.0)
    turns.close()
    return " ".join(said)


def test_a_seed_gives_one_order_and_seeds_give_many() -> None:
    assert interleaved(3) == interleaved(3)
    assert len({interleaved(seed) for seed in range(20)}) > 5


def test_a_lock_keeps_others_out_while_time_passes() -> None:
    turns = Turns(random.Random(1), switch_share=0.5)
    lock, inside = Lock(turns, is_reentrant=False), []

    def enter(name: str) -> None:
        with lock:
            inside.append(f"{name} in")
            turns.sleep(1.0)
            inside.append(f"{name} out")

    for name in "abc":
        turns.start(lambda name=name: enter(name), name)  # type: ignore[misc]
    turns.sleep(10.0)
    turns.close()
    pairs = list(zip(inside[::2], inside[1::2], strict=True))
    assert len(pairs) == 3
    assert all(first[0] == second[0] for first, second in pairs)
    assert turns.steady.now_s == 10.0


def test_threads_that_wait_for_each_other_are_noticed() -> None:
    turns = Turns(random.Random(1), switch_share=0.0)
    with pytest.raises(Killed):
        Event(turns).wait()
    assert isinstance(turns.died_of, Stuck)
    turns.close()


def test_a_kill_ends_every_thread_of_the_process_and_none_outside() -> None:
    turns = Turns(random.Random(1), switch_share=0.0)
    ended, outside = [], []

    def inside() -> None:
        try:
            turns.sleep(100.0)
        finally:
            ended.append(turns.steady.now_s)

    def killer() -> None:
        turns.sleep(1.0)
        turns.kill()
        outside.append("goes on")

    for _ in range(3):
        turns.start(inside, "inside")
    turns.start(killer, "outside", is_outside=True)
    with pytest.raises(Killed):
        turns.sleep(50.0)
    turns.bury()
    assert ended == [1.0, 1.0, 1.0]
    turns.sleep(1.0)
    assert outside == ["goes on"]
    turns.close()
