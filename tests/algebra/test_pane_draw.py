"""Random panes: an exact number of each block, everywhere the same, and no pane preferred."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.draws import Draws
from headwater.algebra.pane_draw import PaneDraw, drawn
from headwater.algebra.sets import bitset

BLOCKS = st.integers(1, 60).flatmap(lambda panes: st.tuples(st.just(panes), st.integers(1, panes)))


def draw(panes: int = 10, count: int = 5, query: str = "q@a#1", *, apart: bool = False) -> PaneDraw:
    return PaneDraw(query, panes=panes, count=count, is_apart=apart)


@given(BLOCKS, st.integers(0, 2**64 - 1))
def test_of_each_block_an_exact_number_and_of_its_begin_nearly(
    block: tuple[int, int], seed: int
) -> None:
    panes, count = block
    found = drawn(panes, count, Draws(seed))
    assert found.bit_count() == count
    assert found < 1 << panes
    for first in range(panes + 1):
        taken = (found & ((1 << first) - 1)).bit_count()
        assert abs(taken * panes - first * count) < panes


@given(BLOCKS, st.integers(-(10**12), 10**12), st.booleans())
def test_a_window_over_two_blocks_has_one_pane_more_or_less(
    block: tuple[int, int], start: int, apart: bool
) -> None:
    panes, count = block
    made = draw(panes, count, apart=apart)
    taken = sum(made.has(pane, 3) for pane in range(start, start + panes))
    assert abs(taken - count) <= 1
    if start % panes == 0:
        assert taken == count


@pytest.mark.parametrize(("panes", "count"), [(6, 3), (5, 2), (7, 5), (4, 1)])
def test_no_pane_is_preferred(panes: int, count: int) -> None:
    """Each is drawn in ``count / panes`` of 4,000 blocks, within five standard deviations."""
    blocks = 4_000
    made = draw(panes, count)
    share = count / panes
    slack = 5 * (blocks * share * (1 - share)) ** 0.5
    for at in range(panes):
        taken = sum(made.has(block * panes + at, 0) for block in range(blocks))
        assert abs(taken - blocks * share) < slack, at


def test_the_draws_are_these_on_every_machine_and_in_every_version() -> None:
    """Sites and roots of several versions must agree."""
    alike, apart = draw(), draw(apart=True)
    assert [pane for pane in range(30) if alike.has(pane, 7)] == ALIKE
    assert [pane for pane in range(30) if apart.has(pane, 7)] == APART


def test_alike_is_the_same_at_all_sites_and_apart_is_not() -> None:
    alike, apart = draw(panes=40, count=20), draw(panes=40, count=20, apart=True)
    sets = [frozenset(p for p in range(40) if alike.has(p, site)) for site in range(5)]
    assert len(set(sets)) == 1
    sets = [frozenset(p for p in range(40) if apart.has(p, site)) for site in range(5)]
    assert all(a != b for a, b in combinations(sets, 2))


def test_another_query_and_another_block_draw_anew() -> None:
    panes = range(200)
    one, other = draw(query="q@a#1"), draw(query="q@a#2")
    assert [one.has(p, 0) for p in panes] != [other.has(p, 0) for p in panes]
    blocks = {tuple(one.has(10 * block + at, 0) for at in range(10)) for block in range(20)}
    assert len(blocks) > 10


@pytest.mark.parametrize("apart", [False, True])
def test_the_root_computes_what_sites_do(apart: bool) -> None:
    expected = bitset.of([0, 2, 3, 9, 64, 200])
    root, site = draw(apart=apart), draw(apart=apart)
    for pane in range(-25, 25):
        told = bitset.of(o for o in bitset.members(expected) if site.has(pane, o))
        assert root.sites(pane, expected) == told


ALIKE = [1, 2, 5, 7, 9, 11, 12, 15, 17, 19, 21, 22, 24, 27, 28]
APART = [0, 3, 5, 7, 9, 11, 12, 15, 17, 19, 20, 22, 25, 27, 28]
