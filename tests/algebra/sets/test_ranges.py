"""Ranges behave as the sets of integers that they stand for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges

small = st.integers(-20, 20)
raw = st.lists(st.tuples(small, small), max_size=6)
normal = raw.map(ranges.normal)


def members(of: Ranges) -> set[int]:
    return {number for first, last in of for number in range(first, last + 1)}


@given(raw)
def test_the_normal_form_has_the_same_members_and_no_two_ranges_that_touch(
    pairs: list[tuple[int, int]],
) -> None:
    found = ranges.normal(pairs)
    assert members(found) == members(tuple(pairs))
    assert all(b + 1 < c for (_, b), (c, _) in pairwise(found))
    assert all(first <= last for first, last in found)


@given(normal, normal)
def test_union_and_difference_are_those_of_sets(left: Ranges, right: Ranges) -> None:
    assert ranges.union(left, right) == ranges.normal(
        (n, n) for n in members(left) | members(right)
    )
    assert ranges.difference(left, right) == ranges.normal(
        (n, n) for n in members(left) - members(right)
    )


@given(normal, normal, normal)
def test_union_is_associative_commutative_and_idempotent(a: Ranges, b: Ranges, c: Ranges) -> None:
    assert ranges.union(ranges.union(a, b), c) == ranges.union(a, ranges.union(b, c))
    assert ranges.union(a, b) == ranges.union(b, a)
    assert ranges.union(a, a) == a
    assert ranges.union(a, ()) == a == ranges.union((), a)


@given(normal, normal, small, small)
def test_questions_are_answered_as_sets_answer_them(
    left: Ranges, right: Ranges, first: int, last: int
) -> None:
    assert ranges.intersects(left, right) == bool(members(left) & members(right))
    assert ranges.contains(left, first) == (first in members(left))
    assert ranges.covers(left, first, last) == (set(range(first, last + 1)) <= members(left))
    assert ranges.count(left) == len(members(left))
