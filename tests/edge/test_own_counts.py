"""Windows of what a site has read: its own count closes and seals its panes, and no clock does.

Panes of ten records::

    read      0 ········ 10 ········ 20 ········
    panes     |    0    |     1     |     2
                  ^ 7 read: nothing is closed
                         ^ 10 read: pane 0 is closed, whatever WHERE kept of it
"""

from __future__ import annotations

import msgspec
from pane_kit import SiteDesk, make_query

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import ROW, SequenceGrid
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.edge.record import EdgeRecord
from headwater.edge.report import BatchReport, QueryBatch
from headwater.plan.query import Query

QUERY: Query = msgspec.structs.replace(
    make_query(begin_pane=0, disorder_s=0.0), window=WindowSpec(10, 10), sequence=SequenceGrid(ROW)
)


def desk() -> SiteDesk:
    return SiteDesk(0, [QUERY], now_s=1_000_000.0)


def record(site: SiteDesk) -> EdgeRecord:
    return site.edge.progress()[0].record


def read(
    site: SiteDesk,
    through: int,
    panes: dict[int, list[int]] | None = None,
    *,
    now_s: float,
    **more: object,
) -> None:
    """A batch after which so many records were read, with those that WHERE keeps by pane."""
    name = str(QUERY.id)
    for pane, numbers in (panes or {}).items():
        for number in numbers:
            site.disk.store(name, pane, number, now_s=now_s)
    counts = tuple((pane, len(numbers)) for pane, numbers in (panes or {}).items())
    batch = QueryBatch(name, counts, counted_through=through)
    report = BatchReport(QUERY.source_name, (batch,), read_through_s=now_s, **more)  # type: ignore[arg-type]
    site.report(report, now_s=now_s)


def panes_of(site: SiteDesk) -> list[int]:
    return [summary.pane for summary in site.said if summary.rows]


def test_a_site_begins_to_count_with_its_first_record_however_late_it_is() -> None:
    site = desk()
    assert (record(site).first_pane, record(site).declined) == (0, ())


def test_a_pane_closes_when_its_last_record_was_read_and_not_before() -> None:
    site = desk()
    read(site, 9, {0: [1, 2]}, now_s=1_000_010.0)
    assert panes_of(site) == []
    read(site, 10, {0: [3]}, now_s=1_000_011.0)
    assert panes_of(site) == [0]
    assert (record(site).closed_through, record(site).sealed_through) == (1, 1)


def test_records_that_where_drops_close_panes_too() -> None:
    site = desk()
    read(site, 5, {0: [1]}, now_s=1_000_010.0)
    read(site, 37, now_s=1_000_011.0)
    assert panes_of(site) == [0]
    assert record(site).closed_through == 3, "panes 1 and 2 are empty"


def test_no_clock_closes_a_pane_of_a_quiet_site() -> None:
    site = desk()
    read(site, 9, {0: [1]}, now_s=1_000_010.0)
    for now_s in (1_000_100.0, 2_000_000.0):
        site.report(BatchReport(QUERY.source_name, read_through_s=now_s), now_s=now_s)
    assert panes_of(site) == []
    assert record(site).sealed_through == -FOREVER


def test_what_was_lost_damages_the_pane_that_it_would_have_been_in() -> None:
    site = desk()
    read(site, 15, {0: [1], 1: [2]}, now_s=1_000_010.0)
    lost = BatchReport(QUERY.source_name, read_through_s=1_000_011.0, lost_bytes=100)
    site.report(lost, now_s=1_000_011.0)
    read(site, 18, {1: [3]}, now_s=1_000_012.0)
    read(site, 40, {2: [4], 3: [5]}, now_s=1_000_013.0)
    assert record(site).damaged == ((1, 1),)


def test_a_failed_batch_counts_nothing_and_gives_up_the_pane_that_is_open() -> None:
    site = desk()
    read(site, 15, {0: [1], 1: [2]}, now_s=1_000_010.0)
    failed = QueryBatch(str(QUERY.id), failed="division by zero")
    site.report(BatchReport(QUERY.source_name, (failed,)), now_s=1_000_011.0)
    read(site, 25, {1: [3], 2: [4]}, now_s=1_000_012.0)
    assert record(site).declined == (Declined(first=1, last=2, reason=Reason.FAILED),)
    read(site, 40, {3: [5]}, now_s=1_000_013.0)
    assert record(site).declined[-1].last == 2


def test_a_restart_knows_by_the_cube_how_far_was_counted() -> None:
    site = desk()
    read(site, 7, {0: [1]}, now_s=1_000_010.0)
    name = str(QUERY.id)
    kept = site.disk.records[name]
    site.disk.records[name] = msgspec.structs.replace(kept, counted=12)
    site.start(now_s=1_000_100.0)
    site.report(BatchReport(QUERY.source_name, read_through_s=1_000_101.0), now_s=1_000_101.0)
    assert panes_of(site) == [0], "the batch was committed before the crash"


def test_a_site_that_had_another_cube_goes_on_behind_what_the_root_may_hold_of_it() -> None:
    site = desk()
    name = str(QUERY.id)
    site.edge._edges[name].state.change(0, awaits_greeting=True)
    read(site, 25, {0: [1], 2: [2]}, now_s=1_000_010.0)
    assert panes_of(site) == [], "nothing is closed before the root has spoken"
    greeting = Greeting(0, 1000, 1, former_through=7)
    head = Acknowledgement(name, root_incarnation=50, number=1, done_through=-FOREVER)
    site.hear(with_leaves(head, greetings=[greeting]), now_s=1_000_011.0)
    assert record(site).first_pane == 7
    assert record(site).declined == (Declined(first=0, last=6, reason=Reason.LOST),)
    read(site, 85, {7: [3], 8: [4]}, now_s=1_000_012.0)
    assert panes_of(site)[-1] == 7, "what came before is of declined panes"
    assert record(site).closed_through == 8
