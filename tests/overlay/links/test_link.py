"""Silence is told apart from slowness, and distance is measured without a common clock."""

import msgspec
import pytest

from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link import Link
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import BeatContent
from headwater.plan.altered.link_share import LinkShare

WORD = BeatContent(0)
CONFIG = OverlayConfig()


@pytest.fixture
def link():
    link = Link("b", CONFIG)
    link.up(now_s=0.0)
    return link


def hear(link, at_s):
    link.heard(now_s=at_s)
    link.receive(link.beat(WORD, now_s=at_s), now_s=at_s)


def falls_silent(link, at_s):
    return link.silent_at_s(now_s=at_s) <= at_s and link.fall_silent()


def test_the_round_trip_needs_no_common_clock():
    here, there = Link("b", CONFIG), Link("a", CONFIG)
    ahead_s, one_way_s, held_s = 500.0, 0.04, 0.3
    here.up(now_s=0.0)
    there.up(now_s=ahead_s)
    there.receive(here.beat(WORD, now_s=0.0), now_s=ahead_s + one_way_s)
    echo = there.beat(WORD, now_s=ahead_s + one_way_s + held_s)
    here.receive(echo, now_s=2 * one_way_s + held_s)
    assert here.rtt_s == pytest.approx(2 * one_way_s)
    assert here.one_way_s == pytest.approx(one_way_s)


def test_a_round_trip_that_no_network_has_is_ignored(link):
    beat = Link("a", CONFIG).beat(WORD, now_s=0.0)
    link.receive(type(beat)(0.0, 100.0, 0.0, 0), now_s=50.0)
    assert link.rtt_s is None


def test_nobody_is_silent_before_the_floor(link):
    for beat in range(100):
        hear(link, beat * 0.01)
    assert not falls_silent(link, 1.0 + CONFIG.silent_floor_s - 0.1)
    assert falls_silent(link, 1.0 + CONFIG.silent_floor_s + 0.1)
    assert link.is_silent
    assert not link.is_open


def test_an_irregular_neighbour_is_given_more_time_up_to_the_ceiling(link):
    now_s = 0.0
    for beat in range(200):
        now_s += 0.5 if beat % 2 else 6.0
        hear(link, now_s)
    assert CONFIG.silent_floor_s < link.silent_after_s() <= CONFIG.silent_ceiling_s
    assert not falls_silent(link, now_s + 6.0)
    assert falls_silent(link, now_s + CONFIG.silent_ceiling_s + 0.1)


def test_silence_is_told_once_and_ends_with_any_message(link):
    assert falls_silent(link, 20.0)
    assert not falls_silent(link, 21.0)
    assert link.heard(now_s=22.0)
    assert link.is_open


def test_a_clock_set_back_does_not_hide_a_silence(link):
    hear(link, 1_000.0)
    assert not falls_silent(link, 10.0)
    assert falls_silent(link, 10.0 + CONFIG.silent_ceiling_s + 1.0)


def test_what_it_carries_stays_known_while_nothing_shows_it_also_through_a_lost_link(link):
    assert link.capacity.bytes_per_s is None
    link.load(LinkLoad(100, bytes_per_s=2_000.0), now_s=1.0)
    link.load(LinkLoad(0), now_s=2.0)
    assert link.capacity.bytes_per_s == 2_000.0
    link.down()
    link.up(now_s=9.0)
    assert link.capacity.bytes_per_s == 2_000.0


def test_a_queue_that_takes_its_time_holds_up_and_sends_nobody_on_a_detour(link):
    link.load(LinkLoad(20_000, queued_bytes_max=16_384), now_s=1.0)
    assert link.is_filled
    assert link.is_open, "another way would take the load elsewhere"
    assert not link.room_bytes("q")
    assert not link.load(LinkLoad(16_384), now_s=1.0), "no room yet"
    assert link.load(LinkLoad(10_000), now_s=1.0), "there is room again"
    link.load(LinkLoad(CONFIG.link_queue_bytes_max), now_s=1.0)
    assert not link.is_open


def test_no_marker_goes_behind_what_may_wait_for_its_own_budget():
    shares = QueryShares()
    shares.know("slow", LinkShare(1.0, 1_000.0), ())
    shares.know("free", LinkShare(), ())
    link = Link("b", CONFIG, shares)
    link.up(now_s=0.0)
    link.receive(msgspec.structs.replace(link.beat(WORD, now_s=0.0), marker=0), now_s=0.0)
    assert link.hand_over("slow", 100_000, now_s=1.0) is None
    assert link.hand_over("free", 100_000, now_s=1.0) is not None
