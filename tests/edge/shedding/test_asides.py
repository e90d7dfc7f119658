"""What was set aside for a query is deferred, read later, and then exact; or it is declined.

Panes of ten seconds, disorder 1 s; the deadline is ten seconds after a window's end.
"""

from __future__ import annotations

import msgspec
from pane_kit import SiteDesk, make_query

from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.record import EdgeRecord, SetAside
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.query import Query, Shed
from headwater.plan.readings import aside_reading

QUERY = msgspec.structs.replace(make_query(lateness_s=20.0), shed=Shed.DEFER)
ID = str(QUERY.id)
ONE, TWO = (aside_reading("hits", number) for number in (5, 9))


def desk(query: Query = QUERY, **options) -> SiteDesk:
    site = SiteDesk(0, [query], now_s=0.0, **options)
    greeting = Greeting(ordinal=0, incarnation=site.disk.incarnation, number=site.told[-1].number)
    head = Acknowledgement(
        query=ID, root_incarnation=50, number=1, done_through=-FOREVER, held=(), listed=()
    )
    site.hear(with_leaves(head, greetings=(greeting,)), now_s=0.1)
    return site


def record(site: SiteDesk) -> EdgeRecord:
    return site.edge.progress()[0].record


def set_aside(site: SiteDesk, reading: str, first: int, last: int, *, now_s: float) -> None:
    site.edge.shedding.hear(ID, SetAside(reading, first, last), now_s=now_s)
    site.work(now_s=now_s)


def read_aside(site: SiteDesk, reading: str, records, *, now_s: float, ended: bool = True) -> None:
    site.commit(records, now_s=now_s, source=reading, ended=ended)


def said(site: SiteDesk) -> dict[int, tuple[int, ...]]:
    return {summary.pane: summary.rows for summary in site.take_said() if summary.rows}


def test_a_pane_that_is_shed_is_closed_deferred_and_not_sent_and_the_next_one_is() -> None:
    site = desk()
    site.commit({0: [1], 1: [2]}, now_s=14.0, high_time_s=12.5)
    assert said(site) == {0: (1,)}
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=35.0, high_time_s=33.0)
    assert record(site).closed_through == 3
    assert record(site).deferred == ((1, 2),)
    assert said(site) == {}, "what was read of pane 1 waits for the rest of it"
    site.commit({3: [4]}, now_s=42.0, read_through_s=42.0)
    assert said(site) == {3: (3, 4)}
    assert site.told[-1].deferred == ((1, 2),)
    assert site.told[-1].declined == ()


def test_when_it_has_been_read_each_record_is_sent_once_and_all_can_be_sealed() -> None:
    site = desk()
    site.commit({0: [1], 1: [2]}, now_s=14.0, high_time_s=12.5)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    said(site)
    read_aside(site, ONE, {1: [5], 2: [6]}, now_s=50.0, ended=False)
    assert said(site) == {}, "it has not been read to its end"
    read_aside(site, ONE, {2: [7]}, now_s=51.0)
    assert record(site).set_aside == ()
    lanes = {summary.pane: summary.lane for summary in site.said}
    assert said(site) == {1: (2, 5), 2: (6, 7)}
    assert set(lanes.values()) == {Lane.BACKLOG}
    assert record(site).deferred == ()
    site.commit(now_s=200.0, read_through_s=200.0)
    assert record(site).sealed_through == 18


def test_nothing_is_sealed_while_it_stands_and_lateness_counts_from_its_end() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit(now_s=300.0, read_through_s=300.0)
    assert record(site).sealed_through == -FOREVER
    read_aside(site, ONE, {1: [5]}, now_s=301.0)
    site.commit(now_s=310.0, read_through_s=310.0)
    assert record(site).sealed_through <= 1
    site.commit({1: [6]}, now_s=312.0)
    site.commit(now_s=400.0, read_through_s=400.0)
    assert said(site)[1] == (6,), "a late record of it counts"
    assert record(site).sealed_through == 38


def test_an_empty_pane_that_was_shed_is_closed_empty() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    site.take_said()
    read_aside(site, ONE, {1: [5]}, now_s=51.0)
    assert {one.pane: one.rows for one in site.take_said()} == {1: (5,), 2: None}


def test_a_pane_that_two_stretches_touch_waits_for_both() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    set_aside(site, TWO, 2, 3, now_s=25.0)
    site.commit(now_s=62.0, read_through_s=62.0)
    site.take_said()
    read_aside(site, TWO, {2: [1], 3: [2]}, now_s=70.0)
    assert said(site) == {3: (2,)}
    read_aside(site, ONE, {1: [3], 2: [4]}, now_s=71.0)
    assert said(site) == {1: (3,), 2: (1, 4)}


def test_a_stretch_that_grows_has_more_panes_and_is_one() -> None:
    site = desk()
    set_aside(site, ONE, 1, 1, now_s=15.0)
    set_aside(site, ONE, 2, 3, now_s=25.0)
    assert record(site).set_aside == (SetAside(ONE, 1, 3),)


def test_a_restart_knows_what_is_aside_and_is_not_told_of_what_is_over() -> None:
    site = desk()
    site.commit({1: [2]}, now_s=14.0, high_time_s=12.5)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    said(site)
    site.start(now_s=43.0)
    assert said(site) == {}
    set_aside(site, ONE, 1, 2, now_s=43.1)
    read_aside(site, ONE, {1: [5]}, now_s=50.0)
    assert said(site)[1] == (2, 5)
    site.start(now_s=51.0)
    set_aside(site, ONE, 1, 2, now_s=51.1)
    assert record(site).set_aside == (), "it is over"


def test_what_nobody_had_written_before_a_crash_is_told_again() -> None:
    site = desk()
    site.start(now_s=16.0)
    set_aside(site, ONE, 1, 2, now_s=16.1)
    site.commit(now_s=200.0, read_through_s=200.0)
    assert record(site).deferred == ((1, 2),)


def test_with_decline_it_is_given_up_at_once_and_nothing_of_it_is_sent() -> None:
    site = desk(msgspec.structs.replace(QUERY, shed=Shed.DECLINE))
    site.commit({0: [1], 1: [2]}, now_s=14.0, high_time_s=12.5)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    assert record(site).set_aside == ()
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    assert said(site) == {0: (1,), 3: (3,)}
    assert site.told[-1].declined == (Declined(1, 2, Reason.SHED),)
    assert record(site).deferred == ()


def test_what_grows_after_it_is_over_is_news_and_told_twice_it_is_not() -> None:
    for shed in Shed.DEFER, Shed.DECLINE:
        site = desk(msgspec.structs.replace(QUERY, shed=shed))
        for last, cut in (2, 7), (2, 7), (4, 9), (4, 9):
            site.edge.shedding.hear(ID, SetAside(ONE, 1, last, 100, cut), now_s=15.0)
            if shed is Shed.DEFER and cut == 7:
                read_aside(site, ONE, {}, now_s=15.0)
        site.commit(now_s=62.0, read_through_s=62.0)
        if shed is Shed.DEFER:
            assert record(site).deferred == ((1, 4),)
            assert [one.through_cut for one in record(site).set_aside] == [9]
        else:
            assert site.told[-1].declined == (Declined(1, 4, Reason.SHED),)
            assert record(site).tally.lost_bytes == 200


def test_of_a_query_that_is_suspended_nothing_waits_to_be_read() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    assert record(site).deferred == ((1, 2),)
    site.edge.suspend(ID, "takes too much")
    site.work(now_s=43.0)
    assert (record(site).set_aside, record(site).deferred) == ((), ())
    declined = {(one.first, one.last, one.reason) for one in site.told[-1].declined}
    assert (1, 2, Reason.SHED) in declined
    assert any(first <= 5 and last == FOREVER for first, last, _ in declined)


def test_what_there_is_no_room_for_is_declined_and_what_was_sent_is_not() -> None:
    site = desk()
    site.commit({0: [1], 1: [2]}, now_s=14.0, high_time_s=12.5)
    set_aside(site, ONE, 0, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    site.edge.shedding.give_up(ONE, now_s=50.0)
    site.work(now_s=50.0)
    assert (record(site).set_aside, record(site).deferred) == ((), ())
    assert site.told[-1].declined == (Declined(1, 2, Reason.SHED),)


def test_beyond_its_retention_it_is_declined_and_forgotten() -> None:
    site = desk(retention_s=100.0)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    site.work(now_s=200.0)
    site.commit(now_s=200.0, read_through_s=200.0)
    assert Declined(0, 3, Reason.EXPIRED) in record(site).declined, "nobody has acknowledged any"
    assert record(site).set_aside == ()


def test_its_retention_counts_after_a_restart_too_where_nothing_of_it_was_read() -> None:
    site = desk(retention_s=100.0)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    site.start(now_s=50.0)
    site.work(now_s=149.0)
    assert record(site).deferred == ((1, 2),)
    site.work(now_s=151.0)
    site.commit(now_s=152.0, read_through_s=152.0)
    assert (record(site).set_aside, record(site).deferred) == ((), ())
    assert site.told[-1].declined


def test_of_a_pane_that_was_given_up_nothing_leaves_later_either() -> None:
    site = desk(msgspec.structs.replace(QUERY, shed=Shed.DECLINE))
    site.commit({0: [1], 1: [2]}, now_s=14.0, high_time_s=12.5)
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({1: [5], 3: [3]}, now_s=42.0, read_through_s=42.0)
    site.commit({2: [6]}, now_s=44.0, read_through_s=44.0)
    site.work(now_s=60.0)
    assert said(site) == {0: (1,), 3: (3,)}
    site.start(now_s=61.0)
    site.work(now_s=80.0)
    assert not {1, 2} & set(said(site))


def test_a_batch_that_fails_and_touches_nobody_knows_what_declines_its_panes() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    failed = QueryBatch(ID, failed="division by zero", failure=1)
    site.report(BatchReport(ONE, (failed,), ended=True), now_s=50.0)
    assert site.told[-1].declined == (Declined(1, 2, Reason.FAILED),)


def test_lost_bytes_of_it_damage_its_panes_alone() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({3: [3]}, now_s=42.0, read_through_s=42.0)
    site.commit({1: [4]}, now_s=50.0, source=ONE, lost_bytes=10, loss_through=3, ended=True)
    assert record(site).damaged == ((1, 2),)
    assert record(site).tally.lost_bytes == 10


def test_a_loss_that_is_told_again_after_a_restart_is_counted_once() -> None:
    site = desk()
    set_aside(site, ONE, 1, 2, now_s=15.0)
    site.commit({1: [4]}, now_s=50.0, source=ONE, lost_bytes=10, loss_through=3)
    site.start(now_s=60.0)
    set_aside(site, ONE, 1, 2, now_s=60.1)
    site.commit({1: [5]}, now_s=61.0, source=ONE, lost_bytes=10, loss_through=3)
    assert record(site).tally.lost_bytes == 10
    site.commit({2: [6]}, now_s=62.0, source=ONE, lost_bytes=5, loss_through=4, ended=True)
    assert record(site).tally.lost_bytes == 15


def test_what_is_given_up_is_counted_in_bytes() -> None:
    site = desk(msgspec.structs.replace(QUERY, shed=Shed.DECLINE))
    site.edge.shedding.hear(ID, SetAside(ONE, 1, 2, 700), now_s=15.0)
    assert record(site).tally.lost_bytes == 700
    site = desk()
    site.edge.shedding.hear(ID, SetAside(ONE, 1, 2, 700), now_s=15.0)
    assert record(site).tally.lost_bytes == 0
    site.edge.shedding.give_up(ONE, now_s=15.0)
    assert record(site).tally.lost_bytes == 700
