"""*Sequence windows* at a site: numbers close its panes, and no clock does.

Panes of ten numbers; a pane closes when a number 5 beyond its end was read, and is sealed 20 later.
"""

from __future__ import annotations

import msgspec
from pane_kit import SiteDesk, make_query

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.record import EdgeRecord
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.query import Query

GRID = SequenceGrid("lsn", disorder=5, lateness=20)


def query_of(grid: SequenceGrid = GRID, *, begin_pane: int | None = 0) -> Query:
    query = make_query(begin_pane=begin_pane, disorder_s=0.0)
    query = msgspec.structs.replace(query, window=WindowSpec(10, 10), sequence=grid)
    if begin_pane is None:
        return query
    return msgspec.structs.replace(query, reads_past=True)


NOW = query_of(SequenceGrid("lsn", disorder=5, lateness=20, from_now=True), begin_pane=None)


def desk(query: Query = NOW) -> SiteDesk:
    return SiteDesk(0, [query], now_s=105.0)


def record(site: SiteDesk) -> EdgeRecord:
    return site.edge.progress()[0].record


def panes_of(site: SiteDesk) -> list[int]:
    return [summary.pane for summary in site.said if summary.rows]


def read(site: SiteDesk, now_s: float, records: dict[int, list[int]] | None = None, **more) -> None:
    site.commit(records, now_s=now_s, read_through_s=now_s, **more)


def begun() -> SiteDesk:
    """It has read a number of pane 0, and begins with the first pane that it reads wholly."""
    site = desk()
    read(site, 110.0, {0: [1]})
    return site


def test_from_now_on_a_site_begins_with_the_first_pane_that_it_reads_wholly() -> None:
    site = begun()
    assert record(site).first_pane == 4, "numbers up to 9 + 5 + 20 may have been there before"
    assert record(site).declined[0].reason is Reason.NOT_INSTALLED
    read(site, 120.0, {2: [2], 4: [3]})
    assert record(site).tally.before_begin == 1
    assert panes_of(site) == []


def test_a_number_closes_what_lies_before_it_less_the_disorder() -> None:
    site = begun()
    read(site, 120.0, {4: [2]})
    read(site, 121.0, {5: [3]})
    assert panes_of(site) == [], "a number of pane 5 may be its first"
    read(site, 122.0, {6: [4]})
    assert panes_of(site) == [4]
    assert record(site).closed_through == 5


def test_no_clock_closes_a_pane_of_a_quiet_site() -> None:
    site = begun()
    read(site, 120.0, {4: [2], 5: [3]})
    for now_s in (200.0, 2_000.0, 2_000_000.0):
        read(site, now_s)
    assert panes_of(site) == []
    assert record(site).sealed_through == -FOREVER


def test_a_number_below_a_sealed_pane_is_too_late_and_counted() -> None:
    site = begun()
    read(site, 120.0, {4: [2], 5: [3], 9: [4]})
    read(site, 130.0)
    assert record(site).sealed_through == 6
    read(site, 140.0, {5: [5], 7: [6]})
    site.work(now_s=160.0)
    assert record(site).tally.too_late == 1
    assert panes_of(site) == [4, 5, 7], "and one that is not sealed comes as a late update"


def test_nothing_is_sealed_while_the_site_is_behind() -> None:
    site = begun()
    site.commit({4: [2], 9: [4]}, now_s=120.0, read_through_s=None)
    assert panes_of(site) == [4]
    assert record(site).sealed_through == -FOREVER


def test_what_was_lost_damages_the_panes_up_to_the_next_number() -> None:
    site = begun()
    read(site, 120.0, {4: [2], 5: [3]})
    read(site, 121.0, lost_bytes=100)
    read(site, 122.0, {8: [4]})
    assert record(site).damaged == ((4, 9),), "the lost ones may be ahead by the disorder"
    read(site, 123.0, {11: [5]})
    assert record(site).damaged == ((4, 9),), "and what comes behind is whole again"


def test_a_failed_batch_gives_up_the_panes_up_to_the_next_number() -> None:
    site = begun()
    read(site, 120.0, {4: [2], 5: [3]})
    failed = QueryBatch(str(NOW.id), failed="division by zero")
    site.report(BatchReport(NOW.source_name, (failed,)), now_s=121.0)
    read(site, 122.0, {8: [4]})
    assert record(site).declined[-1] == Declined(first=4, last=9, reason=Reason.FAILED)


def test_a_restart_knows_by_its_rows_how_far_numbers_were_read() -> None:
    site = begun()
    read(site, 120.0, {4: [2]})
    site.disk.store(str(NOW.id), 8, 3, now_s=120.0)
    site.start(now_s=500.0)
    site.work(now_s=500.0)
    assert panes_of(site) == [4], "the batch was committed before the crash"


def test_a_begin_that_records_lie_before_is_read_wholly() -> None:
    site = desk(query_of(begin_pane=2))
    past = record(site).past
    site.report(BatchReport(past, (QueryBatch(str(NOW.id), before_begin=3),)), now_s=120.0)
    site.commit({2: [1]}, now_s=120.0, source=past)
    assert record(site).first_pane == 2
    site.commit({4: [2]}, now_s=121.0, source=past)
    assert panes_of(site) == [2], "the past closes panes while it is read"
    site.commit({5: [3]}, now_s=122.0, source=past, ended=True)
    read(site, 123.0)
    assert (record(site).past, panes_of(site)) == ("", [2])


def test_what_files_no_longer_hold_before_a_begin_is_declined() -> None:
    site = desk(query_of(begin_pane=2))
    site.commit({7: [1]}, now_s=120.0, source=record(site).past)
    assert record(site).first_pane == 11
    assert record(site).declined == (Declined(first=2, last=10, reason=Reason.NOT_RETAINED),)
