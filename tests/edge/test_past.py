"""A late query at a site: panes wait for the reading of the past, and end with the extent.

Panes of ten seconds, disorder 1 s. The query comes at 105 s and begins with pane 2.
"""

from __future__ import annotations

import msgspec
from pane_kit import SiteDesk, make_query

from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.config import EdgeConfig
from headwater.edge.outputs import Withdrawn
from headwater.edge.record import UNDECIDED, EdgeRecord
from headwater.plan.readings import past_reading

LATE = msgspec.structs.replace(make_query(begin_pane=2, lateness_s=30.0), reads_past=True)
ID, PAST = str(LATE.id), past_reading(LATE)


def desk(query=LATE, **options) -> SiteDesk:
    return SiteDesk(0, [query], now_s=105.0, **options)


def record(site: SiteDesk) -> EdgeRecord:
    return site.edge.progress()[0].record


def panes_of(site: SiteDesk) -> list[int]:
    """Those of which rows were sent, in that order."""
    return [summary.pane for summary in site.said if summary.rows]


def live(site: SiteDesk, now_s: float, records: dict[int, list[int]] | None = None) -> None:
    site.commit(records, now_s=now_s, read_through_s=now_s)


def past(site: SiteDesk, now_s: float, records=None, *, high_s=None, low_s=0.0, **more) -> None:
    low_us = None if low_s is None else round(low_s * 1e6)
    site.commit(records, now_s=now_s, source=PAST, high_time_s=high_s, low_time_us=low_us, **more)


def test_a_pane_closes_when_both_readings_have_passed_it():
    site = desk()
    live(site, 130.0, {10: [7]})
    assert panes_of(site) == [], "the past may have records of it"
    past(site, 131.0, {2: [1], 3: [2]}, high_s=36.0)
    assert panes_of(site) == [2]
    assert record(site).closed_through == 3
    past(site, 132.0, {10: [3]}, high_s=104.0, ended=True)
    assert (record(site).past, record(site).catching_up) == ("", False)
    live(site, 133.0)
    assert sorted(panes_of(site)) == [2, 3, 10]
    assert next(one for one in site.said if one.pane == 10).rows == (3, 7)
    assert record(site).closed_through == 13


def test_nothing_is_sealed_nor_too_late_before_the_past_has_ended():
    site = desk()
    past(site, 131.0, {5: [1]}, high_s=90.0)
    live(site, 400.0)
    assert record(site).sealed_through == -FOREVER
    past(site, 401.0, {3: [2]}, high_s=39.0)
    site.work(now_s=410.0)
    assert site.said[-1].pane == 3, "an older file comes as a late update"
    past(site, 411.0, high_s=104.0, ended=True)
    live(site, 412.0)
    assert record(site).sealed_through == 37
    assert record(site).tally.too_late == 0


def test_what_files_no_longer_hold_is_declined_with_the_pane_of_the_first_record():
    site = desk()
    live(site, 130.0)
    past(site, 131.0, {4: [1], 5: [2]}, high_s=71.0, low_s=45.0)
    assert record(site).first_pane == 5
    assert record(site).declined == (Declined(first=2, last=4, reason=Reason.NOT_RETAINED),)
    assert panes_of(site)[0] == 5
    past(site, 132.0, high_s=104.0, low_s=45.0, ended=True)
    assert record(site).first_pane == 5


def test_where_there_is_no_past_at_all_the_first_whole_pane_is_a_later_one():
    site = desk()
    past(site, 106.0, low_s=None, ended=True)
    assert record(site).first_pane == 12, "beyond the tolerance for records from the future"
    assert record(site).declined == (Declined(first=2, last=11, reason=Reason.NOT_RETAINED),)


def test_lost_bytes_of_the_past_damage_what_is_open_and_are_told_once():
    site = desk()
    live(site, 130.0)
    past(site, 131.0, {2: [1]}, high_s=36.0)
    past(site, 132.0, lost_bytes=9, loss_through=4)
    assert record(site).damaged == ((3, 13),)
    past(site, 133.0, lost_bytes=9, loss_through=4)
    assert (record(site).tally.lost_bytes, record(site).past_loss_heard) == (9, 4)
    assert record(site).loss_heard == 0, "of the live reading nothing was heard"


def test_a_restart_waits_for_the_past_again():
    site = desk()
    live(site, 130.0)
    past(site, 131.0, {2: [1]}, high_s=36.0)
    site.start(now_s=140.0)
    assert record(site).past == PAST
    live(site, 400.0)
    assert record(site).closed_through == 3
    past(site, 401.0, {4: [2]}, high_s=104.0, ended=True)
    live(site, 402.0)
    assert record(site).closed_through > 10


def test_a_site_that_had_a_former_life_does_not_read_the_past_again():
    site = desk()
    site.edge._edges[ID].state.change(0, awaits_greeting=True)
    greeting = Greeting(0, 1000, 1, former_through=9, former_clock_s=100.0)
    head = Acknowledgement(ID, root_incarnation=50, number=1, done_through=-FOREVER)
    site.hear(with_leaves(head, greetings=[greeting]), now_s=106.0)
    assert record(site).past == ""
    assert record(site).declined == (Declined(first=2, last=11, reason=Reason.LOST),)


def test_what_was_read_of_the_past_stays_when_the_clock_of_the_root_is_heard_later():
    site = desk()
    site.edge.read_from(ID, at_s=105.0)
    live(site, 130.0)
    past(site, 131.0, {2: [1], 3: [2]}, high_s=104.0, ended=True)
    site.edge.root_clock(ID, 0.5, now_s=132.0)
    live(site, 133.0)
    assert (record(site).first_pane, record(site).declined) == (2, ())
    assert panes_of(site) == [2, 3]


def test_a_query_for_the_earliest_closes_nothing_before_it_is_decided_what_it_reads():
    query = make_query(begin_pane=None)
    site = SiteDesk(0, [], now_s=105.0)
    site.queries[str(query.id)] = query
    site.edge.install(query, now_s=105.0)
    site.work(now_s=105.0)
    live(site, 130.0, {10: [1]})
    assert record(site).past == UNDECIDED
    assert panes_of(site) == []
    site.edge.read_past(str(query.id), is_read=True)
    live(site, 131.0)
    assert (record(site).past, panes_of(site)) == (past_reading(query), [])
    site.commit({1: [2]}, now_s=132.0, source=past_reading(query), low_time_us=1, ended=True)
    live(site, 133.0)
    site.work(now_s=140.0)
    assert sorted(panes_of(site)) == [1, 10]


# Extent


def test_with_its_extent_a_query_is_closed_sealed_and_over():
    query = msgspec.structs.replace(make_query(begin_pane=0, lateness_s=30.0), end_pane=3)
    site = SiteDesk(0, [query])
    live(site, 50.0, {0: [1], 2: [2], 3: [3]})
    assert record(site).closed_through == 3
    assert not record(site).ended
    live(site, 61.0)
    assert (record(site).sealed_through, record(site).ended) == (3, True)
    assert [write for write in site.writes if isinstance(write, Withdrawn)] == [
        Withdrawn(str(query.id))
    ]
    assert not site.edge.is_running(str(query.id))
    assert site.edge.next_wanted_s(query.source_name, after_s=61.0, now_s=61.0) > 1e12
    site.start(now_s=70.0)
    assert not site.edge.is_running(str(query.id)), "also after a restart"


# No site runs ahead


def told_awaited(site: SiteDesk, query, pane: int | None, *, number: int, now_s: float) -> None:
    site.hear(
        Acknowledgement(
            str(query.id), root_incarnation=50, number=number, done_through=0, awaited_from=pane
        ),
        now_s=now_s,
    )
    site.work(now_s=now_s)


def test_a_catch_up_stays_within_the_panes_that_the_root_awaits_from_others():
    site = desk(config=EdgeConfig(ahead_panes_max=2))
    live(site, 130.0)
    past(site, 131.0, {pane: [pane] for pane in (2, 4, 5, 7, 8)}, high_s=104.0, ended=True)
    live(site, 132.0)
    assert panes_of(site) == [2, 4]
    assert record(site).closed_through == 5, "what is empty up to there is closed, too"
    assert record(site).catching_up, "what it sends is backlog until it has caught up"
    told_awaited(site, LATE, 4, number=1, now_s=133.0)
    assert panes_of(site) == [2, 4, 5]
    told_awaited(site, LATE, None, number=2, now_s=134.0)
    live(site, 135.0)
    assert panes_of(site) == [2, 4, 5, 7, 8]
    live(site, 136.0)
    assert not record(site).catching_up
    assert record(site).closed_through == 13


def test_rows_of_panes_that_were_given_up_hold_no_catch_up_back():
    site = desk(config=EdgeConfig(ahead_panes_max=2))
    past(site, 106.0, {2: [1], 3: [2], 4: [3]}, high_s=45.0)
    site.edge._edges[ID].state.change(0, awaits_greeting=True)
    greeting = Greeting(0, 1000, 1, former_through=9, former_clock_s=100.0)
    head = Acknowledgement(ID, root_incarnation=50, number=1, done_through=-FOREVER)
    site.hear(with_leaves(head, greetings=[greeting]), now_s=107.0)
    assert record(site).first_pane == 12
    live(site, 160.0, {12: [5], 13: [6]})
    live(site, 161.0)
    assert {12, 13} <= set(panes_of(site))


def test_who_does_not_catch_up_waits_for_nobody():
    query = make_query(begin_pane=2)
    site = SiteDesk(0, [query], now_s=5.0, config=EdgeConfig(ahead_panes_max=2))
    told_awaited(site, query, 2, number=1, now_s=6.0)
    live(site, 130.0, {pane: [pane] for pane in range(2, 9)})
    assert panes_of(site) == list(range(2, 9))


def test_a_finite_input_stays_within_what_is_awaited_and_ends():
    query = make_query(begin_pane=None, ends=True)
    site = SiteDesk(0, [query], now_s=5.0, config=EdgeConfig(ahead_panes_max=3))
    records = {pane: [pane] for pane in range(0, 1000, 100)}
    site.commit(records, now_s=6.0, high_time_s=1.0, ended=True)
    assert panes_of(site) == [0, 100, 200]
    told_awaited(site, query, 100, number=1, now_s=7.0)
    assert panes_of(site) == [0, 100, 200, 300]
    assert not record(site).ended
    for number in range(2, 5):
        told_awaited(site, query, None, number=number, now_s=6.0 + number)
    assert panes_of(site) == sorted(records)
    assert record(site).ended
