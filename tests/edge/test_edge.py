"""Scenarios at one site: what is committed goes in, what is cut and said comes out."""

from __future__ import annotations

import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    with_leaves,
)
from headwater.algebra.words.site_state import FOREVER, Declined, Reason, Tally
from headwater.edge.config import EdgeConfig
from headwater.edge.outbox.pane_book import PaneBook, Unsent
from headwater.edge.outbox.sending import Room
from headwater.edge.outputs import Expire, MakeUpdates, MarkAcked, MarkSent, Remember, Withdrawn
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.notice import Notice
from headwater.plan.over_limit import OVER_LIMIT

QUERY = make_query()
ID = str(QUERY.id)
ME = 1000
ROOT = 50


def desk(query=QUERY, **options) -> SiteDesk:
    return SiteDesk(0, [query], **options)


def ack(query=QUERY, *, number=1, done_through=-FOREVER, greet=None, panes=(), extra=(), **fields):
    greetings = () if greet is None else (Greeting(ordinal=0, incarnation=ME, number=greet),)
    fields.setdefault("listed", ((-FOREVER, FOREVER),))
    fields.setdefault("root_incarnation", ROOT)
    head = Acknowledgement(str(query.id), number=number, done_through=done_through, **fields)
    return with_leaves(head, panes=panes, extra=extra, greetings=greetings)


def greeted(query=QUERY, *, now_s=0.5, **options) -> SiteDesk:
    site = desk(query, **options)
    site.hear(ack(query, greet=site.told[-1].number), now_s=now_s)
    site.take_told()
    return site


def panes_of(summaries) -> list[int]:
    return [summary.pane for summary in summaries]


def writes_of(site: SiteDesk, kind: type) -> list:
    return [write for write in site.writes if isinstance(write, kind)]


# Closing at a site


def test_a_pane_closes_when_a_read_began_after_its_end_and_the_disorder():
    site = desk()
    site.commit({0: [1, 2]}, now_s=5.0)
    site.commit(now_s=10.9, read_through_s=10.9)
    assert site.said == []
    site.commit(now_s=11.0, read_through_s=11.0)
    assert panes_of(site.said) == [0]
    assert site.said[0].rows == (1, 2)


def test_an_idle_source_closes_its_panes_empty_by_polling():
    site = desk()
    site.commit(now_s=11.0, read_through_s=11.0)
    assert panes_of(site.said) == [0]
    assert site.said[0].rows is None
    assert site.said[0].coverage.parts[0].closed_at == 0


def test_nothing_closes_while_no_read_is_committed():
    site = desk()
    site.work(now_s=1000.0)
    assert site.said == []


def test_while_behind_panes_close_by_the_highest_record_time():
    site = desk()
    site.commit({0: [1], 2: [2]}, now_s=500.0, high_time_s=21.0)
    assert panes_of(site.said) == [1, 0]


def test_a_record_from_the_future_closes_nothing_beyond_the_site_clock():
    site = desk()
    site.commit({0: [1]}, now_s=12.0, high_time_s=10_000.0)
    assert panes_of(site.said) == [0]
    assert site.disk.records[ID].closed_through == 1


def test_a_finite_input_closes_nothing_until_it_has_ended_and_then_all():
    query = make_query(begin_pane=None, ends=True)
    site = desk(query)
    site.commit({3: [1], 9: [2]}, now_s=500.0, high_time_s=95.0, read_through_s=499.0)
    assert site.said == []
    site.commit(now_s=501.0, ended=True)
    assert panes_of(site.said) == [3, 9]
    newest = site.told[-1]
    assert newest.sealed_through == FOREVER
    assert newest.ended
    assert newest.empty == ((-FOREVER, 2), (4, 8), (10, FOREVER - 1))


def test_a_finite_input_is_answered_from_its_begin_however_long_ago_that_was():
    site = desk(make_query(begin_pane=5, ends=True))
    site.commit({3: [1], 9: [2]}, now_s=500.0, high_time_s=95.0, read_through_s=499.0)
    site.commit(now_s=501.0, ended=True)
    assert panes_of(site.said) == [9]
    assert site.told[-1].declined == ()


def test_short_runs_of_empty_panes_are_sent_and_long_ones_are_told_by_the_state():
    site = desk()
    site.commit(now_s=71.0, read_through_s=71.0)
    assert panes_of(site.said) == [0, 1, 2, 3, 4, 5, 6]
    site.commit(now_s=151.0, read_through_s=151.0)
    assert panes_of(site.take_said()) == [0, 1, 2, 3, 4, 5, 6]
    assert site.told[-1].empty == ((7, 14),)


def test_a_cut_is_limited_and_the_rest_follows_in_order():
    site = desk(config=EdgeConfig(panes_per_cut_max=2))
    site.commit({pane: [pane] for pane in range(5)}, now_s=51.0, read_through_s=51.0)
    assert [one.panes for one in writes_of(site, MakeUpdates)] == [(0, 1), (2, 3), (4,)]
    assert panes_of(site.said) == [0, 1, 2, 3, 4]


def test_one_tick_makes_one_cut_for_a_query():
    site = desk()
    site.commit({0: [1], 1: [2]}, now_s=21.0, read_through_s=21.0)
    assert len(writes_of(site, MakeUpdates)) == 1


def test_an_update_larger_than_the_limit_is_sent_in_several():
    site = desk(disk=SiteDisk(ME, records_max=2))
    site.commit({0: [1, 2, 3]}, now_s=11.0, read_through_s=11.0)
    assert [summary.rows for summary in site.said] == [(1, 2), (3,)]
    closes = [summary.coverage.parts[0].closed_at for summary in site.said]
    assert closes == [2, 2]
    assert site.told[-1].counts == (), "each of them tells the close"


# Begin


def test_a_site_that_hears_in_time_begins_where_the_query_does():
    site = desk(make_query(begin_pane=3), now_s=29.0)
    assert site.told[-1].first_pane == 3
    assert site.told[-1].declined == ()


def test_a_site_that_joins_late_declines_what_it_missed():
    query = make_query(begin_pane=3)
    site = desk(query, disk=SiteDisk(ME, born_s=0.0), now_s=52.0)
    assert site.told[-1].first_pane == 6
    assert site.told[-1].declined == (Declined(first=3, last=5, reason=Reason.NOT_INSTALLED),)


def test_a_site_with_a_new_cube_has_lost_what_came_before():
    query = make_query(begin_pane=3)
    site = desk(query, disk=SiteDisk(ME, born_s=45.0), now_s=62.0)
    assert site.told[-1].declined == (
        Declined(first=3, last=4, reason=Reason.LOST),
        Declined(first=5, last=6, reason=Reason.NOT_INSTALLED),
    )


def test_a_query_from_the_earliest_record_on_is_answered_for_all_panes():
    query = make_query(begin_pane=None)
    site = desk(query, now_s=1000.0)
    assert site.told[-1].first_pane == -FOREVER
    assert site.told[-1].catching_up
    site.commit({40: [1]}, now_s=1001.0, high_time_s=409.0)
    site.commit(now_s=1002.0, read_through_s=1001.5)
    assert not site.told[-1].catching_up
    assert site.told[-1].empty[0] == (-FOREVER, 39)


def test_while_a_site_catches_up_it_sends_backlog():
    site = desk(make_query(begin_pane=None), now_s=1000.0)
    site.commit({40: [1], 41: [2]}, now_s=1001.0, high_time_s=415.0)
    assert {summary.lane for summary in site.said} == {Lane.BACKLOG}


# Late records


def test_late_records_make_one_further_update_and_a_new_close():
    site = desk()
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.take_said()
    site.commit({0: [2]}, now_s=11.2, read_through_s=11.2)
    site.commit({0: [3]}, now_s=11.8, read_through_s=11.8)
    assert site.said == []
    site.work(now_s=12.3)
    (late,) = site.take_said()
    assert late.rows == (2, 3)
    assert late.coverage.parts[0].updates == ((2, 2),)
    assert late.coverage.parts[0].closed_at == 2


def test_a_first_update_after_an_empty_close_is_counted_in_the_state():
    site = greeted()
    site.commit(now_s=11.0, read_through_s=11.0)
    site.commit({0: [1]}, now_s=12.0, read_through_s=12.0)
    site.work(now_s=13.1)
    assert site.take_said()[-1].rows == (1,)
    assert site.told[-1].counts == ((0, 1),)
    held = ack(panes=(PaneHeld(0, 1),), number=2)
    site.hear(held, now_s=14.0)
    assert site.edge.progress()[0].unacked_panes == 1, "the bit may stand for the empty close"
    site.hear(ack(panes=(PaneHeld(0, 1),), number=3, greet=site.told[-1].number), now_s=15.0)
    assert site.edge.progress()[0].unacked_panes == 0


def test_a_query_for_the_earliest_that_comes_late_declines_what_was_read_without_it():
    site = desk(make_query(begin_pane=None), config=EdgeConfig(future_tolerance_s=60.0))
    site.edge.begin_late(ID, at_s=105.0)
    site.work(now_s=105.0)
    assert site.told[-1].first_pane == 17, "beyond the tolerance for records from the future"
    assert site.told[-1].declined == (
        Declined(first=-FOREVER, last=16, reason=Reason.NOT_INSTALLED),
    )
    site.commit({3: [1], 17: [2]}, now_s=171.0)
    site.commit(now_s=185.0, read_through_s=185.0)
    assert panes_of(site.said) == [17]
    site.edge.begin_late(ID, at_s=500.0)
    site.work(now_s=500.0)
    assert site.told[-1].first_pane == 17, "it begins once"


def test_records_for_sealed_panes_are_counted_as_too_late():
    site = desk(make_query(lateness_s=30.0))
    site.commit(now_s=51.0, read_through_s=51.0)
    assert site.told[-1].sealed_through == 2
    site.commit({0: [1], 4: [2]}, now_s=52.0, read_through_s=52.0)
    site.work(now_s=70.0)
    assert site.told[-1].tally == Tally(too_late=1)


def test_rows_before_the_first_pane_are_not_too_late_but_none_of_the_query_s():
    site = desk(make_query(begin_pane=3))
    batch = QueryBatch(ID, panes=((1, 2), (3, 1)), before_begin=4)
    site.report(BatchReport("hits", (batch,)), now_s=31.0)
    site.work(now_s=45.0)
    assert site.told[-1].tally == Tally(before_begin=6)


def test_of_malformed_lines_a_query_tells_its_own_and_those_that_nobody_read():
    """Not those that another query of the source can't use."""
    site = desk(make_query())
    batch = QueryBatch(ID, malformed=2)
    site.report(BatchReport("hits", (batch,), unparsed=9, skipped_lines=1), now_s=1.0)
    site.report(BatchReport("hits", (), unparsed=5), now_s=2.0)
    site.work(now_s=20.0)
    assert site.told[-1].tally == Tally(unparsed=3)


def test_rows_that_were_committed_just_before_a_seal_are_never_cut():
    site = desk(make_query(lateness_s=30.0))
    site.commit(now_s=51.0, read_through_s=51.0)
    batch = QueryBatch(ID, ((0, 3),))
    site.report(BatchReport("hits", (batch,), read_through_s=52.0), now_s=52.0)
    site.work(now_s=60.0)
    assert all(0 not in one.panes for one in writes_of(site, MakeUpdates))
    assert site.edge.progress()[0].record.sealed_through == 2


def test_a_pane_with_late_rows_is_not_sealed_before_they_are_cut():
    site = desk(make_query(lateness_s=30.0), config=EdgeConfig(late_coalesce_s=5.0))
    site.commit(now_s=11.0, read_through_s=11.0)
    site.commit({0: [1]}, now_s=39.0, read_through_s=39.0)
    site.commit(now_s=42.0, read_through_s=42.0)
    assert site.told[-1].sealed_through <= 0
    site.work(now_s=44.5)
    site.commit(now_s=45.0, read_through_s=45.0)
    assert site.told[-1].sealed_through == 1


# Failures


def failed(first: int, last: int) -> BatchReport:
    batch = QueryBatch(ID, failed="divide by zero", touched=(first, last))
    return BatchReport("hits", (batch,), read_through_s=None)


def test_a_failed_batch_declines_the_panes_it_touched_and_keeps_what_was_there():
    site = desk()
    site.commit({1: [7]}, now_s=11.5)
    site.report(failed(1, 2), now_s=12.0)
    site.commit(now_s=31.0, read_through_s=31.0)
    assert site.told[-1].declined == (Declined(first=1, last=2, reason=Reason.FAILED),)
    assert {s.pane: s.rows for s in site.said} == {0: None, 1: (7,)}


def test_a_query_that_keeps_failing_is_suspended_and_says_so():
    site = desk(config=EdgeConfig(failures_max=2))
    site.commit({1: [7]}, now_s=11.5)
    site.report(failed(1, 1), now_s=12.0)
    site.report(failed(2, 2), now_s=13.0)
    newest = site.told[-1]
    assert newest.status == "suspended"
    assert newest.message == "divide by zero"
    assert newest.sealed_through == FOREVER
    assert newest.declined[-1] == Declined(first=0, last=FOREVER, reason=Reason.FAILED)
    assert writes_of(site, Withdrawn) == [Withdrawn(ID)]
    assert site.notices[-1] == Notice("edge", "suspended", f"{ID}: divide by zero")
    assert panes_of(site.said) == [1], "what was read before is still sent"


def test_what_went_over_its_limit_is_declined_as_such_and_counts_as_a_failure():
    site = desk(config=EdgeConfig(failures_max=2))
    for number in (1, 2):
        batch = QueryBatch(ID, failed=f"{OVER_LIMIT}300 s", touched=(number, number))
        site.report(BatchReport("hits", (batch,), read_through_s=None), now_s=11.0 + number)
    newest = site.told[-1]
    assert newest.status == "suspended"
    assert newest.declined[-1] == Declined(first=0, last=FOREVER, reason=Reason.LIMIT)


def test_a_query_that_is_suspended_for_what_it_costs_says_so_and_sends_what_it_had():
    site = desk()
    site.commit({1: [7]}, now_s=11.5)
    site.edge.suspend(ID, "it ended the JVM")
    site.edge.suspend("other@x#1", "nobody has it")
    site.commit(now_s=12.0)
    newest = site.told[-1]
    assert (newest.status, newest.message) == ("suspended", "it ended the JVM")
    assert newest.declined[-1] == Declined(first=0, last=FOREVER, reason=Reason.LIMIT)
    assert writes_of(site, Withdrawn) == [Withdrawn(ID)]
    assert site.notices[-1] == Notice("edge", "suspended", f"{ID}: it ended the JVM")
    assert panes_of(site.said) == [1]


def test_a_good_batch_ends_a_row_of_failures():
    site = desk(config=EdgeConfig(failures_max=2))
    site.report(failed(1, 1), now_s=12.0)
    site.commit({1: [1]}, now_s=12.5)
    site.report(failed(2, 2), now_s=13.0)
    assert site.told[-1].status == "running"


def test_a_refused_query_is_declined_for_ever():
    site = desk()
    site.edge.install(make_query(counter=2), now_s=1.0, refused="column ip is denied here")
    site.work(now_s=1.0)
    newest = site.told[-1]
    assert (newest.status, newest.message) == ("refused", "column ip is denied here")
    assert newest.first_pane is None
    assert newest.declined == (Declined(first=-FOREVER, last=FOREVER, reason=Reason.REFUSED),)


def test_lost_bytes_damage_the_panes_they_may_touch():
    site = desk()
    site.commit(
        now_s=31.0,
        read_through_s=31.0,
        lost_bytes=10,
        damaged_from_us=5_000_000,
        damaged_to_us=12_000_000,
    )
    assert site.told[-1].damaged == ((0, 1),)
    assert site.told[-1].tally.lost_bytes == 10


def test_nothing_is_closed_while_some_input_cant_be_read():
    """Its records may be of any pane; those of other files say nothing of it."""
    site = desk()
    site.commit({0: [1], 2: [2]}, now_s=31.0, high_time_s=29.0, has_unread=True)
    assert panes_of(site.said) == []
    site.commit(now_s=32.0, read_through_s=32.0)
    assert sorted(panes_of(site.said)) == [0, 1, 2]


def test_what_stays_unreadable_is_not_waited_for_for_ever():
    """One file that nobody may read must not keep all others from the answers."""
    site = desk()
    site.commit({0: [1], 2: [2]}, now_s=31.0, high_time_s=29.0, has_unread=True)
    wait_s = site.config.unread_wait_s
    site.commit(now_s=30.9 + wait_s, has_unread=True)
    assert panes_of(site.said) == []
    site.commit(now_s=31.0 + wait_s, has_unread=True)
    assert (panes_of(site.said), site.told[-1].empty) == ([0], ((1, 1),))
    assert site.told[-1].damaged == ((0, 1),)
    site.commit({3: [3]}, now_s=62.0, read_through_s=62.0)
    assert site.told[-1].damaged == ((0, 1),), "what closes when all can be read is whole"


def test_the_wait_begins_anew_when_all_could_be_read_in_between():
    site = desk()
    site.commit({0: [1]}, now_s=1.0, high_time_s=1.0, has_unread=True)
    site.commit(now_s=2.0, read_through_s=2.0)
    site.commit({1: [2]}, now_s=20.0, high_time_s=19.0, has_unread=True)
    site.commit(now_s=19.0 + site.config.unread_wait_s, has_unread=True)
    assert panes_of(site.said) == []


def test_who_has_read_all_that_can_be_read_does_not_catch_up_for_ever():
    site = SiteDesk(0, [make_query(begin_pane=None)])
    site.commit({0: [1]}, now_s=31.0, high_time_s=9.0, has_unread=True)
    assert site.told[-1].catching_up
    site.commit(now_s=32.0, has_unread=True, is_caught_up=True)
    assert not site.told[-1].catching_up


@pytest.mark.parametrize("is_restarted", [False, True])
def test_lost_bytes_damage_what_was_closed_by_record_times_alone(is_restarted):
    """They were not there at the last read that reached the end; what was closed since, without
    reading them, may lack them."""
    site = desk()
    site.commit({0: [1]}, now_s=12.0, read_through_s=12.0)
    site.commit({1: [2], 2: [3]}, now_s=31.0, high_time_s=29.0)
    assert panes_of(site.said) == [0, 1]
    if is_restarted:
        site.start(now_s=32.0)
    site.commit(now_s=33.0, lost_bytes=10, loss_through=1)
    assert site.told[-1].damaged == ((1, 3),)


def test_a_batch_of_what_may_have_been_read_before_damages_the_panes_of_its_rows():
    site = desk()
    site.commit({0: [1], 1: [2]}, now_s=21.0, read_through_s=21.0)
    site.commit({3: [3]}, now_s=31.0)
    site.disk.store(ID, 1, 4, now_s=31.0)
    again = QueryBatch(ID, ((1, 1),), twice_bytes=7)
    site.report(BatchReport(QUERY.source_name, (again,), read_through_s=31.0), now_s=31.0)
    assert site.told[-1].damaged == ((1, 1),)
    assert site.told[-1].tally.twice_bytes == 7


@pytest.mark.parametrize("records", [[], [7]])
def test_the_close_of_a_damaged_pane_is_told_by_the_state_that_tells_the_damage(records):
    """Were it sent with the rows it could overtake the state, and look exact for a while."""
    site = greeted()
    site.commit(now_s=5.0, lost_bytes=10, damaged_from_us=1_000_000, damaged_to_us=2_000_000)
    site.commit({0: records} if records else None, now_s=11.0, read_through_s=11.0)
    closes = [part.closed_at for said in site.said for part in said.coverage.parts]
    newest = site.told[-1]
    assert newest.damaged == ((0, 0),)
    if records:
        assert (closes, newest.counts) == ([None], ((0, 1),))
    else:
        assert (site.said, newest.empty) == ([], ((0, 0),))


def test_an_empty_close_that_waited_while_its_pane_was_damaged_is_told_by_the_state():
    site = greeted()
    site.room = 0
    site.commit(now_s=11.0, read_through_s=11.0)
    site.commit(now_s=12.0, lost_bytes=10, damaged_from_us=1_000_000, damaged_to_us=2_000_000)
    site.room = 1 << 20
    site.work(now_s=13.0)
    assert site.said == []
    assert site.told[-1].empty == ((0, 0),)


# Sending, lanes and room


def test_the_short_form_is_used_only_once_the_root_knows_this_incarnation():
    site = desk()
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    assert site.take_said()[0].coverage.parts
    site.hear(ack(greet=site.told[-1].number), now_s=12.0)
    site.commit({1: [2]}, now_s=21.0, read_through_s=21.0)
    site.commit(now_s=31.0, read_through_s=31.0)
    first, second = site.take_said()
    assert first.coverage.whole == 1
    assert second.coverage.empty == 1


def test_without_room_updates_wait_and_are_marked_before_they_are_sent():
    site = desk()
    site.room = 0
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    assert site.said == []
    assert writes_of(site, MakeUpdates)[0].sent is False
    site.room = 1000
    site.work(now_s=12.0)
    assert panes_of(site.said) == [0]
    assert site.said[0].lane is Lane.LIVE
    assert writes_of(site, MarkSent) == [MarkSent(ID, ((0, 1, 1),))]


def test_after_an_outage_live_goes_first_and_backlog_follows_oldest_first():
    site = desk(config=EdgeConfig(live_for_s=15.0))
    site.room = 0
    for pane in range(6):
        close_s = PANE_END(pane) + 1.0
        site.commit({pane: [pane]}, now_s=close_s, read_through_s=close_s)
    site.room = 1 << 20
    site.work(now_s=62.0)
    sent = [(summary.pane, summary.lane) for summary in site.said]
    assert sent == [
        (5, Lane.LIVE),
        (0, Lane.BACKLOG),
        (1, Lane.BACKLOG),
        (2, Lane.BACKLOG),
        (3, Lane.BACKLOG),
        (4, Lane.BACKLOG),
    ]


def PANE_END(pane: int) -> float:
    return 10.0 * (pane + 1)


def test_of_a_pane_with_many_updates_only_those_leave_for_which_there_is_room():
    """The rows of a pane may be more than memory should hold; they are read when they leave."""
    room, book = Room(lambda _: 250), PaneBook()
    book.set_updates(3, 6, row_bytes=100)
    book.fresh[3] = Unsent([1, 2, 3, 4, 5, 6], closed_s=0.0)
    assert room.count(ID, book.bytes_of(3, 1)) == 2
    assert book.take_unsent(3, now_s=1.0, count_max=2) == [1, 2]
    assert book.unsent_of(3) == [3, 4, 5, 6]
    assert list(book.flights[3]) == [1, 2]
    assert book.take_unsent(3, now_s=2.0) == [3, 4, 5, 6]
    assert not book.fresh


def test_backlog_is_paced_by_room():
    site = desk(make_query(begin_pane=None), now_s=1000.0)
    site.room = 250
    site.commit({pane: [pane] for pane in range(6)}, now_s=1001.0, high_time_s=61.0)
    assert panes_of(site.said) == [0, 1, 2], "room is asked before each; the last may overshoot"


# Acknowledgements and repair


def sent_once(now_s: float = 11.0) -> SiteDesk:
    site = greeted()
    site.commit({0: [1]}, now_s=now_s, read_through_s=now_s)
    site.take_said()
    return site


def test_an_update_is_sent_once_however_long_nothing_is_heard():
    site = sent_once()
    for now_s in range(12, 500, 7):
        site.work(now_s=float(now_s))
    assert site.said == []


def test_an_update_is_repaired_when_an_acknowledgement_cut_a_life_later_lacks_it():
    site = sent_once()
    site.hear(ack(number=2), now_s=41.0)
    assert site.said == [], "30 s after the sending a copy may still be under way"
    site.hear(ack(number=3, age_s=0.5), now_s=41.4)
    assert site.said == [], "it is 30.4 s later, but was cut 29.9 s after the sending"
    site.hear(ack(number=4), now_s=41.5)
    (spare,) = site.take_said()
    assert spare.lane is Lane.SPARE
    assert spare.rows == (1,)
    assert spare.coverage.parts[0].incarnation == ME


def test_a_repair_waits_a_life_before_it_is_repeated():
    site = sent_once()
    site.hear(ack(number=2), now_s=50.0)
    site.take_said()
    site.hear(ack(number=3), now_s=60.0)
    site.hear(ack(number=4), now_s=79.0)
    assert site.said == []
    site.hear(ack(number=5), now_s=81.0)
    assert panes_of(site.said) == [0]


def test_what_an_acknowledgement_does_not_list_is_not_asked_for():
    site = sent_once()
    site.hear(ack(number=2, listed=((1, FOREVER),)), now_s=100.0)
    assert site.said == []


def test_an_acknowledged_pane_is_marked_and_never_sent_again():
    site = sent_once()
    site.hear(ack(number=2, panes=(PaneHeld(0, 0b1),)), now_s=13.0)
    assert writes_of(site, MarkAcked)[-1].panes == ((0, 0),)
    site.hear(ack(number=3), now_s=100.0)
    assert site.said == []


def test_a_late_update_is_held_only_if_it_is_spelled_out():
    site = sent_once()
    site.commit({0: [2]}, now_s=12.0, read_through_s=12.0)
    site.work(now_s=13.0)
    site.take_said()
    site.hear(ack(number=2, held=((0, 0),)), now_s=60.0)
    (spare,) = site.take_said()
    assert spare.coverage.parts[0].updates == ((2, 2),)
    extra = ExtraHeld(pane=0, ordinal=0, incarnation=ME, updates=((1, 2),))
    site.hear(ack(number=3, panes=(PaneHeld(0, 1),), extra=(extra,)), now_s=61.0)
    assert site.edge.progress()[0].unacked_panes == 0


def test_an_acknowledgement_that_was_overtaken_is_not_heard():
    """Its bit stands for the empty close; the newer one greets a state that counts an update."""
    site = greeted()
    site.commit(now_s=11.0, read_through_s=11.0)
    site.commit({0: [1]}, now_s=12.0, read_through_s=12.0)
    site.work(now_s=13.1)
    site.hear(ack(panes=(PaneHeld(0, 0),), number=3, greet=site.told[-1].number), now_s=14.0)
    site.hear(ack(panes=(PaneHeld(0, 1),), number=2), now_s=15.0)
    assert site.edge.progress()[0].unacked_panes == 1


def test_a_pane_that_is_held_but_not_listed_is_not_asked_for():
    """The root may have the late update: it has only not spelled the pane out this time."""
    site = sent_once()
    site.commit({0: [2]}, now_s=12.0, read_through_s=12.0)
    site.work(now_s=13.0)
    site.take_said()
    site.hear(ack(number=2, held=((0, 0),), listed=((1, FOREVER),)), now_s=60.0)
    assert site.said == []


def test_repairs_are_limited_in_each_tick():
    site = greeted(config=EdgeConfig(spares_per_tick_max=2))
    site.commit({pane: [pane] for pane in range(5)}, now_s=51.0, read_through_s=51.0)
    site.take_said()
    site.edge.receive_ack(ack(number=2), now_s=100.0)
    site.edge.tick(now_s=100.0, room=lambda _: 1 << 20)
    sends = [output for output in site.edge.take() if hasattr(output, "lane")]
    assert [send.pane for send in sends] == [0, 1]


def test_a_lost_empty_close_is_repaired_too():
    site = greeted()
    site.commit(now_s=11.0, read_through_s=11.0)
    site.take_said()
    site.hear(ack(number=2), now_s=50.0)
    (spare,) = site.take_said()
    assert spare.lane is Lane.SPARE
    assert spare.coverage.parts[0].closed_at == 0


def test_below_done_through_everything_is_forgotten():
    site = greeted()
    site.commit({0: [1]}, now_s=111.0, read_through_s=111.0)
    assert site.told[-1].empty == ((1, 10),)
    site.hear(ack(number=2, done_through=5), now_s=112.0)
    assert writes_of(site, MarkAcked)[-1].done_through == 5
    assert site.disk.records[ID].empty == ((5, 10),)
    site.hear(ack(number=3, done_through=5), now_s=500.0)
    assert 0 not in panes_of(site.said[1:])


def test_a_state_is_repeated_until_its_number_is_greeted():
    site = desk()
    assert [told.number for told in site.take_told()] == [1]
    site.work(now_s=4.9)
    assert site.take_told() == []
    site.work(now_s=5.0)
    assert [told.number for told in site.take_told()] == [1]
    site.hear(ack(greet=1), now_s=6.0)
    site.work(now_s=50.0)
    assert site.take_told() == []


def test_a_state_is_remembered_before_it_is_told():
    site = desk()
    assert isinstance(site.writes[0], Remember)
    assert site.writes[0].record.state_number == 1


def test_a_site_that_is_covered_by_an_update_it_never_cut_raises_an_alarm():
    site = greeted()
    site.hear(ack(number=2, panes=(PaneHeld(7, 0b1),)), now_s=12.0)
    assert site.notices[-1].kind == "alarm"
    assert "pane 7" in site.notices[-1].text


def test_a_late_update_that_was_never_cut_raises_an_alarm():
    site = sent_once()
    extra = ExtraHeld(pane=0, ordinal=0, incarnation=ME, updates=((1, 2),))
    site.hear(ack(number=2, panes=(PaneHeld(0, 1),), extra=(extra,)), now_s=12.0)
    assert site.notices[-1].kind == "alarm"


def test_true_acknowledgements_raise_no_alarm():
    site = sent_once()
    site.hear(ack(number=2, held=((0, 0),)), now_s=12.0)
    assert site.notices == []


# Roots that begin anew


def test_when_the_root_begins_anew_all_that_it_lacks_is_sent_again():
    site = greeted()
    site.commit({0: [1], 2: [3]}, now_s=31.0, read_through_s=31.0)
    site.hear(ack(number=2, held=((0, 2),), greet=1), now_s=32.0)
    site.take_said()
    site.take_told()
    site.hear(ack(root_incarnation=ROOT + 1, number=1, held=((2, 2),)), now_s=33.0)
    assert [(s.pane, s.lane) for s in site.take_said()] == [(0, Lane.SPARE)]
    assert site.told[-1].empty == ((1, 1),), "empty closes are told by the state"
    assert not site.edge.progress()[0].repairs


def test_acknowledgements_of_an_older_root_are_not_heard():
    site = sent_once()
    site.hear(ack(root_incarnation=ROOT + 1, panes=(PaneHeld(0, 1),)), now_s=12.0)
    site.hear(ack(root_incarnation=ROOT, number=9), now_s=90.0)
    assert site.said == []


def test_what_an_older_root_was_done_with_is_declined_to_a_new_one():
    site = greeted()
    site.commit({0: [1], 1: [2]}, now_s=21.0, read_through_s=21.0)
    site.hear(ack(number=2, held=((0, 1),), done_through=1), now_s=22.0)
    site.take_said()
    site.hear(ack(root_incarnation=ROOT + 1, number=1), now_s=23.0)
    assert site.told[-1].declined == (Declined(first=0, last=0, reason=Reason.EXPIRED),)
    assert panes_of(site.take_said()) == [1]


# Restarts


def test_after_a_restart_sent_updates_are_spares_and_unsent_ones_are_backlog():
    site = greeted()
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.room = 0
    site.commit({1: [2]}, now_s=21.0, read_through_s=21.0)
    site.take_said()
    site.room = 1 << 20
    site.start(now_s=25.0)
    assert [(s.pane, s.lane) for s in site.take_said()] == [(1, Lane.BACKLOG)]
    site.hear(ack(number=2), now_s=54.0)
    assert site.said == [], "what was marked as sent may have left just before the restart"
    site.hear(ack(number=3), now_s=56.0)
    assert [(s.pane, s.lane) for s in site.take_said()] == [(0, Lane.SPARE), (1, Lane.SPARE)]


def test_a_restart_brings_back_waiting_rows_numbers_and_declines():
    site = greeted()
    site.report(failed(4, 4), now_s=9.0)
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.commit({0: [2], 1: [3]}, now_s=11.5)
    before = site.told[-1].number
    site.start(now_s=12.0)
    newest = site.told[-1]
    assert newest.number > before
    assert newest.declined == (Declined(first=4, last=4, reason=Reason.FAILED),)
    site.work(now_s=13.5)
    site.commit(now_s=21.0, read_through_s=21.0)
    rows = {(s.pane, s.coverage.parts[0].updates): s.rows for s in site.said if s.coverage.parts}
    assert rows[0, ((2, 2),)] == (2,)
    assert rows[1, ((1, 1),)] == (3,)


def test_empty_closes_of_a_former_process_that_the_root_lacks_are_told():
    site = greeted()
    site.commit(now_s=31.0, read_through_s=31.0)
    site.take_said()
    site.start(now_s=40.0)
    site.hear(ack(number=2, panes=(PaneHeld(1, 1),)), now_s=71.0)
    assert site.told[-1].empty == ((0, 0), (2, 2))
    assert site.said == []


def test_a_query_that_was_removed_while_the_site_was_down_is_forgotten():
    site = greeted()
    site.queries = {}
    site.start(now_s=5.0)
    assert site.disk.records == {}


# Retention


def test_panes_that_nobody_acknowledged_in_time_are_declined_and_dropped():
    site = greeted(retention_s=100.0)
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.work(now_s=112.0)
    assert writes_of(site, Expire)[-1].panes == (0,)
    assert site.told[-1].declined == (Declined(first=0, last=0, reason=Reason.EXPIRED),)
    assert 0 not in site.disk.panes[ID]


def test_acknowledged_panes_do_not_expire():
    site = greeted(retention_s=100.0)
    site.commit({0: [1]}, now_s=11.0, read_through_s=11.0)
    site.hear(ack(number=2, held=((0, 0),)), now_s=12.0)
    site.work(now_s=500.0)
    assert writes_of(site, Expire) == []


def test_a_pane_whose_rows_are_gone_is_declined_instead_of_sent():
    site = sent_once()
    del site.disk.panes[ID][0]
    site.hear(ack(number=2), now_s=90.0)
    assert site.said == []
    assert site.told[-1].declined == (Declined(first=0, last=0, reason=Reason.EXPIRED),)


def test_the_number_of_unacknowledged_panes_is_limited():
    site = greeted(config=EdgeConfig(panes_waiting_max=3))
    site.commit({pane: [pane] for pane in range(5)}, now_s=51.0, read_through_s=51.0)
    site.work(now_s=52.0)
    assert writes_of(site, Expire)[-1].panes == (0, 1)


def test_removal_forgets_everything():
    site = sent_once()
    site.edge.remove(ID)
    site.work(now_s=12.0)
    assert site.disk.records == {}
    assert site.edge.progress() == ()


@pytest.mark.parametrize("name", ["live_for_s", "panes_per_cut_max"])
def test_a_configuration_without_limits_is_refused(name):
    with pytest.raises(Exception, match=name):
        EdgeConfig(**{name: 0})
