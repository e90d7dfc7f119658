"""C² against a count of pairs one by one, and its laws."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.fidelity import Fidelity, in_at_least, measure
from headwater.algebra.sets import bitset

SITES = 9
EXPECTED = bitset.below(SITES)
PANES = 6

boards = st.lists(st.integers(0, EXPECTED), min_size=PANES, max_size=PANES)
asked = st.integers(1, PANES)


@given(boards, st.integers(0, EXPECTED), asked)
def test_it_is_what_one_counts_pair_by_pair(panes: list[int], expected: int, asked: int) -> None:
    pairs = {
        (site, pane)
        for pane, sites in enumerate(panes)
        for site in bitset.members(sites & expected)
    }
    found = measure(panes, expected, panes_asked=asked)
    panes_of = {site: sum((site, p) in pairs for p in range(PANES)) for site in range(SITES)}
    assert found.pairs == len(pairs)
    assert found.panes == PANES
    assert found.panes_with(1) == len({pane for _, pane in pairs})
    assert found.seen == sum(count >= 1 for count in panes_of.values())
    assert found.regular == sum(count >= asked for count in panes_of.values())
    whole = PANES * expected.bit_count()
    assert found.area == (len(pairs) / whole if whole else 1.0)


@given(st.lists(st.integers(0, EXPECTED), max_size=20), st.integers(1, 25))
def test_members_of_so_many_sets_are_those_that_one_finds_by_counting(
    sets: list[int], count: int
) -> None:
    wanted = {m for m in range(SITES) if sum(one >> m & 1 for one in sets) >= count}
    assert set(bitset.members(in_at_least(sets, count))) == wanted


@given(boards, boards, boards)
def test_at_least_is_a_join(a: list[int], b: list[int], c: list[int]) -> None:
    one, two, three = (measure(panes, EXPECTED) for panes in (a, b, c))
    assert one.at_least(two) == two.at_least(one)
    assert one.at_least(two).at_least(three) == one.at_least(two.at_least(three))
    assert one.at_least(one) == one
    assert one.at_least(Fidelity()) == one == Fidelity().at_least(one)


@given(boards, boards)
def test_at_least_lowers_neither_area_nor_a_bin(a: list[int], b: list[int]) -> None:
    one, two = measure(a, EXPECTED), measure(b, EXPECTED)
    joined = one.at_least(two)
    assert joined.area >= max(one.area, two.area)
    for sites in range(SITES + 1):
        assert joined.panes_with(sites) >= max(one.panes_with(sites), two.panes_with(sites))


@given(boards, boards)
def test_what_comes_in_lowers_nothing(a: list[int], b: list[int]) -> None:
    more = [x | y for x, y in zip(a, b, strict=True)]
    less, full = measure(a, EXPECTED), measure(more, EXPECTED)
    assert full.at_least(less) == full


def test_half_of_the_sites_is_told_from_half_of_the_time() -> None:
    half_of_sites = measure([0b0011] * 4, 0b1111)
    half_of_time = measure([0b1111, 0b1111, 0, 0], 0b1111)
    assert half_of_sites.area == half_of_time.area == 0.5
    assert (half_of_sites.time, half_of_sites.space) == (1.0, 0.5)
    assert (half_of_time.time, half_of_time.space) == (0.5, 1.0)


def test_ten_thousand_sites_with_one_gap_each_are_not_nothing() -> None:
    """The intersection over twenty panes, which is what ``covered`` counts, would say 0."""
    expected = bitset.below(10_000)
    panes = [expected & ~bitset.of(range(pane, 10_000, 20)) for pane in range(20)]
    found = measure(panes, expected)
    assert found.bins == ((20, 9_500),)
    assert (found.area, found.time, found.space, found.regular) == (0.95, 1.0, 1.0, 0)


def test_where_nobody_is_expected_nothing_is_missing() -> None:
    assert measure([0, 0], 0).area == 1.0
