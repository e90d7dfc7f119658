"""Coverage is a set: merging adds, and never twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coverage import Coverage, incarnation_tag
from headwater.algebra.sets import bitset
from headwater.errors import OverlapError

SITES = range(6)


def coverage_of(ordinal: int, form: int, incarnation: int) -> Coverage:
    if form == 0:
        return Coverage.of_whole(ordinal, incarnation)
    if form == 1:
        return Coverage.of_empty(ordinal, incarnation)
    updates = ((1, form),) if form < 4 else ()
    return Coverage.of_part(ordinal, incarnation, updates=updates, closed_at=form)


@st.composite
def apart(draw: st.DrawFn, groups: int) -> list[Coverage]:
    """Coverages of disjoint sites, each site in one form."""
    found = [Coverage() for _ in range(groups)]
    for ordinal in SITES:
        group = draw(st.integers(-1, groups - 1))
        if group >= 0:
            one = coverage_of(ordinal, draw(st.integers(0, 5)), draw(st.integers(0, 1 << 63)))
            found[group] = found[group].merge(one)
    return found


@given(apart(3))
def test_merge_is_associative_and_commutative_with_a_neutral_element(parts: list[Coverage]) -> None:
    a, b, c = parts
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(b) == b.merge(a)
    assert a.merge(Coverage()) == a == Coverage().merge(a)


@given(apart(2))
def test_a_merge_has_the_sites_and_the_tag_of_both(parts: list[Coverage]) -> None:
    a, b = parts
    merged = a.merge(b)
    assert merged.sites == a.sites | b.sites
    assert merged.tag == a.tag ^ b.tag
    assert merged.has_rows == (a.has_rows or b.has_rows)
    assert not a.intersects(b)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_a_site_in_both_is_refused_whatever_its_form(ordinal: int, left: int, right: int) -> None:
    a, b = coverage_of(ordinal, left, 7), coverage_of(ordinal, right, 8)
    assert a.intersects(b)
    with pytest.raises(OverlapError, match=rf"both cover ordinals \[{ordinal}\]"):
        a.merge(b)


@given(st.dictionaries(st.integers(0, 50), st.integers(0, 1 << 62), min_size=1, max_size=8))
def test_the_root_can_recompute_the_tag_from_incarnations(lives: dict[int, int]) -> None:
    merged = Coverage()
    for ordinal, incarnation in lives.items():
        merged = merged.merge(Coverage.of_whole(ordinal, incarnation))
    tag = 0
    for ordinal in bitset.members(merged.whole):
        tag ^= incarnation_tag(ordinal, lives[ordinal])
    assert merged.tag == tag


def test_another_incarnation_has_another_tag() -> None:
    assert incarnation_tag(3, 1) != incarnation_tag(3, 2)
    assert incarnation_tag(3, 1) != incarnation_tag(31, 1)


def test_a_part_is_kept_in_normal_form() -> None:
    part = Coverage.of_part(1, 2, updates=((3, 4), (1, 2)), closed_at=4)
    assert part.parts[0].updates == ((1, 4),)
    assert part.has_rows
    assert not Coverage.of_part(1, 2, updates=(), closed_at=0).has_rows
    assert not Coverage.of_empty(1, 2).has_rows
