"""How an absolute bound is dealt out: what a table gives, what a site makes of those it hears."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.remainders.share_table import (
    OWN_SHARES_MAX,
    SHARE_LEVELS_MAX,
    UNITS,
    Dealing,
    Levels,
    OwnShare,
    ShareTable,
    even_shares,
    known_after,
    levels_of,
    moved_levels,
    moved_shares,
    own_share,
    problem,
)
from headwater.algebra.sets import bitset

ALL = UNITS
HALF = UNITS // 2
FLUSHES = st.dictionaries(st.integers(0, 9), st.floats(0.0, 1e5))


@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 100).map(float), min_size=1),
    st.dictionaries(st.integers(0, 9), st.integers(0, 60).map(float)),
)
def test_moving_shares_gives_away_no_more_than_there_was(
    shares: dict[int, float], flush_s: dict[int, float]
) -> None:
    moved = moved_shares(shares, flush_s, worth_s=0.5)
    assert sum(moved.values()) == pytest.approx(sum(shares.values()))
    assert all(share >= 0.0 for share in moved.values())


def test_shares_go_to_where_flushes_are_slow() -> None:
    shares = even_shares(range(16), bound=160.0, panes=2)
    assert shares == dict.fromkeys(range(16), 5.0)
    for _ in range(10):
        shares = moved_shares(shares, {3: 20.0, 4: 0.2}, worth_s=0.5)
    assert shares[3] > 79.0
    assert shares[4] < 0.01


@given(st.dictionaries(st.integers(0, 2_000), st.floats(0.0, 1e9), min_size=1, max_size=300))
def test_a_table_gives_the_whole_in_a_few_levels_and_never_more(shares: dict[int, float]) -> None:
    table = ShareTable(1, 0, 0, levels_of(shares))
    assert problem(table) is None
    given_away = sum(units * sites.bit_count() for units, sites in table.levels)
    if any(shares.values()):
        assert ALL - len(shares) <= given_away <= ALL
        largest = max(shares, key=lambda site: shares[site])
        assert table.share(largest) == max(map(table.share, shares))
    assert all(table.share(site) == 0.0 for site, share in shares.items() if share == 0.0)


@given(st.sets(st.integers(0, 40), min_size=1), st.lists(FLUSHES, max_size=6), st.data())
def test_whoever_comes_and_goes_a_further_table_gives_no_more_than_the_whole(
    sites: set[int], flushes: list[dict[int, float]], data: st.DataObject
) -> None:
    levels = moved_levels((), sites, {}, worth_s=0.5)
    for flush_s in flushes:
        sites = data.draw(st.sets(st.integers(0, 40), min_size=1))
        levels = moved_levels(levels, sites, flush_s, worth_s=0.5)
        assert problem(ShareTable(1, 0, 0, levels)) is None
    assert moved_levels((), sites, {}, worth_s=0.5) == ((ALL // len(sites), bitset.of(sites)),)


@pytest.mark.parametrize(
    "levels",
    [((ALL + 1, 0b1),), ((HALF + 1, 0b11),), ((HALF, 0b1), (HALF + 1, 0b10)), ((HALF, 0b111),)],
)
def test_a_table_that_gives_more_than_the_whole_is_refused(levels: Levels) -> None:
    assert "at most the whole" in (problem(ShareTable(1, 0, 9, levels)) or "")


def test_where_next_to_nothing_would_move_the_same_table_goes_on() -> None:
    even = moved_levels((), range(4), {}, worth_s=0.5)
    assert moved_levels(even, range(4), {0: 0.4}, worth_s=0.5) is even
    moved = moved_levels(even, range(4), {0: 9.0}, worth_s=0.5)
    assert ShareTable(2, 0, 9, moved).share(0) > 0.5
    settled = moved
    for _ in range(20):
        settled = moved_levels(settled, range(4), {0: 9.0}, worth_s=0.5)
    assert moved_levels(settled, range(4), {0: 8.0}, worth_s=0.5) is settled
    assert ShareTable(2, 0, 9, settled).share(0) > 0.9


def test_who_has_not_heard_of_a_table_has_no_share_of_its_panes() -> None:
    first = ShareTable(1, 10, 19, ((HALF, 0b11),))
    later = ShareTable(2, 20, 29, ((ALL, 0b10),))
    known = known_after((), [later, first], 1)
    assert [own_share(known, pane) for pane in (9, 10, 19, 20, 29, 30)] == [0, 0.5, 0.5, 1, 1, 0]
    only = known_after((), [first], 1)
    assert [own_share(only, pane) for pane in (19, 20)] == [0.5, 0.0]
    assert [own_share(known_after((), [first, later], 0), pane) for pane in (10, 20)] == [0.5, 0.0]
    assert own_share(known_after((), [first, later], 2), 10) == 0.0


def test_a_table_that_goes_on_names_further_panes_and_changes_none() -> None:
    known = known_after((), [ShareTable(1, 10, 19, ((HALF, 0b1),))], 0)
    known = known_after(known, [ShareTable(1, 10, 29, ((HALF, 0b1),))], 0)
    assert known == (OwnShare(10, 29, 0.5),)
    another = known_after(known, [ShareTable(7, 15, 39, ((ALL, 0b1),))], 0)
    assert another == (OwnShare(10, 29, 0.5), OwnShare(30, 39, 1.0))


def test_a_site_remembers_the_newest_stretches_alone() -> None:
    known: tuple[OwnShare, ...] = ()
    for n in range(1, 40):
        known = known_after(known, [ShareTable(n, 10 * n, 10 * n + 9, ((HALF >> n % 2, 1),))], 0)
    assert len(known) == OWN_SHARES_MAX
    assert own_share(known, 395) > 0.0
    assert own_share(known, 15) == 0.0


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (ShareTable(1, 0, 9, ((HALF, 0b111),)), "at most the whole"),
        (ShareTable(1, 0, 9, ((-1, 0b1),)), "at least 0"),
        (ShareTable(1, 0, 9, ((HALF, 0b1), (1, 0b1))), "each site once"),
        (ShareTable(1, 9, 8, ((HALF, 0b1),)), "wanted panes"),
        (ShareTable(0, 0, 9, ((HALF, 0b1),)), "wanted panes"),
        (
            ShareTable(1, 0, 9, tuple((1, 1 << n) for n in range(SHARE_LEVELS_MAX + 1))),
            "at most 8 levels",
        ),
    ],
)
def test_a_table_under_which_a_bound_would_not_hold_is_refused(
    table: ShareTable, reason: str
) -> None:
    assert reason in (problem(table) or "")


@given(st.integers(-1_000, 1_000), st.integers(1, 50), st.data())
def test_a_root_that_has_lost_its_disk_names_no_pane_that_its_former_life_has_named(
    pane: int, panes: int, data: st.DataObject
) -> None:
    """Also where clocks went back by less than a stretch."""
    dealing = Dealing(-10_000, panes)
    later = pane - data.draw(st.integers(0, panes - 1))
    assert dealing.first_named(later) > dealing.named_with(pane)
    assert not dealing.is_due(dealing.named_with(pane) + 1, pane)
    assert Dealing(10_000, panes).first_named(pane) == 10_000
