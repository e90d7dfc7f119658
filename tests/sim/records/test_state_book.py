"""The rule of states in the simulator: the last n of what was read when a pane was closed."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.sim.query_kinds import is_plain
from headwater.sim.records.state_book import StateBook
from headwater.sim.scenario import draw_scenario

FAR = 1 << 40
records = st.lists(
    st.tuples(st.integers(0, 8), st.sampled_from(["read", "read", "read", "miss"])), max_size=30
)


def book(last_n: int) -> StateBook:
    queries = (draw_scenario(seed).first_query for seed in range(1, 50))
    query = next(query for query in queries if is_plain(query))
    window = msgspec.structs.replace(query.window, range_us=query.window.slide_us)
    return StateBook(
        msgspec.structs.replace(query, window=window, begin_pane=0, ends=False, last_n=last_n)
    )


def test_a_late_record_counts_for_the_panes_that_are_still_open():
    """The example of the module."""
    made = book(2)
    assert made.add(0, 10)
    assert made.add(1, 11)
    assert made.state(0, first_pane=0) == ([10], True)
    assert made.state(1, first_pane=0) == ([11, 10], True)
    made.closed_below(2)
    made.add(0, 12)
    made.add(2, 13)
    assert made.state(2, first_pane=0) == ([13, 12], True)


def test_a_record_from_before_the_begin_is_none_of_the_query_s():
    made = book(2)
    assert not made.add(-1, 10)
    assert made.state(0, first_pane=0) == ([], True)


def test_what_was_missed_counts_until_n_newer_records_are_read():
    made = book(2)
    made.add(0, 10)
    made.add(0, 11)
    made.miss(1)
    assert made.state(0, first_pane=0) == ([11, 10], True)
    assert made.state(1, first_pane=0) == ([11, 10], False)
    made.add(1, 12)
    assert made.state(1, first_pane=0) == ([12, 11], False)
    made.add(1, 13)
    assert made.state(1, first_pane=0) == ([13, 12], True)


def test_a_site_that_began_late_is_whole_with_n_records():
    made = book(2)
    made.add(3, 10)
    assert made.state(3, first_pane=3) == ([10], False)
    made.add(3, 11)
    assert made.state(3, first_pane=3) == ([11, 10], True)


@given(records, records, st.integers(1, 4), st.integers(0, 8))
def test_what_is_forgotten_at_a_close_is_missed_by_no_later_state(before, after, last_n, closed):
    short, whole = book(last_n), book(last_n)
    for number, (pane, kind) in enumerate(before):
        for made in (short, whole):
            made.miss(pane) if kind == "miss" else made.add(pane, number)
    short.closed_below(closed)
    for number, (pane, kind) in enumerate(after, start=FAR):
        for made in (short, whole):
            made.miss(pane) if kind == "miss" else made.add(pane, number)
    for pane in range(closed, 9):
        assert short.state(pane, first_pane=0) == whole.state(pane, first_pane=0)


@given(st.integers(1, 4), st.integers(1, 60))
def test_what_is_kept_of_closed_panes_is_bounded(last_n, count):
    made = book(last_n)
    for number in range(count):
        made.add(0, number)
    made.closed_below(1)
    assert len(made) == min(last_n, count)
