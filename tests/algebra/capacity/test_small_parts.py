"""A mean over time, the least of a while, and one marker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.capacity.least_delay import STRETCH_S, LeastDelay
from headwater.algebra.capacity.marked import Marked
from headwater.algebra.capacity.smoothed import Smoothed


def test_a_mean_follows_over_its_time_and_keeps_what_it_knows():
    mean = Smoothed().add(None, over_s=2.0, now_s=0.0)
    assert mean.value is None
    mean = mean.add(10.0, over_s=2.0, now_s=0.0)
    assert mean.add(None, over_s=2.0, now_s=9.0) == mean
    after = mean.add(20.0, over_s=2.0, now_s=2.0)
    assert after.value == pytest.approx(10.0 + 10.0 * (1 - 2.718281828**-1))


@given(st.lists(st.tuples(st.floats(0.0, 1e9), st.floats(-1e6, 1e6)), min_size=1))
def test_a_mean_lies_within_what_was_added(words):
    mean, now_s = Smoothed(), 0.0
    for value, past_s in words:
        now_s += past_s
        mean = mean.add(value, over_s=2.0, now_s=now_s)
    values = [value for value, _ in words]
    assert min(values) - 1e-6 <= mean.value <= max(values) + 1e-6


def test_the_least_delay_is_forgotten_when_the_way_has_become_longer():
    least = LeastDelay().add(0.02, now_s=0.0).add(0.3, now_s=10.0)
    assert least.least_s == 0.02
    for at in range(1, 8):
        least = least.add(0.1, now_s=at * (STRETCH_S / 2 + 1.0))
    assert least.least_s == 0.1
    assert LeastDelay().least_s is None


def test_a_marker_tells_how_much_more_a_link_carries_than_is_sent():
    assert Marked(20_000, k_s=4.0, t_s=2.0).ratio == pytest.approx(2.0)
    assert Marked(20_000, 4.0, 2.0).bytes_per_s(rtt_least_s=0.1) == pytest.approx(10_000.0)
    assert Marked(20_000, 4.0, 0.0).bytes_per_s(rtt_least_s=0.1) == pytest.approx(200_000.0)
    assert Marked(100, 4.0, 0.1).is_limited
