"""What a way carries is the least over its links, and survives being told."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.capacity import way_capacity
from headwater.algebra.capacity.way_capacity import (
    LEVEL_MAX,
    UNKNOWN,
    WayCapacity,
    least,
    rate_of_level,
    told_level,
)

RATES = st.one_of(st.none(), st.floats(0.0, 1e13))
CAPACITIES = st.builds(WayCapacity, RATES, st.sampled_from(("a", "b")))


def test_the_examples_are_true():
    assert doctest.testmod(way_capacity).failed == 0


@given(CAPACITIES, CAPACITIES)
def test_the_narrower_of_two_counts_and_what_is_unknown_narrows_nothing(one, other):
    found = least(one, other)
    known = [each.bytes_per_s for each in (one, other) if each.bytes_per_s is not None]
    assert found.bytes_per_s == min(known, default=None)
    assert least(one, UNKNOWN) == one


@given(st.floats(1.0, 1e11))
def test_a_rate_is_told_to_a_tenth(rate):
    assert rate_of_level(told_level(rate)) == pytest.approx(rate, rel=0.05)


@given(RATES)
def test_told_on_and_on_it_stays_what_it_is(rate):
    level = told_level(rate)
    assert 0 <= level <= LEVEL_MAX
    assert told_level(rate_of_level(level)) == level


def test_a_way_is_shut_where_nothing_gets_through_and_not_where_nobody_knows():
    assert WayCapacity(0.0).is_shut
    assert WayCapacity(rate_of_level(told_level(0.3))).is_shut
    assert not UNKNOWN.is_shut
    assert not WayCapacity(1.0).is_shut
