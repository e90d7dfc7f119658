"""A head and leaves: taken apart and put together, nothing is lost, and nothing is mistaken."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.sets import bitset, ranges
from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    AckLeaf,
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    leaves_over,
    with_leaves,
)

HEAD = Acknowledgement(
    query="q@a#1",
    root_incarnation=8,
    number=3,
    done_through=100,
    held=((101, 110),),
    listed=((101, 109),),
)
ORDINALS = st.integers(0, 5 * LEAF_SITES)
SITES = st.sets(ORDINALS, max_size=20).map(bitset.of)
PANES = st.lists(
    st.builds(PaneHeld, st.integers(90, 130), SITES), max_size=6, unique_by=lambda held: held.pane
)
EXTRAS = st.lists(
    st.builds(ExtraHeld, st.integers(90, 130), ORDINALS, st.just(7), st.just(((2, 3),))), max_size=6
)
GREETINGS = st.lists(st.builds(Greeting, ORDINALS, st.just(9), st.integers(1, 5)), max_size=6)


@given(PANES, EXTRAS, GREETINGS)
def test_leaves_say_together_what_was_put_into_them(
    panes: list[PaneHeld], extra: list[ExtraHeld], greetings: list[Greeting]
) -> None:
    ack = with_leaves(HEAD, panes=panes, extra=extra, greetings=greetings)
    assert {held.pane: held.sites for held in ack.panes} == {
        held.pane: held.sites for held in panes if held.sites
    }
    assert sorted(msgspec.structs.astuple(one) for one in ack.extra) == sorted(
        msgspec.structs.astuple(one) for one in extra
    )
    assert sorted(one.ordinal for one in ack.greetings) == sorted(one.ordinal for one in greetings)


@given(PANES, EXTRAS, GREETINGS)
def test_a_leaf_speaks_of_its_own_sites_and_there_is_none_that_says_nothing(
    panes: list[PaneHeld], extra: list[ExtraHeld], greetings: list[Greeting]
) -> None:
    ack = with_leaves(HEAD, panes=panes, extra=extra, greetings=greetings)
    assert bitset.of(leaf.number for leaf in ack.leaves) == ack.filled
    assert [leaf.number for leaf in ack.leaves] == sorted(bitset.members(ack.filled))
    for leaf in ack.leaves:
        said = [*leaf.extra, *leaf.greetings]
        assert said or leaf.panes
        assert all(one.ordinal // LEAF_SITES == leaf.number for one in said)
        assert all(0 < held.sites < 1 << LEAF_SITES for held in leaf.panes)
        assert [held.pane for held in leaf.panes] == sorted({held.pane for held in leaf.panes})


@given(PANES)
def test_a_pane_that_is_spelled_out_is_listed_also_for_those_who_are_not_in_it(
    panes: list[PaneHeld],
) -> None:
    ack = with_leaves(HEAD, panes=panes)
    assert all(ranges.contains(ack.listed, held.pane) for held in panes)
    assert ranges.contains(ack.listed, 105), "and so is what was"


@given(PANES, ORDINALS, st.sets(st.integers(0, 5)))
def test_a_site_knows_an_empty_leaf_from_one_that_it_was_not_given(
    panes: list[PaneHeld], ordinal: int, handed: set[int]
) -> None:
    whole = with_leaves(HEAD, panes=panes)
    leaves = tuple(leaf for leaf in whole.leaves if leaf.number in handed)
    leaf = msgspec.structs.replace(whole, leaves=leaves).leaf_of(ordinal)
    number = ordinal // LEAF_SITES
    if not whole.filled >> number & 1:
        assert leaf == AckLeaf(number)
    elif number in handed:
        assert leaf == whole.leaf_of(ordinal)
        assert leaf is not None
    else:
        assert leaf is None


@given(SITES)
def test_the_leaves_over_sites_are_those_of_their_ordinals(sites: int) -> None:
    assert set(bitset.members(leaves_over(sites))) == {
        ordinal // LEAF_SITES for ordinal in bitset.members(sites)
    }


def test_digests_stand_in_the_order_of_the_leaves_that_there_are() -> None:
    ack = msgspec.structs.replace(HEAD, filled=0b1011, digests=(b"a", b"b", b"c"))
    assert [ack.digest_of(number) for number in range(5)] == [b"a", b"b", None, b"c", None]
    unsigned = msgspec.structs.replace(HEAD, filled=0b1011)
    assert unsigned.digest_of(0) is None
