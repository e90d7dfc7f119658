"""An interval set is a set: whatever is added and removed, it has what a plain set would have."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.incarnation import new_incarnation
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import normal

NUMBERS = st.integers(-12, 12)
CHANGES = st.lists(st.tuples(st.booleans(), NUMBERS, NUMBERS), max_size=12)


def changed(changes: list[tuple[bool, int, int]]) -> tuple[IntervalSet, set[int]]:
    found, plain = IntervalSet(), set()
    for adds, first, last in changes:
        if adds:
            found.add(first, last)
            plain |= set(range(first, last + 1))
        else:
            found.remove(first, last)
            plain -= set(range(first, last + 1))
    return found, plain


@given(CHANGES)
def test_it_has_what_a_plain_set_has_in_normal_form(changes):
    found, plain = changed(changes)
    assert found.ranges() == normal((number, number) for number in plain)
    assert all((number in found) == (number in plain) for number in range(-13, 14))


@given(CHANGES, NUMBERS, NUMBERS)
def test_what_lies_within_a_range_and_its_gaps_make_the_range(changes, first, last):
    found, plain = changed(changes)
    asked = set(range(first, last + 1))
    within = {n for a, b in found.within(first, last) for n in range(a, b + 1)}
    gaps = {n for a, b in found.gaps(first, last) for n in range(a, b + 1)}
    assert within == asked & plain
    assert gaps == asked - plain
    assert found.covers(first, last) == (asked <= plain)


@given(st.floats(0, 4e9), st.floats(0, 4e9), st.integers(0), st.integers(0))
def test_a_later_life_has_a_higher_number(one_s, other_s, chance, other_chance):
    earlier_s, later_s = sorted((one_s, other_s))
    if later_s - earlier_s >= 0.01:
        former = new_incarnation(now_s=earlier_s, chance=chance)
        assert former < new_incarnation(now_s=later_s, chance=other_chance) < 1 << 62
