"""Budgets of links: which counts, how heartbeats are stretched to fit, what is too little."""

from __future__ import annotations

import pytest

from headwater.algebra.coordinate import Coordinate
from headwater.errors import ConfigurationError
from headwater.net.transport.frames import HEADER
from headwater.net.transport.wire_cost import wire_bytes
from headwater.net.values.codec import Codec
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link import Link
from headwater.overlay.links.link_budgets import (
    BEAT_S_MAX,
    BEAT_WIRE_BYTES,
    NO_BUDGETS,
    LinkBudgets,
)
from headwater.overlay.message_rules import NEXT_S_MAX, problem_with_heartbeat
from headwater.overlay.messages import BeatContent, Heartbeat
from headwater.overlay.outputs import Hangup, Transmit
from headwater.overlay.ways.root_pulses import RootPulse

KBIT = 125.0


def test_the_least_counts() -> None:
    budgets = LinkBudgets(200 * KBIT, {"fra": 64 * KBIT, "nyc": 900 * KBIT})
    assert budgets.of("fra") == 64 * KBIT
    assert budgets.of("nyc") == budgets.of("sin") == 200 * KBIT
    assert NO_BUDGETS.of("fra") is None
    assert str(budgets) == (
        "all links together at most 200 kbit/s; fra at most 64 kbit/s; nyc at most 900 kbit/s"
    )


@pytest.mark.parametrize("links", [1, 4, 8])
def test_at_50_kbit_heartbeats_of_a_few_links_come_often_and_fit(links: int) -> None:
    rate = 50 * KBIT
    every_s = max(2.0, LinkBudgets(rate).beat_every_s(map(str, range(links))))
    assert every_s <= BEAT_S_MAX
    assert links * BEAT_WIRE_BYTES / every_s <= 0.2 * rate


@pytest.mark.parametrize("signs", [0, 2, 8, 16])
def test_a_heartbeat_that_speaks_of_many_roots_is_reckoned_as_long_as_it_is(signs: int) -> None:
    pulses = tuple(
        RootPulse(9 * n, 1.2345, 98_765.4321 + n, 0.01234, (5, 900, 1), False, 1.5 + n, 1e6)
        for n in range(signs)
    )
    place = Coordinate(x=123.4, y=-45.6, z=7.8, height=33.2, error=0.25)
    beat = Heartbeat(123_456.789, 123_455.1, 1.23, 1 << 63, pulses, place, True, 4.9, 1 << 20, 1.5)
    size_bytes = wire_bytes(len(Codec(lambda query: None).encode(beat)) + HEADER.size)
    acknowledged_bytes = 66
    rate = 1_000.0
    every_s = LinkBudgets(rate).beat_every_s(["fra"], signs=signs)
    assert every_s == BEAT_S_MAX or (size_bytes + acknowledged_bytes) / every_s <= 0.1 * rate
    at_64_kbit_s = LinkBudgets(64 * KBIT).beat_every_s(["fra"], signs=signs)
    assert (size_bytes + acknowledged_bytes) / at_64_kbit_s <= 0.1 * 64 * KBIT


def test_heartbeats_are_stretched_for_a_narrow_link_but_not_for_ever() -> None:
    assert NO_BUDGETS.beat_every_s(["fra"]) == 0.0
    assert LinkBudgets(None, {"fra": 1_000.0}).beat_every_s(["fra", "nyc"]) == pytest.approx(3.0)
    assert LinkBudgets(None, {"fra": 1_000.0}).beat_every_s(["nyc"]) == 0.0
    assert LinkBudgets(1_000.0).beat_every_s(map(str, range(500))) == BEAT_S_MAX


@pytest.mark.parametrize(
    ("budgets", "wanted"),
    [
        (LinkBudgets(100.0), "links.budget: 800 bit/s is too little.*the least that works is"),
        (LinkBudgets(None, {"fra": 10.0}), "links.to.fra: 80 bit/s is too little"),
        (LinkBudgets(None, {"paris": 1e6}), "links.to.paris: no other site.*there are fra, nyc"),
    ],
)
def test_what_can_not_work_is_refused_with_what_would(budgets: LinkBudgets, wanted: str) -> None:
    with pytest.raises(ConfigurationError, match=wanted):
        budgets.require_enough(["nyc", "fra"], link_count=2)


def test_the_least_that_is_named_works() -> None:
    least = 1.01 * NO_BUDGETS.least(4)
    LinkBudgets(least).require_enough(["a", "b", "c", "d"], link_count=4)


def test_a_named_interval_counts_from_the_first_heartbeat() -> None:
    link = Link("fra", OverlayConfig())
    link.up(now_s=0.0)
    usual_s = link.silent_after_s()
    beat = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7, next_s=12.0)
    link.receive(beat, now_s=1.0)
    assert link.silent_after_s() == 30.0 > usual_s
    link.up(now_s=100.0)
    assert link.silent_after_s() == usual_s


def test_nobody_names_an_interval_in_which_nobody_would_miss_him() -> None:
    beat = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7, next_s=NEXT_S_MAX + 1)
    assert "at most 20 s" in (problem_with_heartbeat(beat) or "")


def test_a_heartbeat_says_nothing_of_the_next_where_it_comes_as_usual() -> None:
    link = Link("fra", OverlayConfig())
    link.up(now_s=0.0)
    assert link.beat(BeatContent(0), now_s=1.0).next_s == 0.0


def test_a_peer_on_a_narrow_budget_beats_less_often_and_is_not_called_silent(overlay) -> None:
    """Its neighbours, who send as usual, have it for as long as it is there."""
    world = overlay.World("root\n  a\n", budgets={"a": LinkBudgets(1_000.0)})
    world.install()
    world.run(60.0)
    beats = [one.message for one in world.of("a", Transmit) if isinstance(one.message, Heartbeat)]
    first_ones = 4
    assert 60 / BEAT_S_MAX <= len(beats) <= 60 / 2.9 + first_ones
    assert beats[-1].next_s == pytest.approx(3.0)
    assert not world.of("root", Hangup)
