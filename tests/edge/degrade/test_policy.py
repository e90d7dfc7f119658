"""One step at a time, and no oscillation: over ways that somebody draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.words.degraded import Why
from headwater.edge.degrade.policy import (
    FITS_SHARE,
    RESTORE_S_MAX,
    RESTORE_S_MIN,
    SHORT_PERIODS,
    Period,
    Policy,
)

SIZES = (100.0, 60.0, 30.0, 12.0, 5.0)
"""What each step needs."""
LAST = len(SIZES) - 1

Way = Callable[[int], float | None]


def steps(
    way: Way, *, periods: int, period_s: float = 1.0, sizes: Sequence[float] = SIZES
) -> list[Policy]:
    """What becomes of it, period by period."""
    policy, found = Policy(), []
    for at in range(periods):
        seen = seen_at(policy, way(at), sizes)
        policy = policy.after(seen, last_step=len(sizes) - 1, now_s=at * period_s)
        found.append(policy)
    return found


def seen_at(policy: Policy, way: float | None, sizes: Sequence[float] = SIZES) -> Period:
    return Period(sizes[policy.step], sizes[max(0, policy.step - 1)], way)


def changes(found: Sequence[Policy]) -> int:
    return sum(one.step != other.step for one, other in pairwise((Policy(), *found)))


def test_a_wide_way_changes_nothing() -> None:
    assert {one.step for one in steps(lambda at: 100.0, periods=500)} == {0}


def test_one_short_period_is_no_reason_and_two_are() -> None:
    assert steps(lambda at: 50.0 if at == 5 else 200.0, periods=20)[-1].step == 0
    found = steps(lambda at: 70.0, periods=3)
    assert [one.step for one in found] == [0, 1, 1]
    assert found[-1].why is Why.CAPACITY


def test_it_goes_as_far_as_it_must_and_no_further() -> None:
    found = [one.step for one in steps(lambda at: 13.0, periods=60)]
    assert found[-1] == 3
    assert found[: 3 * SHORT_PERIODS] == [0, 1, 1, 2, 2, 3]


def test_all_is_back_within_a_minute_of_the_ways_return() -> None:
    found = steps(lambda at: 6.0 if at < 60 else 200.0, periods=120)
    assert found[59].step == LAST
    assert found[60 + int(LAST * RESTORE_S_MIN) + LAST].step == 0


def test_a_finer_step_must_fit_into_nine_tenths_for_its_while() -> None:
    nearly = SIZES[0] / FITS_SHARE
    assert steps(lambda at: 70.0 if at < 5 else nearly - 1.0, periods=200)[-1].step == 1
    assert steps(lambda at: 70.0 if at < 5 else nearly + 1.0, periods=200)[-1].step == 0


def test_each_relapse_doubles_the_while_up_to_five_minutes() -> None:
    """A finer step that never fits and always looks as if it would."""
    policy, restored, relapsed = Policy(), [], []
    for at in range(4_000):
        seen = Period(SIZES[policy.step], 10.0, 70.0)
        after = policy.after(seen, last_step=1, now_s=float(at))
        (
            restored if after.step < policy.step else relapsed if after.step > policy.step else []
        ).append(at)
        policy = after
    waits = [back - gone for gone, back in zip(relapsed, restored, strict=False)]
    assert waits[:5] == [11, 21, 41, 81, 161]
    assert max(waits) <= RESTORE_S_MAX + 1
    assert len(restored) <= 17, "ten minutes of doubling, then once in five minutes"


def test_steps_that_come_in_after_a_relapse_keep_the_while_that_it_has_doubled() -> None:
    relapsed = Policy(1, Why.CAPACITY, restore_after_s=40.0, restored_s=0.0)
    for at in range(6):
        relapsed = relapsed.after(Period(9.0, 9.0, 5.0), last_step=3, now_s=10.0 + at)
    assert (relapsed.step, relapsed.restore_after_s) == (3, 80.0)


def test_nothing_changes_while_nobody_knows_the_way_or_it_is_shut() -> None:
    short = steps(lambda at: 13.0, periods=20)[-1]
    for way in (None, 0.0):
        policy = short
        for at in range(100):
            policy = policy.after(seen_at(policy, way), last_step=LAST, now_s=20.0 + at)
        assert policy.step == short.step


def test_what_waits_at_its_site_is_short_whatever_was_measured() -> None:
    policy = Policy()
    for at in range(2):
        seen = Period(1.0, 1.0, 1e9, waited_s=3.0 + at)
        policy = policy.after(seen, last_step=2, now_s=float(at))
    assert (policy.step, policy.why) == (1, Why.QUEUE)


def test_what_waits_and_gets_less_brings_no_further_step_and_no_finer_one() -> None:
    policy = Policy(1, Why.QUEUE, waited_s=9.0)
    for at in range(8):
        seen = Period(1.0, 1.0, 1e9, waited_s=8.5 - at)
        policy = policy.after(seen, last_step=3, now_s=2.0 * at)
    assert policy.step == 1


def test_nobody_rests_at_a_step_that_changes_nothing() -> None:
    policy, short = Policy(), Period(9.0, 9.0, 5.0)
    for at in range(2):
        policy = policy.after(short, last_step=4, same={1, 2}, now_s=float(at))
    assert policy.step == 3
    for at in range(2, 14):
        policy = policy.after(Period(1.0, 1.0, 9.0), last_step=4, same={1, 2}, now_s=float(at))
    assert (policy.step, policy.why) == (0, None)


def test_where_no_further_step_changes_anything_it_stays() -> None:
    policy = Policy(2, Why.CAPACITY)
    for at in range(20):
        policy = policy.after(Period(9.0, 9.0, 5.0), last_step=4, same={3, 4}, now_s=float(at))
    assert policy.step == 2


def test_a_budget_is_named_as_the_reason() -> None:
    assert Period(10.0, 10.0, 5.0, is_budget=True).why(0.0) is Why.BUDGET


def test_steps_that_settings_have_taken_away_go_at_once() -> None:
    policy = Policy(step=4).after(Period(1.0, 1.0, 100.0), last_step=1, now_s=0.0)
    assert policy.step == 1


@given(st.lists(st.floats(1.0, 300.0) | st.just(0.0) | st.none(), min_size=1, max_size=300))
def test_steps_change_by_one_and_only_for_a_reason(ways: list[float | None]) -> None:
    found = [Policy(), *steps(lambda at: ways[at], periods=len(ways))]
    short = [
        False,
        *(
            w is not None and w >= 1.0 and SIZES[p.step] > w
            for p, w in zip(found, ways, strict=False)
        ),
    ]
    fits_s = 0.0
    for at, (one, other) in enumerate(pairwise(found)):
        assert abs(other.step - one.step) <= 1
        assert 0 <= other.step <= LAST
        assert bool(other.step) == (other.why is not None)
        way = ways[at]
        finer = SIZES[max(0, one.step - 1)]
        has_fit = way is not None and way >= 1.0 and finer <= FITS_SHARE * way and one.step > 0
        if other.step > one.step:
            assert short[at : at + 2] == [True, True]
        if other.step < one.step:
            assert fits_s >= RESTORE_S_MIN
        fits_s = fits_s + 1.0 if has_fit and other.step == one.step else 0.0


@given(
    st.floats(1.0, 300.0),
    st.lists(st.floats(0.05, 1.2), min_size=1, max_size=6),
    st.floats(0.2, 3.0),
)
def test_over_a_steady_way_it_settles(way: float, saves: list[float], wrong: float) -> None:
    """However much each step saves, and however wrong the estimates are."""
    sizes = [100.0]
    for one in saves:
        sizes.append(sizes[-1] * one)
    policy, count = Policy(), 0
    for at in range(3_600):
        finer = wrong * sizes[max(0, policy.step - 1)]
        after = policy.after(
            Period(sizes[policy.step], finer, way), last_step=len(saves), now_s=float(at)
        )
        count += after.step != policy.step and at >= 600
        policy = after
    assert count <= 2 * 3_000 / RESTORE_S_MAX + 2


@pytest.mark.parametrize("period_s", [0.5, 5.0, 60.0])
def test_periods_may_be_of_any_length(period_s: float) -> None:
    found = steps(lambda at: 13.0 if at < 30 else 200.0, periods=400, period_s=period_s)
    assert found[29].step == 3
    assert found[-1].step == 0
    assert changes(found) == 6
