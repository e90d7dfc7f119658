"""A budget bounds what happens in every stretch of time, however it is asked."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.budget import Budget

STEPS = st.lists(
    st.tuples(st.floats(0.0, 5.0), st.integers(0, 9), st.floats(0.1, 1.0)), max_size=60
)


def spent_times(steps, *, per_s: float, burst: float) -> list[float]:
    """When each was spent: at every step as many as are wanted and allowed."""
    budget, now_s, spent = Budget.full(per_s=per_s, burst=burst), 1e6, []
    for pause_s, wanted, share in steps:
        now_s += pause_s
        budget = budget.at(now_s, share=share)
        for _ in range(wanted):
            if budget.allows():
                budget = budget.spend()
                spent.append(now_s)
    return spent


@given(STEPS)
def test_no_stretch_of_time_has_more_than_a_burst_and_the_rate(steps) -> None:
    spent = spent_times(steps, per_s=2.0, burst=4.0)
    for first, from_s in enumerate(spent):
        for last in range(first, len(spent)):
            assert last - first + 1 <= 4.0 + 2.0 * (spent[last] - from_s) + 0.1


def test_a_full_budget_allows_a_burst_at_once() -> None:
    assert len(spent_times([(0.0, 9, 1.0)], per_s=1.0, burst=5.0)) == 5


def test_a_small_share_lowers_the_burst_and_the_rate() -> None:
    busy = [(1.0, 9, 0.25)] * 40
    assert len(spent_times(busy, per_s=4.0, burst=16.0)) == 4 + 39


def test_single_ones_come_through_however_small_the_share_is() -> None:
    assert len(spent_times([(1.0, 9, 0.1)] * 100, per_s=1.0, burst=2.0)) == 10


def test_it_tells_when_the_next_one_is_allowed() -> None:
    budget = Budget.full(per_s=4.0, burst=1.0).at(100.0).spend()
    assert not budget.allows()
    at_s = budget.allows_at_s(share=0.5)
    assert at_s == 100.5
    assert not budget.at(at_s - 0.1, share=0.5).allows()
    assert budget.at(at_s, share=0.5).allows()


def test_what_is_overdrawn_is_paid_back_first() -> None:
    budget = Budget.full(per_s=1.0, burst=2.0).at(0.0).spend(6)
    assert not budget.at(4.5).allows()
    assert budget.at(5.0).allows()


def test_a_clock_that_is_set_back_neither_fills_nor_stops_it() -> None:
    budget = Budget.full(per_s=1.0, burst=2.0).at(1000.0).spend(2)
    back = budget.at(10.0)
    assert not back.allows()
    assert back.at(11.0).allows()
