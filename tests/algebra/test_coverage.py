"""Coverage is a set: merging adds, and never twice."""

from functools import reduce
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coverage import (
    COVERAGE_GROUPS_MAX,
    GROUP_RANGES_MAX,
    Coverage,
    incarnation_tag,
)
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.sets import bitset
from headwater.errors import OverlapError

SITES = range(6)


def coverage_of(ordinal: int, form: int, incarnation: int) -> Coverage:
    if form == 0:
        return Coverage.of_whole(ordinal, incarnation)
    if form == 1:
        return Coverage.of_empty(ordinal, incarnation)
    updates = ((1, form),) if form % 6 < 4 else ()
    made = Coverage.of_part if form < 6 else Coverage.of_group
    closed_at = None if form == 11 else form
    return made(ordinal, incarnation, updates=updates, closed_at=closed_at)


@st.composite
def apart(draw: st.DrawFn, groups: int) -> list[Coverage]:
    """Coverages of disjoint sites, each site in one form."""
    found = [Coverage() for _ in range(groups)]
    for ordinal in SITES:
        group = draw(st.integers(-1, groups - 1))
        if group >= 0:
            one = coverage_of(ordinal, draw(st.integers(0, 11)), draw(st.integers(0, 1 << 63)))
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


@given(st.integers(0, 5), st.integers(0, 11), st.integers(0, 11))
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


# Groups


def group_of(
    sites: int, first: int, last: int, closed_at: int | None, *, life: int = 7
) -> Coverage:
    """These sites, each in the same life, with updates first … last."""
    each = (
        Coverage.of_group(ordinal, life, updates=((first, last),), closed_at=closed_at)
        for ordinal in bitset.members(sites)
    )
    return reduce(Coverage.merge, each, Coverage())


def test_sites_that_have_the_same_are_one_group_whichever_met_first() -> None:
    ones = [
        Coverage.of_group(1, 10, updates=((1, 1),), closed_at=2),
        Coverage.of_group(2, 20, updates=((1, 2),), closed_at=2),
        Coverage.of_group(3, 30, updates=((1, 1),), closed_at=2),
        Coverage.of_group(4, 40, updates=((1, 1),), closed_at=None),
    ]
    merged = {reduce(Coverage.merge, order) for order in permutations(ones)}
    assert len(merged) == 1
    found = merged.pop()
    assert [(one.updates, one.closed_at, one.sites) for one in found.groups] == [
        (((1, 1),), None, 1 << 4),
        (((1, 1),), 2, 1 << 1 | 1 << 3),
        (((1, 2),), 2, 1 << 2),
    ]
    assert found.mentioned == 4
    assert found.has_close


def test_a_group_with_a_bitmap_of_its_own_is_in_that() -> None:
    assert Coverage.of_group(1, 2, updates=((1, 1),), closed_at=1) == Coverage.of_whole(1, 2)
    assert Coverage.of_group(1, 2, updates=(), closed_at=0) == Coverage.of_empty(1, 2)
    early = Coverage.of_group(1, 2, updates=((1, 1),), closed_at=None)
    assert early.groups
    assert not early.has_close
    assert early.has_rows


SETS = st.sets(st.integers(1, 5), min_size=1).map(bitset.of)


@given(SETS, st.lists(st.booleans(), min_size=3, max_size=3), st.permutations([0, 1, 2]))
def test_other_updates_of_the_same_sites_in_the_same_lives_become_one_set(
    sites: int, closes: list[bool], order: list[int]
) -> None:
    ones = [group_of(sites, n, n, 3 if closes[n - 1] else None) for n in (1, 2, 3)]
    merged = reduce(Coverage.merge, (ones[n] for n in order))
    assert merged == group_of(sites, 1, 3, 3 if any(closes) else None)


@given(SETS, SETS)
def test_further_sites_may_come_before_or_after_the_other_updates(sites: int, more: int) -> None:
    more &= ~sites
    if not more:
        return
    first, second = group_of(sites, 1, 1, None), group_of(sites, 2, 2, 2)
    others = group_of(more, 1, 2, 2)
    assert first.merge(second).merge(others) == group_of(sites | more, 1, 2, 2)
    with pytest.raises(OverlapError):
        first.merge(second.merge(others))


@pytest.mark.parametrize(
    "other",
    [
        group_of(0b0110, 1, 1, 2),
        group_of(0b0110, 2, 2, 2, life=8),
        group_of(0b0010, 2, 2, 2),
        group_of(0b1110, 2, 2, 2),
        group_of(0b0010, 2, 2, 2).merge(group_of(0b0100, 2, 3, 3)),
        Coverage.of_part(1, 7, updates=((2, 2),), closed_at=2).merge(group_of(0b0100, 2, 2, 2)),
    ],
    ids=["the same update", "another life", "fewer", "more", "divided otherwise", "spelled out"],
)
def test_all_other_sites_in_common_are_an_overlap(other: Coverage) -> None:
    one = group_of(0b0110, 1, 1, 2)
    for left, right in ((one, other), (other, one)):
        assert left.merged(right) is None
        with pytest.raises(OverlapError):
            left.merge(right)


def test_a_site_that_closed_empty_has_nothing_to_add() -> None:
    one = Coverage.of_empty(1, 7).merge(group_of(0b100, 1, 1, None))
    other = Coverage.of_empty(1, 7).merge(group_of(0b100, 2, 2, 2))
    assert one.merged(other) is None


def test_more_groups_than_a_coverage_may_have_stay_apart() -> None:
    many = reduce(
        Coverage.merge, (group_of(1 << n, 1, n + 2, None) for n in range(COVERAGE_GROUPS_MAX))
    )
    assert len(many.groups) == COVERAGE_GROUPS_MAX
    assert many.merged(group_of(1 << 99, 1, 99, None)) is None
    assert many.merged(group_of(1 << 99, 1, 2, None)) is not None
    assert many.merged(Coverage.of_whole(99, 7)) is not None


def test_more_ranges_than_a_group_may_have_stay_apart() -> None:
    one = group_of(0b110, 1, 1, None)
    for n in range(1, GROUP_RANGES_MAX):
        one = one.merge(group_of(0b110, 2 * n + 1, 2 * n + 1, None))
    assert one.merged(group_of(0b110, 999, 999, None)) is None
    assert one.merged(group_of(0b110, 2, 2, None)) is not None


@given(apart(1))
def test_what_is_packed_is_read_as_it_was(parts: list[Coverage]) -> None:
    packed = msgspec.msgpack.encode(PackedCoverage.of(parts[0]))
    assert msgspec.msgpack.decode(packed, type=PackedCoverage).coverage() == parts[0]


class OfBefore(msgspec.Struct, frozen=True, array_like=True):
    """A coverage as agents of 0.3 and 0.4 read it, who pass over what stands behind it."""

    whole: bytes
    empty: bytes
    tag: int
    parts: tuple[tuple[object, ...], ...] = ()


def test_without_groups_it_has_the_bytes_that_it_had_and_with_them_agents_of_before_refuse_it():
    plain = Coverage.of_whole(1, 99).merge(Coverage.of_empty(9, 5))
    bytes_ = msgspec.msgpack.encode(PackedCoverage.of(plain))
    assert bytes_ == msgspec.msgpack.encode([b"\x02", b"\x00\x02", plain.tag, []])
    assert msgspec.msgpack.decode(bytes_, type=OfBefore).whole == b"\x02"
    grouped = msgspec.msgpack.encode(PackedCoverage.of(plain.merge(group_of(0b100, 1, 1, None))))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(grouped, type=OfBefore)


def test_other_updates_of_the_same_sites_bring_what_was_kept_back_and_the_later_close() -> None:
    kept = (Remainder(largest=3.0, total=5.0, keys=2),)
    early, close = group_of(0b0110, 1, 1, 2), group_of(0b0110, 2, 3, 3)
    keeping = msgspec.structs.replace(close, withheld=kept)
    for one, other in ((early, keeping), (keeping, early)):
        merged = one.merge(other)
        assert merged.withheld == kept
        assert merged == msgspec.structs.replace(group_of(0b0110, 1, 3, 3), withheld=kept)


def test_a_group_s_tag_is_that_of_all_its_sites_in_their_lives() -> None:
    (group,) = group_of(0b0111, 1, 2, 2).groups
    tags = [incarnation_tag(ordinal, 7) for ordinal in range(3)]
    assert group.tag == tags[0] ^ tags[1] ^ tags[2]
