"""When a batch is wanted, as tables and under chance."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.edge.batches.batch_times import (
    OVERDUE_S_MAX,
    TOGETHER_S,
    BatchLimits,
    Waiting,
    is_batch_wanted,
)
from headwater.edge.batches.reading_pace import USUAL_S_PER_MB, ReadingPace

LIMITS = BatchLimits(batch_s_max=0.5, batch_wait_s_max=15.0)
FULL = round(LIMITS.batch_s_max / USUAL_S_PER_MB * 1e6)
"""Bytes that take ``batch_s_max`` to read, at the usual pace."""


def is_wanted(*sites: Waiting) -> bool:
    return is_batch_wanted(sites, ReadingPace(), LIMITS)


@pytest.mark.parametrize(
    ("waiting", "wanted"),
    [
        (Waiting(), False),
        (Waiting(0, is_due=True, is_urgent=True), False),
        (Waiting(1), False),
        (Waiting(1, is_due=True), True),
        (Waiting(1, is_urgent=True), True),
        (Waiting(1, age_s=14.9), False),
        (Waiting(1, age_s=15.0), True),
        (Waiting(FULL - 1), False),
        (Waiting(FULL + 1), True),
    ],
)
def test_one_site_wants_a_batch_when_it_helps(waiting: Waiting, wanted: bool) -> None:
    assert is_wanted(waiting) is wanted


def test_a_close_that_is_near_takes_along_what_has_gathered() -> None:
    """Or it would wait for the batch before it, and then for its own."""
    assert not is_wanted(Waiting(FULL + 1, due_in_s=0.3))
    assert is_wanted(Waiting(FULL + 1, due_in_s=3.0))
    assert is_wanted(Waiting(2 * FULL + 1, due_in_s=0.3)), "but not far too much"
    assert is_wanted(Waiting(FULL + 1, due_in_s=-1.0)), "nor for a poll that does not come"


def test_what_has_gathered_is_counted_over_all_sites() -> None:
    assert is_wanted(*[Waiting(FULL // 4 + 1)] * 4)
    assert not is_wanted(*[Waiting(FULL // 5)] * 4)


@pytest.mark.parametrize(
    ("due_in_s", "wanted"),
    [
        (TOGETHER_S + 0.01, True),
        (TOGETHER_S - 0.01, False),
        (0.0, False),
        (0.01 - OVERDUE_S_MAX, False),
        (-OVERDUE_S_MAX - 0.01, True),
    ],
)
def test_sites_that_close_together_are_read_together(due_in_s: float, wanted: bool) -> None:
    late = Waiting(1, due_in_s=due_in_s)
    assert is_wanted(Waiting(1, is_due=True, due_in_s=-0.01), late) is wanted


def test_a_site_with_nothing_to_read_is_not_waited_for() -> None:
    assert is_wanted(Waiting(1, is_due=True), Waiting(0, due_in_s=0.0))


def test_nobody_waits_for_others_where_there_is_no_steady_state() -> None:
    assert is_wanted(Waiting(1, is_urgent=True), Waiting(1, due_in_s=0.0))


waitings = st.builds(
    Waiting,
    byte_count=st.integers(0, 50_000_000),
    age_s=st.floats(0, 30),
    is_due=st.booleans(),
    is_urgent=st.booleans(),
    due_in_s=st.floats(-2, 60),
)


@given(st.lists(waitings, max_size=5))
def test_nothing_is_read_where_nothing_waits_and_nothing_waits_for_ever(
    sites: list[Waiting],
) -> None:
    wanted = is_wanted(*sites)
    having = [one for one in sites if one.byte_count]
    assert having or not wanted
    if any(one.age_s >= LIMITS.batch_wait_s_max or one.is_urgent for one in having):
        assert wanted


@given(st.lists(waitings, min_size=1, max_size=5), st.integers(1, 50_000_000))
def test_more_input_never_makes_a_batch_less_wanted(sites: list[Waiting], more: int) -> None:
    """Unless a close is near, which takes it along."""
    far = [msgspec.structs.replace(one, due_in_s=100.0) for one in sites]
    grown = [msgspec.structs.replace(far[0], byte_count=far[0].byte_count + more), *far[1:]]
    assert is_wanted(*grown) or not is_wanted(*far)


# The pace


def test_the_cost_of_a_batch_and_that_of_its_bytes_are_told_apart() -> None:
    pace = ReadingPace()
    for mb in (1, 8, 2, 16, 4, 30, 1, 12):
        pace.took(mb * 1_000_000, 0.4 + 0.03 * mb)
    assert pace.reading_s(10_000_000) == pytest.approx(0.3, rel=0.1)
    assert pace.batch_s(0) == pytest.approx(0.4, rel=0.1)


def test_small_batches_that_are_slow_are_slow_as_batches() -> None:
    """Were it their bytes, even smaller ones would follow, which cost more."""
    pace = ReadingPace()
    for _ in range(20):
        pace.took(800_000, 0.9)
    assert pace.batch_s(0) > 0.7
    assert pace.reading_s(8_000_000) < 1.5


def test_large_batches_that_are_slow_are_slow_by_their_bytes() -> None:
    pace = ReadingPace()
    for _ in range(20):
        pace.took(60_000_000, 12.0)
    assert pace.reading_s(60_000_000) > 9.0


def test_a_slow_start_is_forgotten() -> None:
    pace = ReadingPace()
    pace.took(200_000, 8.0)
    for mb in (4, 2) * 10:
        pace.took(mb * 1_000_000, 0.1 + 0.05 * mb)
    assert pace.batch_s(4_000_000) == pytest.approx(0.3, rel=0.1)


@given(
    st.lists(
        st.tuples(st.integers(0, 256 << 20), st.floats(0, 600, allow_subnormal=False)), max_size=40
    )
)
def test_no_history_makes_reading_free_or_costs_negative(took: list[tuple[int, float]]) -> None:
    pace = ReadingPace()
    for byte_count, s in took:
        pace.took(byte_count, s)
    assert pace.reading_s(1_000_000) > 0
    assert pace.batch_s(0) >= 0
    assert pace.batch_s(2_000_000) > pace.batch_s(1_000_000)
