"""As of when sites have answered a question: every site is in it, in few words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.words.as_of import AS_OF_GROUPS_MAX, SiteAsOf, grouped

CLOSES = st.none() | st.integers(-(2**60), 2**60)


@given(st.lists(CLOSES, max_size=300))
def test_every_site_stands_in_one_group_whose_closes_hold_its_own(closes: list[int | None]) -> None:
    told = {f"s{n}": SiteAsOf("pages@hub#1", one, 1, 2, 3) for n, one in enumerate(closes)}
    found = grouped(told.items())
    assert len(found) <= AS_OF_GROUPS_MAX
    sites = [site for group in found for site in group.sites]
    assert sorted(sites) == sorted(told)
    for group in found:
        for site in group.sites:
            own = told[site].through_us
            if group.through_us is None or own is None:
                assert own is group.through_us
            else:
                assert group.through_us[0] <= own <= group.through_us[1]
    assert sum(group.rows for group in found) == 2 * len(closes)


def test_sites_that_closed_alike_are_one_group_whatever_else_they_have() -> None:
    told = [(f"s{n}", SiteAsOf("pages@hub#1", 10 * (n % 2), rows=n)) for n in range(212)]
    assert [len(group.sites) for group in grouped(told)] == [106, 106]


def test_groups_keep_to_one_close_as_long_as_there_are_few() -> None:
    told = [(f"s{n}", SiteAsOf("pages@hub#1", n)) for n in range(AS_OF_GROUPS_MAX - 1)]
    assert all(len(group.sites) == 1 for group in grouped(told))


def test_of_a_group_the_earliest_open_pane_is_told() -> None:
    told = [(f"s{n}", SiteAsOf("pages@hub#1", 10, open_from_us=30 - n)) for n in range(3)]
    (group,) = grouped([*told, ("closed", SiteAsOf("pages@hub#1", 10))])
    assert group.open_from_us == 28
