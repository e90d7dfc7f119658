"""Coordinates are nobody's signed word: one member must not place the others at will.

The federation's tree of these worlds::

    root
      a ── c, d
      b ── e
"""

from __future__ import annotations

import pytest

from headwater.algebra.coordinate import Coordinate
from headwater.overlay.config import OverlayConfig
from headwater.overlay.coordinates.coordinates import OWN_WORD_S, RADIUS_MS_MAX, STEP_MS_MAX
from headwater.overlay.messages import CoordinatesMessage, Heartbeat, Placed

TREE = """
root
  a
    c
    d
  b
    e
"""
FAR = Coordinate(x=300.0, y=0.0, z=0.0, height=1.0, error=0.1)
REST = Coordinate(x=10.0, y=0.0, z=0.0, height=1.0, error=0.1)


@pytest.fixture
def world(overlay):
    found = overlay.World(TREE, config=OverlayConfig(coordinates_every_s=5.0), one_way_s=0.02)
    found.run(1.0)
    return found


def tell(world, sender, to, *names, place=FAR):
    message = CoordinatesMessage(tuple(Placed(world.ordinal[name], place) for name in names))
    world.hand(sender, to, message)


def placed(world, at, name):
    return world.peers[at].coordinates().get(name)


def test_everybody_is_known_to_everybody_in_the_end(world):
    world.run(40.0)
    for peer in world.peers.values():
        assert set(peer.coordinates()) == set("abcde") | {"root"}


def test_honest_neighbours_tell_nothing_that_is_passed_over(world):
    world.run(60.0)
    assert not any("place passed over" in peer.counts() for peer in world.peers.values())


def test_a_child_places_those_below_itself_and_nobody_else(world):
    tell(world, "a", "root", "c", "d", "e")
    assert placed(world, "root", "c") == placed(world, "root", "d") == FAR
    assert placed(world, "root", "e") is None
    counts = world.peers["root"].counts()
    assert "refused" not in counts, "where rosters differ honest ones do, too"
    assert counts["place passed over"] == 1


def test_a_parent_places_those_who_are_not_below_us(world):
    tell(world, "root", "a", "e", "c")
    assert placed(world, "a", "e") == FAR
    assert placed(world, "a", "c") != FAR


def test_a_child_does_not_place_its_sibling_nor_us(world):
    tell(world, "c", "a", "d", "e", "root", "a")
    for name in ("d", "e", "root", "a"):
        assert placed(world, "a", name) != FAR


def test_what_a_site_says_of_itself_on_its_own_link_counts_over_hearsay(world):
    """c is a child of a, and linked with the root as well."""
    world.connect("root", "c")
    world.hand(
        "c",
        "root",
        Heartbeat(sent_s=world.now_s, echo_s=None, echo_held_s=0.0, digest=0, coordinate=REST),
    )
    tell(world, "a", "root", "c")
    assert placed(world, "root", "c") == REST
    world.sever("root", "c")
    world.run(OWN_WORD_S + 10.0)
    tell(world, "a", "root", "c", place=Coordinate(x=20.0, y=0.0, z=0.0, height=1.0, error=0.1))
    assert placed(world, "root", "c").x == 20.0


def test_what_is_known_is_not_told_on_again(world):
    tell(world, "a", "root", "c")
    news = world.peers["root"]._coordinates._changed
    assert world.ordinal["c"] in news
    news.clear()
    tell(world, "a", "root", "c")
    assert not news


def test_hearsay_moves_a_site_at_rest_step_by_step(world):
    tell(world, "a", "root", "c", place=REST)
    for step in range(1, 4):
        tell(world, "a", "root", "c")
        assert placed(world, "root", "c").x == pytest.approx(10.0 + step * STEP_MS_MAX)


def test_a_newcomer_is_followed_at_once(world):
    unsure = Coordinate(x=10.0, y=0.0, z=0.0, height=1.0, error=0.9)
    tell(world, "a", "root", "c", place=unsure)
    tell(world, "a", "root", "c")
    assert placed(world, "root", "c") == FAR


@pytest.mark.parametrize(
    "place",
    [
        Coordinate(x=RADIUS_MS_MAX, y=RADIUS_MS_MAX, z=0.0, height=1.0, error=0.1),
        Coordinate(x=0.0, y=0.0, z=0.0, height=RADIUS_MS_MAX + 1.0, error=0.1),
        Coordinate(x=float("nan"), y=0.0, z=0.0, height=1.0, error=0.1),
    ],
)
def test_nobody_is_placed_beyond_the_radius(world, place):
    tell(world, "a", "root", "c", place=place)
    assert placed(world, "root", "c") is None
    assert world.peers["root"].counts()["refused"] == 1


def test_one_message_makes_one_notice_however_much_is_wrong_in_it(world):
    beyond = Coordinate(x=RADIUS_MS_MAX, y=RADIUS_MS_MAX, z=0.0, height=1.0, error=0.1)
    tell(world, "a", "root", "c", "d", place=beyond)
    assert world.peers["root"].counts()["refused"] == 1
