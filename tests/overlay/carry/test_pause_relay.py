"""Relays that are short of memory: whom they ask to wait, for how long, and who asks in vain."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.algebra.words.pause import LAPSES_AFTER, Pause, PauseHeard
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import PausesMessage, TreePause

TREE = """
root
  a
    b
      d
      e
    c
"""
RING = """
root
  c
    b
      a
    d
    e
"""
"""Where a is below b, which is below a on the other tree."""
ROW = 8


def a_world(overlay: Any, *siblings: str, **config: float) -> Any:
    world = overlay.World(TREE, *siblings, config=OverlayConfig(**config))
    world.query = world.install(sites=("root", "a", "b", "c", "d", "e"))
    world.run(6.0)
    return world


@pytest.fixture
def world(overlay: Any) -> Any:
    """Where b may hold two summaries, and holds what comes from d until its hold is over."""
    return a_world(overlay, pause_bytes_max=2 * ROW)


def heard(world: Any, name: str) -> list[PauseHeard]:
    return world.of(name, PauseHeard)


def fill(world: Any, *panes: int, at: str = "b") -> None:
    """As if it had no way up: what lies there stays."""
    peer = world.peers[at]
    held, live = peer._carrier.list, peer._router.live[world.query]
    for pane in panes:
        summary = world.summary("d", pane, query=world.query)
        entry = held._entry_for(summary, live, ROW, may_merge=True)
        entry.add(summary, size_bytes=ROW, birth_s=world.now_s)
        entry.due_s = world.now_s + 1e6
        held.size_bytes += ROW


def empty(world: Any, at: str = "b") -> None:
    world.peers[at]._carrier.list.discard_query(world.query)


def message(world: Any, youngest: int, *, tree: int = 0, version: int = 0) -> PausesMessage:
    return PausesMessage((TreePause(world.query, version, tree, youngest, 2.0),))


def test_a_relay_with_room_says_nothing(world: Any) -> None:
    fill(world, 1, 2)
    world.run(20.0)
    assert world.sent["PausesMessage"] == 0


def test_a_full_one_asks_those_below_it_to_wait_and_nobody_else(world: Any) -> None:
    fill(world, 5, 6, 7, 8)
    world.run(3.0)
    for child in ("d", "e"):
        assert heard(world, child)[-1] == PauseHeard(world.query, 0, 1, Pause(6, 2.0))
    for other in ("root", "a", "c"):
        assert heard(world, other) == []
    assert "paused" in world.notices("b")


def test_a_root_says_it_with_its_acknowledgements_alone(world: Any) -> None:
    fill(world, 5, 6, 7, 8, at="root")
    world.run(3.0)
    assert (heard(world, "a"), world.sent["PausesMessage"]) == ([], 0)


def test_it_says_it_with_every_heartbeat_and_at_once_that_it_is_over(world: Any) -> None:
    fill(world, 5, 6, 7)
    world.run(11.0)
    assert len(heard(world, "d")) >= 5
    empty(world)
    count = len(heard(world, "d"))
    world.run(20.0)
    after = [one.pause for one in heard(world, "d")[count:]]
    assert after[-1] is None
    assert after.count(None) == 1


def test_it_goes_on_to_half_of_the_limit(world: Any) -> None:
    fill(world, 5, 6, 7)
    world.run(3.0)
    empty(world)
    fill(world, 5, 6)
    world.run(3.0)
    assert heard(world, "d")[-1].pause == Pause(6, 2.0)
    empty(world)
    fill(world, 5)
    world.run(3.0)
    assert heard(world, "d")[-1].pause is None


def test_the_smaller_of_its_own_and_its_parents_goes_on(world: Any) -> None:
    fill(world, 5, 6, 7)
    world.hand("a", "b", message(world, 4))
    world.run(2.5)
    assert heard(world, "b")[-1].pause == Pause(4, 2.0)
    assert heard(world, "d")[-1].pause == Pause(4, 2.0)
    world.hand("a", "b", message(world, 9))
    world.run(2.5)
    assert heard(world, "d")[-1].pause == Pause(6, 2.0)


def test_what_a_parent_does_not_repeat_goes_no_further(world: Any) -> None:
    world.hand("a", "b", message(world, 4))
    world.run(LAPSES_AFTER * 2.0 + 4.5)
    count = len(heard(world, "d"))
    assert heard(world, "d")[-1].pause is None
    world.run(20.0)
    assert len(heard(world, "d")) == count


def test_no_pause_comes_back_to_who_began_it(overlay: Any) -> None:
    """a is above b on one tree, and below it on the other."""
    world = a_world(overlay, RING, pause_bytes_max=2 * ROW)
    fill(world, 5, 6, 7, at="a")
    world.run(30.0)
    assert heard(world, "a") == []
    assert {one.tree for one in heard(world, "b")} == {0}
    assert heard(world, "b")[-1].trees == 2
    empty(world, at="a")
    world.run(10.0)
    assert heard(world, "b")[-1].pause is None
    assert heard(world, "d")[-1].pause is None


@pytest.mark.parametrize(
    ("sender", "to"), [("d", "b"), ("c", "a"), ("b", "a"), ("root", "b"), ("e", "d")]
)
def test_a_pause_of_who_is_not_above_is_refused_and_counted(
    world: Any, sender: str, to: str
) -> None:
    world.hand(sender, to, message(world, 4))
    assert heard(world, to) == []
    assert world.peers[to].counts()["refused"] == 1
    world.run(5.0)
    assert heard(world, "d") == []


def test_a_parent_on_another_tree_is_refused_too(world: Any) -> None:
    world.hand("a", "b", message(world, 4, tree=1))
    assert world.peers["b"].counts()["refused"] == 1


def test_one_that_no_query_is_known_for_is_counted(world: Any) -> None:
    world.hand("a", "b", PausesMessage((TreePause("none@root#9", 0, 0, 4, 2.0),)))
    assert heard(world, "b") == []
    assert world.peers["b"].counts()["pause of an unknown query"] == 1


def test_a_removed_query_leaves_no_pause_behind(world: Any) -> None:
    fill(world, 5, 6, 7)
    world.run(3.0)
    world.remove(world.query)
    world.run(5.0)
    relay = world.peers["b"]._pauses
    assert (relay._heard, relay._said, relay._still_until_s) == ({}, set(), {})


def test_what_was_let_go_teaches_nobody_how_long_to_wait(world: Any) -> None:
    world.hand("a", "b", message(world, 4))
    before_s = world.peers["b"].net_dist_s(world.query)
    for pane in range(5, 9):
        world.originate("d", pane, query=world.query)
        world.run(2.0)
    assert world.peers["b"].net_dist_s(world.query) == before_s
