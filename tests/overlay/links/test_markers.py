"""Markers go behind data, one at a time, to those who know them, and show what a link carries."""

from itertools import pairwise

from headwater.overlay.links.markers import ANSWERED_WITHIN_S, EVERY_S_MAX, PAUSE_S_MAX, Markers
from headwater.overlay.messages import Heartbeat, StreamMarker

ENOUGH = 20_000


def beat(marker=0, held_s=0.0):
    return Heartbeat(1.0, None, 0.0, 0, marker=marker, marker_held_s=held_s)


def known():
    markers = Markers()
    markers.hear(beat(), now_s=0.0)
    return markers


def test_who_does_not_know_them_gets_none():
    markers = Markers()
    markers.handed(ENOUGH, now_s=0.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=1.0) is None, "it has not said a word"
    markers.hear(Heartbeat(1.0, None, 0.0, 0), now_s=1.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=1.0) is None, "an agent of before"
    markers.hear(beat(), now_s=1.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=1.0) == StreamMarker(1, "q")


def test_what_lay_before_it_is_divided_by_how_long_it_took():
    markers = known()
    markers.handed(ENOUGH // 2, now_s=0.0)
    markers.handed(ENOUGH // 2, now_s=2.0)
    assert markers.due("q", ahead_bytes=15_000, now_s=2.0)
    marked = markers.hear(beat(1, held_s=0.5), now_s=6.5)
    assert (marked.ahead_bytes, marked.k_s, marked.t_s) == (15_000, 2.0, 4.0)
    assert markers.hear(beat(1, held_s=2.5), now_s=8.5) is None, "it counts once"


def test_one_is_under_way_at_a_time_and_little_data_are_marked_seldom():
    markers = known()
    markers.handed(ENOUGH, now_s=0.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=0.0)
    markers.handed(ENOUGH, now_s=1.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=1.0) is None
    markers.hear(beat(1), now_s=2.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=2.0).number == 2
    markers.hear(beat(2), now_s=3.0)
    markers.handed(100, now_s=3.0)
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=3.5) is None
    assert markers.due("q", ahead_bytes=ENOUGH, now_s=3.0 + EVERY_S_MAX) is not None


def test_a_number_that_was_never_sent_shows_nothing():
    markers = known()
    markers.handed(ENOUGH, now_s=0.0)
    markers.due("q", ahead_bytes=ENOUGH, now_s=0.0)
    assert markers.hear(beat(17), now_s=1.0) is None
    assert markers.hear(beat(1, held_s=1e9), now_s=2.0).t_s == 0.0, "and no time runs backwards"


def test_who_never_answers_is_asked_ever_more_seldom():
    markers, asked_s = known(), []
    for at in range(600):
        markers.handed(ENOUGH, now_s=float(at))
        if markers.due("q", ahead_bytes=ENOUGH, now_s=float(at)):
            asked_s.append(at)
    pauses = [b - a for a, b in pairwise(asked_s)]
    assert (
        ANSWERED_WITHIN_S
        < pauses[0]
        < pauses[-1]
        <= PAUSE_S_MAX + ANSWERED_WITHIN_S + EVERY_S_MAX + 2
    )


def test_the_newest_that_was_read_is_named_with_how_long_ago_and_not_on_a_new_link():
    markers = known()
    assert markers.answer(now_s=9.0) == (0, 0.0)
    markers.read(StreamMarker(3), now_s=10.0)
    assert markers.answer(now_s=11.5) == (3, 1.5)
    markers.forget()
    assert markers.answer(now_s=12.0) == (0, 0.0)
