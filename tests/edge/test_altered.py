"""A site goes by altered settings from their pane on, or from its next one where it hears late."""

from __future__ import annotations

from pathlib import Path

import pytest
from edge_site import EdgeSite
from store_kit import Clock, CubeUser

from headwater.algebra.remainders.share_table import UNITS, OwnShare, ShareTable
from headwater.algebra.words.acknowledgement import Acknowledgement, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.outputs import Altered
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook

CLOSED_THROUGH = 125
"""Panes below are closed when pane 105 was, by the kit's clock."""


@pytest.fixture
def site(tmp_path: Path) -> EdgeSite:
    return EdgeSite(CubeUser(tmp_path / "cube", Clock()))


def altered(site: EdgeSite, *changes: tuple[int, int]) -> SettingsBook | None:
    numbered = tuple(Numbered(n, pane, Settings(deadline_s=float(n))) for n, pane in changes)
    book = site.edge.alter(str(site.query.id), SettingsBook(Settings.of(site.query), numbered))
    site.tick(now_s=site.query.window.pane_end_us(90) / 1e6)
    return book


def told(site: EdgeSite) -> tuple[tuple[int, int], ...]:
    return site.states[-1].settings


def test_settings_that_come_in_time_hold_from_their_pane_on_and_the_root_is_told(
    site: EdgeSite,
) -> None:
    book = altered(site, (1, 110))
    assert book is not None
    assert [book.number_at(pane) for pane in (109, 110)] == [0, 1]
    assert told(site) == ((1, 110),)
    assert altered(site, (1, 110)) is None, "it is no news"


def test_who_hears_late_goes_by_them_from_the_next_pane_on(site: EdgeSite) -> None:
    site.close(105)
    book = altered(site, (1, 102))
    assert book is not None
    assert [book.number_at(pane) for pane in (CLOSED_THROUGH - 1, CLOSED_THROUGH)] == [0, 1]
    assert told(site) == ((1, CLOSED_THROUGH),)


def test_a_restart_changes_nothing_of_it(site: EdgeSite) -> None:
    site.close(105)
    altered(site, (1, 102))
    site.start(now_s=2_000.0)
    book = altered(site, (1, 102))
    assert book is not None
    assert [one.pane for one in book.changes] == [CLOSED_THROUGH]


def test_a_later_number_holds_though_its_pane_comes_first(site: EdgeSite) -> None:
    book = altered(site, (1, 120), (2, 110))
    assert book is not None
    assert [book.number_at(pane) for pane in (109, 110, 120)] == [0, 2, 2]


def test_settings_that_panes_went_by_are_kept_when_they_are_commanded_no_more(
    site: EdgeSite,
) -> None:
    """A later command named an earlier pane, and took the former one out of the install."""
    altered(site, (1, 102))
    site.close(105)
    book = altered(site, (3, 101))
    assert book is not None
    assert [book.number_at(pane) for pane in (101, CLOSED_THROUGH - 1, CLOSED_THROUGH)] == [0, 1, 3]
    assert told(site) == ((1, 102), (3, CLOSED_THROUGH))


def test_a_pane_that_has_begun_goes_on_as_it_began(site: EdgeSite) -> None:
    """Its rows of before may have left by the former settings."""
    start_s = site.query.window.pane_start_us(130) / 1e6
    site.edge.batch_committed(site.user.commit((130, "/a", 1)), now_s=start_s + 1.0)
    book = altered(site, (1, 102))
    assert book is not None
    assert [book.number_at(pane) for pane in (130, 131)] == [0, 1]


def test_what_is_heard_of_shares_is_told_to_who_keeps_rows_back(site: EdgeSite) -> None:
    table = ShareTable(1, 110, 119, ((UNITS, 1 << 1),))
    site.edge.take()
    for number in (1, 2):
        head = Acknowledgement(
            query=str(site.query.id),
            root_incarnation=1,
            number=number,
            done_through=-FOREVER,
            shares=(table,),
        )
        site.edge.receive_ack(with_leaves(head), now_s=990.0)
    (known,) = [one for one in site.edge.take() if isinstance(one, Altered)]
    assert known.settings.own == (OwnShare(110, 119, 1.0),)
