"""Mortar, section 4.2: states that are valid during intervals are split in three where they meet.

The law behind all of it: what leaves says of each pane what it would have said had every state
been inserted pane by pane. Rows are tuples of record numbers, so one that is counted twice is there
twice.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.words.site_state import FOREVER
from headwater.overlay.carry.interval_shelf import IntervalShelf
from headwater.overlay.carry.summary_entry import SummaryEntry
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.commands.live_query import LiveQuery, TreeSet
from headwater.overlay.config import OverlayConfig
from headwater.overlay.message_rules import problem_with_summary
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.tray import Tray
from headwater.overlay.ways.staged_policy import Hop
from headwater.overlay.ways.tree_place import TreePlace
from headwater.plan.roster import Roster, Site

QUERY = "q@a#1"
SITES = 12


class Bags:
    """Counts its merges; refuses rows that are no tuples."""

    def __init__(self):
        self.calls = 0

    def none(self):
        return ()

    def merge(self, parts):
        self.calls += 1
        assert all(isinstance(part, tuple) for part in parts), "these rows can't be merged"
        return tuple(sorted(number for part in parts for number in part))

    def size_bytes(self, rows):
        return 8 * len(rows)


class Bench:
    """A list that awaits a site which never comes, so that entries leave by their hold."""

    def __init__(self, *, holds_states=True, awaited=1 << SITES, **config):
        place = TreePlace("parent", (), level=1, awaited=awaited)
        plan = TreeSet(0, (), (place,))
        node_set = (1 << SITES + 1) - 1
        self.merger = Bags()
        self.query = LiveQuery(QUERY, "a", False, (plan,), node_set, self.merger, holds_states)
        self.is_open = True
        self.tray = Tray(notice_every_s=0.0)
        self.list = TimeSpaceList(OverlayConfig(**config), self, self.tray)

    def next_hop(self, _, route, __, *, now_s):
        return Hop("parent", route, "same tree") if self.is_open else None

    def insert(self, summary, *, now_s=0.0):
        left = self.list.insert(summary, self.query, birth_s=now_s, now_s=now_s, trains=False)
        return [one for _, one in left]

    def drain(self, now_s=5.0):
        return [one for _, one in self.list.tick(now_s=now_s)]

    def take_notices(self):
        return [(notice.kind, notice.text) for notice in self.tray.take()]


def state(site, first, last, *, rows=None, lane=Lane.LIVE):
    rows = (100 * site + first,) if rows is None else rows
    return Summary(
        query=QUERY,
        pane=first,
        coverage=Coverage.of_whole(site, 7),
        rows=rows,
        lane=lane,
        more=last - first,
    )


def panes_of(summaries):
    """Pane -> the summaries that stand for it, as (sites, rows)."""
    found = {}
    for summary in summaries:
        for one in summary.by_pane():
            found.setdefault(one.pane, []).append((one.coverage.sites, one.rows))
    return {pane: sorted(said) for pane, said in found.items()}


def spans(summaries):
    return sorted((one.pane, one.last, one.coverage.sites) for one in summaries)


intervals = st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda two: (two[0], sum(two)))
disjoint = st.lists(intervals, min_size=1, max_size=SITES)
"""One interval for each site, in order."""
any_sites = st.lists(st.tuples(st.integers(0, 3), intervals), min_size=1, max_size=14)


def test_a_state_is_split_in_three_where_it_meets_another():
    bench = Bench()
    bench.insert(state(0, 1, 9))
    bench.insert(state(1, 4, 6))
    left = bench.drain()
    assert spans(left) == [(1, 3, 0b01), (4, 6, 0b11), (7, 9, 0b01)]
    outer = [one.rows for one in left if one.pane != 4]
    assert outer[0] is outer[1], "what was not merged is shared, not copied"


def test_a_state_that_reaches_over_several_entries_joins_each_and_fills_the_gaps():
    bench = Bench()
    bench.insert(state(0, 1, 3))
    bench.insert(state(1, 7, 9))
    bench.insert(state(2, 2, 11))
    assert spans(bench.drain()) == [
        (1, 1, 0b001),
        (2, 3, 0b101),
        (4, 6, 0b100),
        (7, 9, 0b110),
        (10, 11, 0b100),
    ]


@given(disjoint)
def test_states_of_different_sites_merge_as_if_each_pane_had_come_alone(spans_of_sites):
    whole, apart = Bench(), Bench()
    for site, (first, last) in enumerate(spans_of_sites):
        one = state(site, first, last)
        whole.insert(one)
        for pane in one.by_pane():
            apart.insert(pane)
    left = whole.drain()
    assert panes_of(left) == panes_of(apart.drain())
    assert all(len(said) == 1 for said in panes_of(left).values())
    assert (len(whole.list), whole.list.size_bytes, whole.list._shelves) == (0, 0, {})


@given(disjoint, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(spans_of_sites, random):
    states = [state(site, *span) for site, span in enumerate(spans_of_sites)]
    in_order, shuffled = Bench(), Bench()
    for one in states:
        in_order.insert(one)
    for one in random.sample(states, len(states)):
        shuffled.insert(one)
    assert panes_of(in_order.drain()) == panes_of(shuffled.drain())


@given(any_sites)
def test_nothing_is_lost_and_nothing_is_in_twice_whatever_intersects(arrivals):
    """States of a site that come twice go on apart; every one of them is in exactly one summary
    of each of its panes, with the rows that belong to it."""
    bench = Bench()
    came = {}
    for number, (site, (first, last)) in enumerate(arrivals):
        bench.insert(state(site, first, last, rows=(number,)))
        for pane in range(first, last + 1):
            came.setdefault(pane, []).append((number, site))
    for pane, said in panes_of(bench.drain()).items():
        assert sorted(n for _, rows in said for n in rows) == sorted(n for n, _ in came[pane])
        site_of = dict(came.pop(pane))
        for sites, rows in said:
            assert sum(1 << site_of[n] for n in rows) == sites
    assert came == {}


@given(any_sites, st.integers(1, 6))
def test_limits_make_entries_leave_early_and_lose_nothing(arrivals, entries_max):
    bench = Bench(entries_max=entries_max, parts_max=2)
    left = []
    for number, (site, (first, last)) in enumerate(arrivals):
        left += bench.insert(state(site, first, last, rows=(number,)))
        assert len(bench.list) <= entries_max
    left += bench.drain()
    wanted = sorted(
        (pane, number)
        for number, (_, (first, last)) in enumerate(arrivals)
        for pane in range(first, last + 1)
    )
    found = [(p, n) for p, said in panes_of(left).items() for _, rows in said for n in rows]
    assert sorted(found) == wanted


def test_sites_that_intersect_go_on_apart_and_the_rest_merges():
    bench = Bench()
    bench.insert(state(0, 1, 5))
    bench.insert(state(0, 4, 8))
    bench.insert(state(1, 1, 8))
    assert spans(bench.drain()) == [(1, 5, 0b11), (4, 5, 0b01), (6, 8, 0b11)]


def test_only_the_part_that_is_complete_leaves_at_once():
    bench = Bench(awaited=0b11)
    bench.insert(state(0, 1, 9))
    assert spans(bench.insert(state(1, 4, 6))) == [(4, 6, 0b11)]
    assert spans(bench.drain()) == [(1, 3, 0b01), (7, 9, 0b01)]


def test_parts_leave_when_the_whole_would_have_left():
    bench = Bench()
    bench.insert(state(0, 1, 9), now_s=0.0)
    due_s = bench.list.next_deadline_s()
    bench.insert(state(1, 4, 6), now_s=due_s - 0.1)
    assert len(bench.drain(due_s)) == 3
    assert bench.list.next_deadline_s() == float("inf")


def test_parts_that_wait_for_a_way_leave_when_it_opens():
    bench = Bench()
    bench.is_open = False
    bench.insert(state(0, 1, 9), now_s=0.0)
    assert bench.drain(3.0) == []
    bench.insert(state(1, 4, 6), now_s=3.0)
    bench.is_open = True
    left = list(bench.list.way_opened(now_s=3.5))
    assert (1, 3, 0b01) in spans(one for _, one in left)
    left += [(None, one) for one in bench.drain(9.0)]
    assert spans(one for _, one in left) == [(1, 3, 0b01), (4, 6, 0b11), (7, 9, 0b01)]
    assert bench.list._waiting_count == 0


def test_rows_are_merged_once_before_a_split_and_not_once_for_each_part():
    bench = Bench()
    for site in range(5):
        bench.insert(state(site, 1, 9))
    assert bench.merger.calls == 0
    bench.insert(state(5, 4, 6))
    assert bench.merger.calls == 1
    bench.drain()
    assert bench.merger.calls == 2


def test_rows_that_refuse_to_merge_stay_whole_and_apart():
    bench = Bench()
    bench.insert(state(0, 1, 9, rows=[1]))
    bench.insert(state(1, 1, 9))
    bench.insert(state(2, 4, 6))
    assert spans(bench.drain()) == [(1, 9, 0b001), (1, 9, 0b010), (4, 6, 0b100)]
    assert {kind for kind, _ in bench.take_notices()} == {"merge-failed"}


def test_lanes_and_plans_are_apart_and_a_removed_query_leaves_nothing():
    bench = Bench()
    bench.insert(state(0, 1, 9))
    bench.insert(state(1, 1, 9, lane=Lane.BACKLOG))
    assert len(bench.list) == 2
    assert bench.list.discard_query(QUERY) == 2
    assert (bench.list.size_bytes, bench.list._shelves) == (0, {})


def test_what_is_not_known_or_not_to_be_merged_passes_with_its_panes():
    bench = Bench()
    bench.query = None
    ((_, _, sites),) = spans(bench.insert(state(0, 1, 9)))
    assert sites == 1
    assert bench.list._shelves == {}


@given(st.lists(intervals, max_size=20), intervals)
def test_a_shelf_finds_every_entry_that_meets_an_interval(there, asked):
    shelf, entries = IntervalShelf((QUERY, Lane.LIVE, 0)), []
    for number, (first, last) in enumerate(there):
        entry = SummaryEntry(number, (QUERY, Lane.LIVE, 0, 0), None, may_merge=True)
        entry.narrow(first, last)
        shelf.put(entry)
        entries.append(entry)
    met = {entry.number for entry in shelf.meeting(*asked)}
    assert met == {e.number for e in entries if e.first <= asked[1] and e.last >= asked[0]}
    for entry in entries:
        shelf.remove(entry)
    assert not shelf


def test_the_longest_interval_is_found_at_its_end():
    shelf = IntervalShelf((QUERY, Lane.LIVE, 0))
    entry = SummaryEntry(1, (QUERY, Lane.LIVE, 0, 0), None, may_merge=True)
    entry.narrow(0, STATE_PANES_MAX - 1)
    shelf.put(entry)
    assert shelf.meeting(STATE_PANES_MAX - 1, STATE_PANES_MAX - 1) == [entry]
    assert shelf.meeting(STATE_PANES_MAX, STATE_PANES_MAX) == []


# What a message may say


@pytest.mark.parametrize(
    ("more", "pane", "lane", "holds_states", "word"),
    [
        (1 << 60, 0, Lane.LIVE, True, "at most"),
        (STATE_PANES_MAX, 0, Lane.LIVE, True, "at most"),
        (-1, 0, Lane.LIVE, True, "at most"),
        (2, FOREVER - 1, Lane.LIVE, True, "beyond all panes"),
        (2, 0, Lane.SPARE, True, "spare"),
        (2, 0, Lane.LIVE, False, "holds records"),
    ],
)
def test_panes_that_no_state_stands_for_are_refused(more, pane, lane, holds_states, word):
    bench = Bench(holds_states=holds_states)
    summary = Summary(
        query=QUERY, pane=pane, coverage=Coverage.of_whole(0, 7), rows=(1,), lane=lane, more=more
    )
    assert word in problem_with_summary(summary, bench.query, _roster())


def test_the_longest_state_is_let_through():
    bench = Bench()
    summary = state(0, 0, STATE_PANES_MAX - 1)
    assert problem_with_summary(summary, bench.query, _roster()) is None


def _roster():
    return RosterIndex(Roster(1, tuple(Site(n, f"s{n}") for n in range(SITES)), home="s0"))
