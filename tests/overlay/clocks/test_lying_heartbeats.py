"""Peers of which one says wrong things of a root's clock, in heartbeats and with installs.

In these worlds x hangs on three others, on three trees, none of them the root::

    root ── a, b, c ── x
"""

from __future__ import annotations

import msgspec
import pytest

from headwater.algebra.words.acknowledgement import (
    LIFE_BITS,
    Acknowledgement,
    Greeting,
    with_leaves,
)
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.lie_book import LieKind
from headwater.overlay.message_rules import problem_with_heartbeat
from headwater.overlay.messages import AckMessage, CommandMessage, Heartbeat
from headwater.overlay.ways.root_pulses import RootPulse

DAY_S = 86_400.0
TREES = tuple(
    f"""
root
  a{under_a}
  b{under_b}
  c{under_c}
"""
    for under_a, under_b, under_c in (("\n    x", "", ""), ("", "\n    x", ""), ("", "", "\n    x"))
)


@pytest.fixture
def world(overlay):
    found = overlay.World(*TREES, skew_s={"root": 500.0})
    found.query = found.install()
    found.run(10.0)
    return found


def lie(world, sender, offset_s, *, to="x", spread_s=0.0, age_s=0.0):
    """A heartbeat that says so of the root's clock, and answers the newest that it heard."""
    now_s = world.clock_s(to)
    sign = RootPulse(
        root=0, age_s=0.1, clock_s=now_s + offset_s, spread_s=spread_s, clock_age_s=age_s
    )
    beat = Heartbeat(
        sent_s=world.now_s,
        echo_s=now_s - 0.02,
        echo_held_s=0.0,
        digest=world.peers[to]._commands.log.digest,
        roots=(sign,),
    )
    world.hand(sender, to, beat)


def offset_s(world, name="x"):
    return world.peers[name].root_clock("root").offset_s


def test_three_parents_agree_and_x_is_sure(world):
    clock = world.peers["x"].root_clock("root")
    assert clock.offset_s == pytest.approx(500.0, abs=0.01)
    assert clock.is_confirmed


@pytest.mark.parametrize("by_s", [1.0, -1.0, DAY_S, -DAY_S, 1e9])
def test_one_heartbeat_moves_nothing(world, by_s):
    for _ in range(20):
        lie(world, "a", 500.0 + by_s)
        world.run(1.0)
        assert offset_s(world) == pytest.approx(500.0, abs=0.01)
    assert world.peers["x"].counts()["clock set aside"] > 0


def test_who_is_aside_for_long_is_written_down(world):
    for second in range(40):
        lie(world, "a", 500.0 + DAY_S)
        world.run(1.0)
        if second < 20:
            assert world.peers["x"].lies() == ()
    (met,) = world.peers["x"].lies()
    assert (met.kind, met.sender) == (LieKind.CLOCK, "a")
    assert "of the clock of root" in met.text


def test_a_heartbeat_that_measured_no_round_trip_says_nothing_of_a_clock(world):
    """It may have lain anywhere for any time."""
    sign = RootPulse(root=0, age_s=0.1, clock_s=world.clock_s("x") + 42.0, spread_s=0.0)
    for sender in "abc":
        world.hand(
            sender,
            "x",
            Heartbeat(sent_s=world.now_s, echo_s=None, echo_held_s=0.0, digest=0, roots=(sign,)),
        )
    assert offset_s(world) == pytest.approx(500.0, abs=0.01)


def test_an_echo_of_our_own_word_is_no_vote(world):
    now_s = world.clock_s("x")
    sign = RootPulse(
        root=0, age_s=0.1, clock_s=now_s + 42.0, spread_s=0.0, via=(world.ordinal["x"],)
    )
    for sender in "abc":
        beat = Heartbeat(
            sent_s=world.now_s, echo_s=now_s - 0.02, echo_held_s=0.0, digest=0, roots=(sign,)
        )
        world.hand(sender, "x", beat)
    assert offset_s(world) == pytest.approx(500.0, abs=0.01)


def test_who_may_be_wrong_by_anything_has_no_vote(overlay):
    """Told on, such a spread would grow beyond what a heartbeat may say, and ours be refused."""
    world = overlay.World("root\n  a\n    x", linked=False)
    world.query = world.install()
    lie(world, "a", 500.0, spread_s=1e9)
    assert world.peers["x"].root_clock("root") is None


def test_an_age_of_a_clock_is_looked_at():
    for age_s in (-1.0, float("nan"), 1e10):
        sign = RootPulse(root=0, age_s=0.1, clock_s=5.0, spread_s=0.0, clock_age_s=age_s)
        assert (
            problem_with_heartbeat(
                Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=0, roots=(sign,))
            )
            is not None
        )


# Installs


def install_from(world, sender, to, *, root_clock_s):
    known = world.peers["root"].live_queries()[world.query]
    query = msgspec.structs.replace(
        known.query, id=msgspec.structs.replace(known.query.id, name="p", counter=2)
    )
    install = msgspec.structs.replace(known, query=query, root_clock_s=root_clock_s, age_s=0.0)
    world.hand(sender, to, CommandMessage(install))
    return str(query.id)


def test_what_comes_with_an_install_moves_nothing_that_neighbours_say(world):
    query_id = install_from(world, "a", "x", root_clock_s=world.clock_s("x") + DAY_S)
    assert query_id in world.peers["x"].live_queries()
    assert offset_s(world) == pytest.approx(500.0, abs=0.01)


def test_who_knows_better_does_not_hand_it_on(world):
    query_id = install_from(world, "root", "a", root_clock_s=world.clock_s("a") + DAY_S)
    assert world.peers["a"].live_queries()[query_id].root_clock_s is None


def test_without_any_other_word_it_is_better_than_nothing(overlay):
    world = overlay.World("root\n  a\n    x", linked=False, skew_s={"root": 500.0})
    world.query = world.install()
    install_from(world, "a", "x", root_clock_s=world.clock_s("x") + 500.0)
    clock = world.peers["x"].root_clock("root")
    assert clock.offset_s == pytest.approx(500.0)
    assert not clock.is_confirmed


# What the root has signed


@pytest.mark.parametrize("is_leaf_late", [False, True])
def test_an_acknowledgement_bounds_what_all_parents_say(world, is_leaf_late):
    state = SiteState(
        query=world.query, ordinal=world.ordinal["x"], incarnation=7, number=1, first_pane=0
    )
    world.peers["x"].report([state], now_s=world.clock_s("x"))
    world.run(1.0)
    head = Acknowledgement(
        query=world.query,
        root_incarnation=1,
        number=1 << LIFE_BITS,
        done_through=0,
        clock_s=world.clock_s("root"),
    )
    ack = with_leaves(
        head, greetings=(Greeting(ordinal=world.ordinal["x"], incarnation=7, number=1),)
    )
    if is_leaf_late:
        world.hand("a", "x", AckMessage(msgspec.structs.replace(ack, leaves=())))
        assert world.peers["x"].clock_bounds("root").high_s == float("inf")
    world.hand("a", "x", AckMessage(ack))
    bounds = world.peers["x"].clock_bounds("root")
    assert (bounds.low_s, bounds.high_s) == (pytest.approx(500.0), pytest.approx(501.0))
    for _ in range(20):
        for sender in "abc":
            lie(world, sender, 500.0 + DAY_S)
        world.run(0.5)
    assert abs(offset_s(world) - 500.0) < 1.5


def test_what_a_root_has_proven_ends_with_its_last_query(world):
    """After that nobody would tell of another life of it."""
    ack = Acknowledgement(
        query=world.query,
        root_incarnation=1,
        number=1 << LIFE_BITS,
        done_through=0,
        clock_s=world.clock_s("root"),
    )
    world.hand("a", "x", AckMessage(ack))
    assert world.peers["x"].clock_bounds("root") is not None
    world.remove(world.query)
    world.run(3.0)
    assert world.peers["x"].clock_bounds("root") is None


@pytest.mark.parametrize("said_s", [0.0, 30.0, 1e6])
def test_an_acknowledgement_is_no_older_than_the_roots_clock_says(world, said_s):
    """By its age a site would take all other clocks for years ahead, and seal by its own."""
    cut_s = world.clock_s("root")
    world.run(1.0)
    ack = Acknowledgement(
        query=world.query,
        root_incarnation=1,
        number=1 << LIFE_BITS,
        done_through=0,
        clock_s=cut_s,
        age_s=said_s,
    )
    world.hand("a", "x", AckMessage(ack))
    (heard,) = world.acks("x")
    assert heard.age_s <= 1.5
    assert heard.age_s >= min(said_s, 1.0)


@pytest.mark.parametrize("clock_s", [float("nan"), float("inf"), 1e13])
def test_a_clock_that_no_clock_shows_is_refused_though_it_is_signed(world, clock_s):
    ack = Acknowledgement(
        query=world.query,
        root_incarnation=1,
        number=1 << LIFE_BITS,
        done_through=0,
        clock_s=clock_s,
    )
    world.hand("a", "x", AckMessage(ack))
    assert world.acks("x") == []
    assert world.peers["x"].counts()["refused"] == 1
