"""What may wait on a link: seconds of what it carries, never less than a chunk."""

from __future__ import annotations

from headwater.algebra.drain_rate import DrainRate
from headwater.overlay.links.queue_limit import CHUNK_BYTES, FIRST_BYTES, queue_bytes_max


def drained(per_s: float, *, over_s: float) -> DrainRate:
    rate = DrainRate().changed(round(per_s * over_s) + 1, now_s=0.0)
    for step in range(round(over_s * 10)):
        rate = rate.changed(-round(per_s / 10), now_s=(step + 1) / 10)
    return rate


def limit(rate: DrainRate, *, budget: float | None = None, now_s: float) -> int:
    return queue_bytes_max(rate, queue_s_max=2.0, budget=budget, now_s=now_s)


def test_a_slow_link_holds_two_seconds_of_what_it_carries() -> None:
    assert 45_000 < limit(drained(25_000, over_s=30.0), now_s=30.0) < 55_000


def test_a_link_of_which_nothing_is_known_holds_little() -> None:
    assert limit(DrainRate(), now_s=0.0) == FIRST_BYTES


def test_a_link_that_carries_next_to_nothing_holds_a_chunk() -> None:
    assert limit(drained(100, over_s=30.0), now_s=30.0) == CHUNK_BYTES


def test_the_budget_counts_where_it_is_less() -> None:
    fast = drained(1e6, over_s=10.0)
    assert limit(fast, budget=20_000.0, now_s=10.0) == 40_000
    assert limit(DrainRate(), budget=20_000.0, now_s=0.0) == 40_000
    assert limit(fast, budget=1e9, now_s=10.0) == limit(fast, now_s=10.0)


def test_what_sockets_swallow_does_not_make_a_link_fast() -> None:
    """Heartbeats through an empty queue, for days, and then a first burst."""
    rate = DrainRate()
    for beat in range(100_000):
        rate = rate.changed(160, now_s=2.0 * beat).changed(-160, now_s=2.0 * beat)
    assert limit(rate, now_s=200_000.0) < 2 * FIRST_BYTES


def test_a_fast_link_is_open_wide_after_a_few_turns_of_the_loop() -> None:
    rate, now_s, turns = DrainRate(), 0.0, 0
    while (room := limit(rate, now_s=now_s)) < 4 << 20:
        rate = rate.changed(room, now_s=now_s).changed(-room, now_s=now_s + 0.002)
        now_s, turns = now_s + 0.002, turns + 1
    assert turns < 10
