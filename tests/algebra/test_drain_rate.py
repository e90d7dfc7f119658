"""The rate at which a queue empties: of busy time alone, and soon another when the link is."""

from __future__ import annotations

import pytest

from headwater.algebra.drain_rate import FADES_OVER_S, SHOWN_BYTES_MIN, DrainRate


def _drained(rate: DrainRate, *, from_s: float, per_s: float, over_s: float) -> DrainRate:
    """Always full, and emptied so fast, looked at ten times a second."""
    rate = rate.changed(round(per_s * over_s) + 1, now_s=from_s)
    for step in range(round(over_s * 10)):
        rate = rate.changed(-round(per_s / 10), now_s=from_s + (step + 1) / 10)
    return rate


def test_nothing_is_known_before_anything_has_left() -> None:
    assert DrainRate().bytes_per_s(now_s=5.0) is None
    assert DrainRate().changed(1_000, now_s=1.0).bytes_per_s(now_s=5.0) is None


def test_the_time_in_which_the_queue_is_empty_does_not_count() -> None:
    rate = DrainRate()
    for at_s in (0.0, 100.0, 5_000.0):
        rate = rate.changed(1_000, now_s=at_s).changed(-1_000, now_s=at_s + 0.1)
    assert rate.bytes_per_s(now_s=9_000.0) == pytest.approx(10_000)


def test_a_slower_link_is_known_after_some_times_of_fading() -> None:
    fast = _drained(DrainRate(), from_s=0.0, per_s=1e6, over_s=20.0)
    assert fast.bytes_per_s(now_s=20.0) == pytest.approx(1e6, rel=0.01)
    slow = _drained(fast, from_s=20.0, per_s=1e4, over_s=8 * FADES_OVER_S)
    assert slow.bytes_per_s(now_s=20.0 + 8 * FADES_OVER_S) == pytest.approx(1e4, rel=0.1)


def test_a_queue_that_stands_still_gets_slower_while_it_does() -> None:
    rate = _drained(DrainRate(), from_s=0.0, per_s=1_000, over_s=10.0).changed(1_000, now_s=10.0)
    seen = [rate.bytes_per_s(now_s=10.0 + s) or 0.0 for s in (0, 5, 50, 500)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < 20


def test_a_clock_that_is_set_back_counts_nothing() -> None:
    rate = (
        DrainRate().changed(2_000, now_s=50.0).changed(-1_000, now_s=51.0).changed(-500, now_s=10.0)
    )
    assert rate.bytes_per_s(now_s=10.0) == pytest.approx(1_500)


def test_a_queue_that_empties_at_once_is_fast_and_not_infinite() -> None:
    rate = DrainRate().changed(1_000, now_s=1.0).changed(-1_000, now_s=1.0)
    assert rate.bytes_per_s(now_s=1.0) == pytest.approx(1e7)


def test_a_quiet_queue_keeps_its_rate_and_rests_it_on_less() -> None:
    busy = _drained(DrainRate(), from_s=0.0, per_s=1e5, over_s=10.0).changed(-1, now_s=10.0)
    later = busy.changed(0, now_s=1_000.0)
    assert later.bytes_per_s(now_s=1_000.0) == pytest.approx(busy.bytes_per_s(now_s=10.0))
    assert later.left_bytes < busy.left_bytes / 10


def test_little_that_leaves_at_once_does_not_show_what_the_link_carries() -> None:
    rate = DrainRate()
    for beat in range(100):
        rate = rate.changed(200, now_s=2.0 * beat).changed(-200, now_s=2.0 * beat + 2e-4)
    assert rate.bytes_per_s(now_s=200.0) == pytest.approx(1e6)
    assert rate.shown_bytes_per_s(now_s=200.0) is None


def test_bytes_enough_or_time_enough_show_it() -> None:
    much = DrainRate().changed(SHOWN_BYTES_MIN, now_s=1.0).changed(-SHOWN_BYTES_MIN, now_s=1.01)
    assert much.shown_bytes_per_s(now_s=1.01) == pytest.approx(100 * SHOWN_BYTES_MIN)
    long = DrainRate().changed(2_000, now_s=1.0).changed(-1_000, now_s=2.0)
    assert long.shown_bytes_per_s(now_s=2.0) == pytest.approx(1_000)
    stuck = DrainRate().changed(2_000, now_s=1.0).changed(-1_000, now_s=1.01)
    assert stuck.shown_bytes_per_s(now_s=1.01) is None
    assert stuck.shown_bytes_per_s(now_s=2.0) == pytest.approx(1_000)


def test_what_waits_for_its_own_budget_tells_nothing_of_the_link() -> None:
    rate = DrainRate().changed(20_000, now_s=0.0)
    for now_s in range(20):
        rate = rate.changed(-1_000, now_s=now_s).holding(rate.queued_bytes - 1_000, now_s=now_s)
    assert rate.queued_bytes == 0
    assert rate.busy_s == 0.0
    rate = rate.holding(0, now_s=20.0).changed(5_000, now_s=20.0)
    assert rate.changed(-5_000, now_s=25.0).busy_s == pytest.approx(5.0), "the link's own time"
    assert rate.holding(5_000, now_s=20.0).emptied().held_bytes == 0
