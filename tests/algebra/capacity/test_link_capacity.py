"""What one link carries: each measure tells a part of it, and a neighbour's word is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.capacity.delivery import Delivery
from headwater.algebra.capacity.eased import SHARE_MIN
from headwater.algebra.capacity.link_capacity import GROWS_TO, LinkCapacity
from headwater.algebra.capacity.marked import Marked

FULL = 100_000
"""Bytes before a marker."""


def delivery(rate, *, rtt_s=0.1, is_limited=False):
    return Delivery(rtt_s, 0.1, rate, is_limited)


def drained_at(rate, *, until_s=20):
    link = LinkCapacity()
    for now_s in range(until_s):
        link.drained(rate, queued_bytes=FULL, now_s=float(now_s))
    return link


def test_nothing_is_known_before_anything_was_measured():
    link = LinkCapacity()
    link.drained(None, queued_bytes=0, now_s=0.0)
    link.delivered(delivery(0.0), now_s=1.0)
    assert link.bytes_per_s is None


def test_what_a_sender_had_no_more_for_is_not_taken_for_all_there_is():
    link = LinkCapacity()
    for now_s in range(10):
        link.delivered(delivery(100.0 + now_s, is_limited=True), now_s=float(now_s))
    assert link.bytes_per_s is None, "it would be degraded to fit into what it happens to send"


def test_a_narrower_link_is_known_within_seconds():
    link = drained_at(100_000.0)
    for now_s in range(20, 26):
        link.drained(10_000.0, queued_bytes=FULL, now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(10_000.0, rel=0.5)


def test_tcp_that_was_not_limited_corrects_what_the_socket_swallowed():
    link = LinkCapacity()
    link.drained(1e6, queued_bytes=0, now_s=0.0)
    for now_s in range(1, 10):
        link.delivered(delivery(20_000.0 + now_s), now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(20_000.0, rel=0.1)


def test_what_a_socket_swallows_at_once_is_bounded_by_what_got_through():
    link = LinkCapacity()
    for now_s in range(0, 40, 2):
        link.drained(2e7, queued_bytes=10, now_s=now_s + 0.0)
        link.delivered(delivery(6e7, is_limited=True), now_s=now_s + 0.5)
        link.delivered(delivery(49_000.0 + now_s), now_s=now_s + 1.0)
        link.marked(Marked(61_000, 2.0, 1.24), now_s=now_s + 1.5)
    assert link.bytes_per_s == pytest.approx(49_000.0, rel=0.05), "as seen on a link of 400 kbit/s"


def test_an_old_figure_of_tcp_is_no_news():
    link = drained_at(10_000.0)
    for now_s in range(20, 40):
        link.delivered(delivery(90_000.0), now_s=float(now_s))
    for now_s in range(40, 60):
        link.drained(10_000.0, queued_bytes=FULL, now_s=float(now_s))
        link.delivered(delivery(90_000.0), now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(10_000.0, rel=0.05), "the kernel keeps the last one"


@given(st.floats(0.0, 1e-3), st.integers(FULL, 1 << 40))
def test_whoever_acknowledges_at_once_is_bounded_by_what_we_saw_ourselves(t_s, ahead):
    link = drained_at(10_000.0)
    link.delivered(delivery(9_000.0), now_s=19.0)
    for at in range(5):
        link.marked(Marked(ahead, 1.0, t_s), now_s=19.5 + at)
    assert link.bytes_per_s <= 10_000.0


@given(st.floats(1.0, 1e9))
def test_whoever_acknowledges_late_can_take_no_more_than_a_part(t_s):
    link = drained_at(10_000.0)
    for at in range(50):
        link.drained(None, queued_bytes=FULL, now_s=20.0 + at / 20)
        link.marked(Marked(FULL, 1.0, t_s), now_s=20.0 + at / 20)
    assert link.bytes_per_s >= 2_400.0
    link.delivered(delivery(8_000.0), now_s=22.5)
    for at in range(50):
        link.marked(Marked(FULL, 1.0, t_s), now_s=22.6 + at / 20)
    assert link.bytes_per_s >= 4_500.0, "TCP has seen it deliver"


def test_a_marker_without_any_figure_of_our_own_shows_nothing():
    link = LinkCapacity()
    link.marked(Marked(FULL, 1.0, 0.1), now_s=1.0)
    assert link.bytes_per_s is None
    assert link.ratio == pytest.approx(10.0)


def test_packets_that_wait_on_the_way_take_a_share_off_and_it_comes_back():
    link = drained_at(10_000.0)
    for now_s in range(20, 30):
        link.delivered(delivery(10_000.0, rtt_s=5.0), now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(10_000.0 * SHARE_MIN)
    for now_s in range(30, 60):
        link.delivered(delivery(10_000.0), now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(10_000.0, rel=0.01)


def test_a_summary_that_dies_on_a_full_link_lowers_what_is_told():
    link = drained_at(10_000.0)
    for at in range(5):
        link.died(now_s=20.0 + at / 10)
    assert link.died_count == 5
    assert link.bytes_per_s == pytest.approx(7_000.0), "one step for what happens at once"


def test_a_link_that_got_wider_is_found_out_by_whoever_sends_little():
    link = drained_at(1_000.0)
    link.drained(None, queued_bytes=0, now_s=20.0)
    for now_s in range(20, 80):
        link.used(900)
        link.delivered(delivery(900.0 + now_s % 2, is_limited=True), now_s=float(now_s))
    assert 5_000.0 < link.bytes_per_s <= GROWS_TO * 900.0 * 1.05


@pytest.mark.parametrize("what", ["nothing is sent", "it waits", "delay", "the neighbour is slow"])
def test_it_does_not_grow_where(what):
    link = drained_at(1_000.0)
    rtt_s = 1.0 if what == "delay" else 0.1
    link.drained(None, queued_bytes=100 if what == "it waits" else 0, now_s=20.0)
    if what == "the neighbour is slow":
        link.marked(Marked(100, 1.0, 3.0), now_s=20.0)
    for now_s in range(20, 60):
        link.used(0 if what == "nothing is sent" else 900)
        link.delivered(delivery(900.0, rtt_s=rtt_s, is_limited=True), now_s=float(now_s))
    assert link.bytes_per_s == pytest.approx(1_000.0)


def test_without_tcp_heartbeats_show_the_delay():
    link = drained_at(10_000.0)
    for now_s in range(20, 40, 2):
        link.round_trip(0.1 if now_s < 24 else 4.0, now_s=float(now_s))
    assert link.queueing_s == pytest.approx(3.9)
    assert link.share < 0.5


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("drained", "delivered", "limited", "marked", "trip", "died")),
            st.floats(0.0, 1e9),
            st.floats(-100.0, 100.0),
        ),
        max_size=40,
    )
)
def test_whatever_comes_it_is_never_more_than_was_ever_shown(words):
    link, now_s, shown = LinkCapacity(), 0.0, 0.0
    for what, value, past_s in words:
        now_s += past_s
        if what == "drained":
            link.drained(value, queued_bytes=1, now_s=now_s)
        elif what in ("delivered", "limited"):
            link.delivered(delivery(value, is_limited=what == "limited"), now_s=now_s)
        elif what == "marked":
            link.marked(Marked(int(value), 1.0, past_s), now_s=now_s)
        elif what == "trip":
            link.round_trip(value, now_s=now_s)
        else:
            link.died(now_s=now_s)
        shown = max(shown, value if what in ("drained", "delivered", "limited") else 0.0)
        known = link.bytes_per_s
        assert known is None or 0.0 <= known <= shown * (1 + 1e-9)


def test_tcp_counts_for_all_the_time_since_it_was_asked_whatever_the_queue_told_in_between():
    """The queue is told of ten times as often, and shows a cut seconds later."""
    link = LinkCapacity()
    link.delivered(delivery(100_000.0), now_s=0.0)
    for tick in range(1, 11):
        link.drained(100_000.0, queued_bytes=FULL, now_s=tick / 10)
    link.delivered(delivery(10_000.0), now_s=1.0)
    assert link.bytes_per_s == pytest.approx(10_000.0 + 90_000.0 / 2.718, rel=0.01)
