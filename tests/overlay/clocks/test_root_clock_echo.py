"""A root that starts anew may have another clock: what others know of the former one dies out."""

from __future__ import annotations

import pytest

from headwater.overlay.config import OverlayConfig
from headwater.overlay.ways.root_pulses import LOST_S, RootPulse, RootPulses, RootWay

ROOT, RTT_S = 0, 0.1
NAMES = {0: "root", 1: "one", 2: "other"}


def peer(ordinal: int, *parents: str, ways: tuple[RootWay, ...] = ()) -> RootPulses:
    pulses = RootPulses(
        ordinal,
        ways_to=lambda root, now_s: list(ways),
        name_of=NAMES,
        config=OverlayConfig(),
        patience_s=lambda: 20.0,
    )
    pulses.set_roots({ROOT: parents})
    return pulses


def told(clock_s: float, *, age_s: float, spread_s: float = 0.01) -> RootPulse:
    return RootPulse(root=ROOT, age_s=LOST_S, clock_s=clock_s, spread_s=spread_s, clock_age_s=age_s)


def offset_s(pulses: RootPulses, now_s: float) -> float:
    clock = pulses.clock_of(ROOT, now_s=now_s)
    assert clock is not None
    return clock.offset_s


def test_what_came_with_an_install_is_told_to_nobody():
    """All have the same word, from whoever handed it on: told on, one lie would have many votes,
    and three who have it would call it confirmed."""
    one = peer(1, "other", ways=(RootWay(9.0, (2, ROOT)),))
    one.seed(ROOT, 1e9, age_s=0.5, now_s=10.0)
    assert offset_s(one, 10.0) == pytest.approx(1e9, rel=1e-6)
    assert [pulse.clock_s for pulse in one.say(now_s=10.0)] == [None]
    one.hear_clocks("other", [told(1_000.0, age_s=0.0)], rtt_s=RTT_S, now_s=11.0)
    (pulse,) = one.say(now_s=11.0)
    assert pulse.clock_s == pytest.approx(1_000.0, abs=0.2)


def test_what_nobody_confirms_is_told_on_as_that():
    """Else three who have all heard of one liar alone would confirm its clock to a fourth."""
    one = peer(1, "other", "root", ways=(RootWay(9.0, (2, ROOT)),))
    one.hear_clocks("other", [told(1_000.0, age_s=0.0)], rtt_s=RTT_S, now_s=10.0)
    assert [pulse.is_confirmed for pulse in one.say(now_s=10.0)] == [False]
    one.hear_clocks("root", [told(1_000.0, age_s=0.0)], rtt_s=RTT_S, now_s=10.0)
    assert [pulse.is_confirmed for pulse in one.say(now_s=11.5)] == [True]


def test_of_two_clocks_that_contradict_each_other_the_one_told_later_counts():
    one = peer(1)
    one.hear_clocks("other", [told(1_000.0, age_s=0.0)], rtt_s=RTT_S, now_s=10.0)
    one.hear_clocks("other", [told(90_010.0, age_s=30.0, spread_s=0.0)], rtt_s=RTT_S, now_s=20.0)
    assert offset_s(one, 20.0) == pytest.approx(990.0, abs=0.1), "an echo of a former life"
    one.hear_clocks("other", [told(90_010.0, age_s=0.0)], rtt_s=RTT_S, now_s=20.0)
    assert offset_s(one, 20.0) == pytest.approx(89_990.0, abs=0.1)


def test_what_agrees_makes_the_known_one_newer():
    one = peer(1)
    one.hear_clocks("other", [told(1_000.0, age_s=0.0, spread_s=0.001)], rtt_s=RTT_S, now_s=10.0)
    one.hear_clocks("other", [told(1_050.0, age_s=0.0, spread_s=0.2)], rtt_s=RTT_S, now_s=60.0)
    one.hear_clocks("other", [told(90_000.0, age_s=20.0)], rtt_s=RTT_S, now_s=70.0)
    assert offset_s(one, 70.0) == pytest.approx(990.0, abs=0.1)


def test_two_who_remember_a_former_clock_do_not_keep_it_alive():
    """They talk to each other every second, and one of them hears the root now and then."""
    one, other = peer(1), peer(2)
    for each in (one, other):
        each.hear_clocks("root", [told(5_000.0, age_s=0.0)], rtt_s=RTT_S, now_s=0.0)
    for second in range(1, 30):
        now_s = float(second)
        if second == 5:
            one.hear_clocks("root", [told(100.0 + now_s, age_s=0.0)], rtt_s=RTT_S, now_s=now_s)
        said = [each._pulse_of(ROOT, None, now_s) for each in (one, other)]
        other.hear_clocks("one", said[:1], rtt_s=RTT_S, now_s=now_s)
        one.hear_clocks("other", said[1:], rtt_s=RTT_S, now_s=now_s)
    assert offset_s(one, 30.0) == pytest.approx(100.0, abs=0.2)
    assert offset_s(other, 30.0) == pytest.approx(100.0, abs=0.2)
