"""A site goes by altered settings from their pane on, or from its next one where it hears late."""

from __future__ import annotations

from pathlib import Path

import pytest
from edge_site import EdgeSite
from store_kit import Clock, CubeUser

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
