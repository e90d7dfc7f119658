"""Records by their age: panes are numbered, closed and sealed in the root's time."""

import msgspec
import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.edge.closing.root_time import SLEW_MAX, RootTime
from headwater.plan.query import TimeKind

QUERY = msgspec.structs.replace(make_query(), time=TimeKind.AGE)
ID = str(QUERY.id)
HOUR_S = 3_600.0


def desk(*, offset_s, query=QUERY, now_s=0.0, disk=None):
    """A site whose clock shows ``now_s`` and is behind the root's by ``offset_s``."""
    site = SiteDesk(0, [], now_s=now_s, disk=disk)
    site.queries = {str(query.id): query}
    site.edge.install(query, now_s=now_s, offset_s=offset_s)
    site.work(now_s=now_s)
    return site


def test_a_pane_closes_by_the_roots_clock():
    """The site's clock is an hour ahead: its 3,605 s are the root's 5 s."""
    site = desk(offset_s=-HOUR_S, now_s=HOUR_S)
    site.commit({0: [1]}, now_s=HOUR_S + 5.0)
    site.commit(now_s=HOUR_S + 10.9, read_through_s=HOUR_S + 10.9)
    assert site.said == []
    site.commit(now_s=HOUR_S + 11.0, read_through_s=HOUR_S + 11.0)
    assert [(one.pane, one.rows) for one in site.said] == [(0, (1,))]


def test_a_site_that_is_ahead_is_not_late():
    site = desk(offset_s=-HOUR_S, now_s=HOUR_S - 1.0)
    assert site.edge.progress()[0].record.first_pane == 0
    by_timestamps = desk(offset_s=-HOUR_S, now_s=HOUR_S - 1.0, query=make_query())
    assert by_timestamps.edge.progress()[0].record.first_pane > 350


def test_queries_by_timestamp_know_the_offset_and_do_not_use_it():
    site = desk(offset_s=7.0, query=make_query())
    assert site.edge.offset_us(ID) == 0
    assert site.told[-1].offset_s == 7.0


def test_the_offset_survives_a_restart():
    disk = SiteDisk(1000)
    site = desk(offset_s=-HOUR_S, now_s=HOUR_S, disk=disk)
    site.commit({0: [1]}, now_s=HOUR_S + 5.0)
    site.start(now_s=HOUR_S + 6.0)
    assert site.edge.offset_us(ID) == round(-HOUR_S * 1e6)


def test_small_changes_are_slewed_and_large_ones_taken_at_once():
    time = RootTime(is_used=True)
    time.hear(10.0, now_s=0.0)
    time.hear(10.1, now_s=2.0)
    assert time.of(0.0) == pytest.approx(10.0 + 2.0 * SLEW_MAX)
    for second in range(3, 60):
        time.hear(10.1, now_s=float(second))
    assert time.of(0.0) == pytest.approx(10.1)
    time.hear(-500.0, now_s=61.0)
    assert time.of(0.0) == -500.0


def test_a_site_that_learns_late_how_far_it_is_behind_declines_what_it_did_not_read():
    """Panes of ten seconds. It began at 9 s of its own, took pane 2 for the first one surely whole,
    and was at 29 s of the root's: most of pane 2 had passed unread."""
    site = desk(offset_s=None, now_s=9.0)
    site.edge.read_from(ID, at_s=9.0)
    assert site.edge.progress()[0].record.first_pane == 2
    site.edge.root_clock(ID, 20.0, now_s=10.0)
    site.work(now_s=10.0)
    assert site.edge.progress()[0].record.first_pane == 3
    assert [(one.first, one.last) for one in site.told[-1].declined][-1][1] == 2
    site.edge.root_clock(ID, 50.0, now_s=12.0)
    assert site.edge.progress()[0].record.first_pane == 3


def test_what_a_former_process_knew_of_the_roots_clock_holds_by_the_wall_clock():
    """It was told as a distance from the wall clock, which is an hour ahead of the steady one."""
    time = RootTime(is_used=True, ahead_s=HOUR_S)
    time.resume(5.0)
    assert time.known_s == 5.0
    assert time.offset_us == 5_000_000
    assert time.of(100.0) == HOUR_S + 105.0


def test_a_site_says_that_its_idea_of_the_roots_clock_is_unconfirmed_and_when_it_is_not():
    site = SiteDesk(0, [], now_s=0.0)
    site.queries = {ID: QUERY}
    site.edge.install(QUERY, now_s=0.0, offset_s=5.0, is_confirmed=False)
    site.work(now_s=0.0)
    assert site.told[-1].is_clock_unconfirmed
    site.edge.root_clock(ID, 5.0, is_confirmed=True, now_s=1.0)
    site.work(now_s=1.0)
    assert not site.told[-1].is_clock_unconfirmed
    assert site.told[-1].number > site.told[0].number, "it is news"


def test_a_query_by_timestamps_has_no_clock_to_confirm():
    site = SiteDesk(0, [], now_s=0.0)
    query = make_query()
    site.queries = {ID: query}
    site.edge.install(query, now_s=0.0, offset_s=5.0, is_confirmed=False)
    site.work(now_s=0.0)
    assert not site.told[-1].is_clock_unconfirmed


def test_the_slew_is_what_the_configuration_says():
    time = RootTime(is_used=True, slew_max=0.02)
    time.hear(10.0, now_s=0.0)
    time.hear(10.2, now_s=1.0)
    assert time.of(0.0) == pytest.approx(10.02)
