"""The time-space list by itself: what meets, what leaves, what it costs."""

from functools import reduce
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pytest

from headwater.algebra.coverage import COVERAGE_GROUPS_MAX, Coverage
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.update_proof import UpdateProof
from headwater.overlay.carry.time_space_list import TIMERS_SPARE, TimeSpaceList
from headwater.overlay.commands.live_query import LiveQuery, TreeSet
from headwater.overlay.config import OverlayConfig
from headwater.overlay.tray import Tray
from headwater.overlay.ways.staged_policy import Hop
from headwater.overlay.ways.tree_place import TreePlace


class Bench:
    """A list with a query whose subtree is sites 0 … 99, and a way that can be closed."""

    def __init__(self, merger, *, time_s=float("inf"), sends_early=False, **config):
        self.calls = []
        bench = self

        class Counting(type(merger)):
            def merge(self, parts):
                bench.calls.append(len(parts))
                return super().merge(parts)

        place = TreePlace("parent", (), level=1, awaited=(1 << 100) - 1, patience=0.5)
        plan = TreeSet(0, (), (place,))
        sites = (1 << 100) - 1
        self.query = LiveQuery(
            "q@a#1", "a", False, (plan,), sites, Counting(), time_s=time_s, sends_early=sends_early
        )
        self.is_open, self.is_behind = True, False
        self.tray = Tray(notice_every_s=0.0)
        self.list = TimeSpaceList(
            OverlayConfig(**config), self, self.tray, is_behind=lambda now_s: self.is_behind
        )

    def next_hop(self, _, route, __, *, now_s):
        return Hop("parent", route, "same tree") if self.is_open else None

    def insert(self, site, pane=0, *, now_s=0.0, lane=Lane.LIVE):
        summary = Summary(
            query="q@a#1", pane=pane, coverage=Coverage.of_whole(site, 7), rows=(site,), lane=lane
        )
        left = self.list.insert(summary, self.query, birth_s=now_s, now_s=now_s)
        return [summary for _, summary in left]

    def tick(self, now_s):
        return [summary for _, summary in self.list.tick(now_s=now_s)]

    def take_notices(self):
        return [(notice.kind, notice.text) for notice in self.tray.take()]


@pytest.fixture
def make_bench(overlay):
    return lambda **config: Bench(overlay.NumbersMerger(), **config)


def grouped(bench, sites, update, *, now_s=0.0, closed_at=2, rows=None):
    """Sites of which this update is in, as a relay below has merged it; what leaves."""
    each = (
        Coverage.of_group(site, 7, updates=((update, update),), closed_at=closed_at)
        for site in sites
    )
    summary = Summary(
        query="q@a#1",
        pane=0,
        coverage=reduce(Coverage.merge, each),
        rows=tuple(10 * site + update for site in sites),
    )
    left = bench.list.insert(summary, bench.query, birth_s=now_s, now_s=now_s)
    return [summary for _, summary in left]


def leaving(bench):
    """What leaves when holds are over: (updates, sites) of groups, and rows."""
    left = []
    while bench.list.next_deadline_s() < float("inf"):
        left += bench.tick(bench.list.next_deadline_s())
    assert (len(bench.list), bench.list.size_bytes) == (0, 0)
    return [([(g.updates, g.sites) for g in one.coverage.groups], one.rows) for one in left]


def test_entries_with_other_updates_of_the_same_sites_leave_as_one(make_bench):
    bench = make_bench()
    for site in (1, 2, 3):
        for update in (1, 2, 3):
            assert grouped(bench, [site], update, closed_at=3) == []
    assert len(bench.list) == 3
    assert leaving(bench) == [([(((1, 3),), 0b1110)], (11, 12, 13, 21, 22, 23, 31, 32, 33))]
    assert bench.calls == [9]


def test_an_early_update_that_waits_for_a_way_leaves_with_the_close(make_bench):
    bench = make_bench()
    bench.is_open = False
    grouped(bench, [1, 2], 1, closed_at=None)
    assert bench.tick(bench.list.next_deadline_s()) == []
    grouped(bench, [1, 2], 2, now_s=1.0)
    bench.is_open = True
    left = [summary for _, summary in bench.list.way_opened(now_s=1.1)]
    assert [(g.updates, g.closed_at) for g in left[0].coverage.groups] == [(((1, 2),), 2)]
    assert len(left) == 1
    assert left[0].rows == (11, 12, 21, 22)
    assert left[0].age_s == pytest.approx(1.1)


def test_early_updates_meet_each_other_and_never_a_close(make_bench):
    """One that met a close would be held as long as that is, or let it go too soon."""
    bench = make_bench(sends_early=True)
    grouped(bench, [1], 1, closed_at=None)
    grouped(bench, [2], 1, closed_at=None)
    assert len(bench.list) == 1
    grouped(bench, [3], 1, closed_at=1)
    grouped(bench, [4], 2, closed_at=2)
    assert len(bench.list) == 2
    left = leaving(bench)
    assert sorted(rows for _, rows in left) == [(11, 21), (31, 42)]


def test_nobody_learns_from_early_updates_how_long_to_wait(make_bench):
    """They leave long before the close, and their panes would seem to take as long as that."""
    estimates = []
    for is_early in (False, True):
        bench = make_bench(sends_early=True)
        for pane in range(40):
            if is_early:
                early = Coverage.of_group(1, 7, updates=((1, 1),), closed_at=None)
                summary = Summary(query="q@a#1", pane=pane, coverage=early, rows=(1,))
                bench.list.insert(summary, bench.query, birth_s=10.0 * pane, now_s=10.0 * pane)
            for site, after_s in ((2, 4.0), (3, 4.1)):
                bench.insert(site, pane, now_s=10.0 * pane + after_s)
            bench.tick(10.0 * pane + 9.0)
        (net_dist,) = bench.list._times._net_dists["q@a#1"].values()
        estimates.append(net_dist.estimate_s)
    assert estimates[0] == pytest.approx(estimates[1])


def test_two_that_wait_for_a_way_leave_as_one(make_bench):
    bench = make_bench()
    bench.is_open = False
    for update in (1, 2):
        grouped(bench, [1, 2], update)
    assert bench.tick(5.0) == []
    bench.is_open = True
    left = [summary.rows for _, summary in bench.list.way_opened(now_s=1.1)]
    assert left == [(11, 12, 21, 22)]
    assert list(bench.list.way_opened(now_s=1.2)) == []


def test_entries_of_other_sites_leave_apart(make_bench):
    bench = make_bench()
    grouped(bench, [1, 2], 1)
    grouped(bench, [1], 2)
    left = [([(((1, 1),), 0b110)], (11, 21)), ([(((2, 2),), 0b10)], (12,))]
    assert leaving(bench) == left


def test_several_updates_of_one_site_stay_as_it_has_signed_them(make_bench):
    bench = make_bench()
    for update in (1, 2):
        assert grouped(bench, [1], update) == []
    assert [rows for _, rows in leaving(bench)] == [(11,), (12,)]


def test_the_same_update_of_sites_that_are_there_goes_on_apart(make_bench):
    bench = make_bench()
    grouped(bench, [1, 2], 1)
    grouped(bench, [1, 2], 1)
    assert [rows for _, rows in leaving(bench)] == [(11, 21), (11, 21)]


def test_together_they_are_not_more_than_a_message_may_hold(make_bench):
    bench = make_bench(merged_bytes_max=30)
    for update in (1, 2):
        grouped(bench, [1, 2], update)
    assert len(leaving(bench)) == 2


def test_what_would_take_more_groups_than_may_be_goes_on_apart(make_bench):
    bench = make_bench()
    for site in range(COVERAGE_GROUPS_MAX + 1):
        grouped(bench, [site], site + 1, closed_at=99)
    assert len(bench.list) == 2


def test_rows_are_merged_once_when_the_entry_leaves(make_bench):
    bench = make_bench(parts_max=1_000)
    for site in range(99):
        assert bench.insert(site) == []
    assert bench.calls == []
    (summary,) = bench.insert(99)
    assert bench.calls == [100]
    assert summary.rows == tuple(range(100))
    assert (len(bench.list), bench.list.size_bytes) == (0, 0)


def test_the_bytes_that_a_site_has_signed_are_counted_beside_its_rows(make_bench):
    bench = make_bench()
    proof = UpdateProof(signature=b"", key=b"", pane=0, more=0, packed=b"x" * 1_000)
    summary = Summary(
        query="q@a#1", pane=0, coverage=Coverage.of_whole(1, 7), rows=(1,), proof=proof
    )
    bench.list.insert(summary, bench.query, birth_s=0.0, now_s=0.0)
    assert bench.list.size_bytes > 1_000


def test_many_parts_are_merged_on_the_way_to_bound_what_is_kept(make_bench):
    bench = make_bench(parts_max=10)
    for site in range(99):
        bench.insert(site)
    (summary,) = bench.insert(99)
    assert max(bench.calls) == 10
    assert summary.rows == tuple(range(100))
    assert summary.coverage.sites == (1 << 100) - 1


def test_the_age_of_a_merged_summary_is_that_of_its_oldest_part(make_bench):
    bench = make_bench()
    bench.insert(0, now_s=10.0)
    bench.insert(1, now_s=10.5)
    (summary,) = bench.tick(bench.list.next_deadline_s())
    assert summary.age_s == pytest.approx(
        OverlayConfig().hold_factor * OverlayConfig().net_dist_initial_s
    )


def test_a_deadline_is_there_as_long_as_something_is_held(make_bench):
    bench = make_bench()
    assert bench.list.next_deadline_s() == float("inf")
    bench.insert(0, now_s=10.0)
    deadline_s = bench.list.next_deadline_s()
    assert bench.tick(deadline_s - 0.01) == []
    assert len(bench.tick(deadline_s)) == 1
    assert bench.list.next_deadline_s() == float("inf")


def test_lanes_and_panes_are_apart(make_bench):
    bench = make_bench()
    bench.insert(0, 1)
    bench.insert(1, 2)
    bench.insert(2, 1, lane=Lane.BACKLOG)
    assert len(bench.list) == 3
    bench.insert(3, 1)
    assert len(bench.list) == 3


def test_summaries_with_a_site_in_common_go_on_apart(make_bench):
    bench = make_bench()
    bench.insert(0)
    bench.insert(0)
    bench.insert(1)
    left = bench.tick(bench.list.next_deadline_s())
    assert sorted(summary.rows for summary in left) == [(0,), (0, 1)]
    assert bench.take_notices() == []


def test_what_a_full_list_lets_go_early_is_said(make_bench):
    bench = make_bench(entries_max=2)
    bench.insert(0, pane=0)
    bench.insert(0, pane=1)
    assert [summary.pane for summary in bench.insert(0, pane=2)] == [0]
    assert [kind for kind, _ in bench.take_notices()] == ["full"]
    bench.is_open = False
    assert bench.insert(0, pane=3) == []
    assert len(bench.list) == 2
    assert "dropped, no way" in bench.take_notices()[-1][1]


def test_timers_of_what_has_left_are_swept_out(make_bench):
    bench = make_bench()
    for pane in range(3 * TIMERS_SPARE):
        bench.insert(0, pane, now_s=0.0)
        for entry in list(bench.list._entries.values()):
            bench.list._let_go(entry, now_s=0.0)
    assert len(bench.list) == 0
    assert len(bench.list._timers) <= TIMERS_SPARE + 2


def test_a_closed_way_keeps_what_is_due_and_merges_on(make_bench):
    bench = make_bench()
    bench.is_open = False
    bench.insert(0, now_s=0.0)
    assert bench.tick(5.0) == []
    bench.insert(1, now_s=5.0)
    bench.is_open = True
    ((_, summary),) = bench.list.way_opened(now_s=6.0)
    assert (summary.rows, summary.age_s) == ((0, 1), 6.0)


def test_a_removed_query_leaves_nothing_behind(make_bench):
    bench = make_bench()
    bench.is_open = False
    for pane in range(5):
        bench.insert(0, pane)
    bench.tick(5.0)
    assert bench.list.discard_query("q@a#1") == 5
    bench.is_open = True
    assert list(bench.list.way_opened(now_s=6.0)) == []
    assert (len(bench.list), bench.list.size_bytes) == (0, 0)


def test_nobody_is_waited_for_beyond_the_time_that_the_query_leaves(make_bench):
    """netDist says five seconds; summaries have four, half of them up to here."""
    bench = make_bench(time_s=4.0, net_dist_initial_s=5.0)
    assert bench.insert(1, now_s=100.0) == []
    assert bench.tick(101.9) == []
    assert [summary.rows for summary in bench.tick(102.0)] == [(1,)]


def test_without_a_deadline_in_sight_netdist_decides(make_bench):
    bench = make_bench(time_s=40.0, net_dist_initial_s=4.0, hold_factor=1.25)
    assert bench.insert(1, now_s=100.0) == []
    assert bench.tick(104.9) == []
    assert [summary.rows for summary in bench.tick(105.0)] == [(1,)]


class Hits(NamedTuple):
    """How the rows of a query look."""

    keys: tuple[Column, ...] = (Column("k", "string"),)
    partials: tuple[Partial, ...] = (Partial("n", "bigint", "sum"),)


def test_a_group_that_overflows_in_a_relay_holds_back_none_of_the_others(make_bench):
    """Its rows travel apart in the same summary; the root decides on it."""
    merger = ArrowMerger(Hits())
    bench = make_bench()
    bench.query = msgspec.structs.replace(bench.query, merger=merger)
    for site, big in ((0, 2**63 - 1), (1, 1)):
        rows = pa.table({"k": ["big", "a"], "n": [big, 1]}, schema=merger.schema)
        summary = Summary(query="q@a#1", pane=0, coverage=Coverage.of_whole(site, 7), rows=rows)
        bench.list.insert(summary, bench.query, birth_s=0.0, now_s=0.0)
    (left,) = bench.tick(20.0)
    assert left.coverage.sites == 0b11
    assert sorted(left.rows.to_pylist(), key=str) == [
        {"k": "a", "n": 2},
        {"k": "big", "n": 1},
        {"k": "big", "n": 2**63 - 1},
    ]
    assert bench.take_notices() == []


def test_an_entry_gathers_no_more_than_one_message_may_hold(make_bench):
    bench = make_bench(parts_max=1_000, merged_bytes_max=80)
    left = [one for site in range(100) for one in bench.insert(site)]
    assert bench.list.size_bytes <= 800
    assert max((len(one.rows) for one in left), default=0) <= 10
    assert len(bench.list._by_key) == 1
    assert len(bench.list) == 10


def test_a_peer_that_is_behind_passes_on_unmerged_what_has_a_way(overlay):
    bench = Bench(overlay.NumbersMerger())
    bench.insert(1)
    bench.is_behind = True
    assert [one.coverage.sites for one in bench.insert(2)] == [1 << 2]
    assert bench.calls == []
    assert bench.tray.noted["unmerged"] == 1
    (first,) = bench.tick(9.0)
    assert first.coverage.sites == 1 << 1, "what was held before leaves in its time"


def test_what_has_no_way_is_merged_by_a_peer_that_is_behind_too(overlay):
    bench = Bench(overlay.NumbersMerger())
    bench.is_open, bench.is_behind = False, True
    assert bench.insert(1) == bench.insert(2) == []
    bench.tick(9.0)
    bench.is_open = True
    (summary,) = [one for _, one in bench.list.way_opened(now_s=10.0)]
    assert summary.coverage.sites == 0b110
    assert bench.tray.noted["unmerged"] == 0


def test_a_peer_that_has_caught_up_merges_again(overlay):
    bench = Bench(overlay.NumbersMerger())
    bench.is_behind = True
    assert len(bench.insert(1)) == 1
    bench.is_behind = False
    assert bench.insert(2) == bench.insert(3) == []
    (summary,) = bench.tick(9.0)
    assert summary.coverage.sites == 0b1100
