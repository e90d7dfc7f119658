"""Bitsets behave as the sets of small numbers that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.sets import bitset

numbers = st.sets(st.integers(0, 3000), max_size=20)


@given(numbers)
def test_members_come_back_in_rising_order(wanted: set[int]) -> None:
    assert list(bitset.members(bitset.of(wanted))) == sorted(wanted)


@given(numbers, numbers)
def test_or_and_and_are_union_and_intersection(left: set[int], right: set[int]) -> None:
    assert bitset.of(left) | bitset.of(right) == bitset.of(left | right)
    assert bitset.of(left) & bitset.of(right) == bitset.of(left & right)


@given(numbers)
def test_bytes_are_the_same_set_in_the_shortest_form(wanted: set[int]) -> None:
    data = bitset.to_bytes(bitset.of(wanted))
    assert bitset.from_bytes(data) == bitset.of(wanted)
    assert not data.endswith(b"\0")
    assert len(data) == (max(wanted, default=-1) // 8 + 1 if wanted else 0)


@given(st.integers(0, 200))
def test_below_has_every_number_up_to_its_count(count: int) -> None:
    assert list(bitset.members(bitset.below(count))) == list(range(count))


def test_the_empty_set_has_no_bytes() -> None:
    assert bitset.to_bytes(bitset.EMPTY) == b""
    assert bitset.from_bytes(b"") == bitset.EMPTY
