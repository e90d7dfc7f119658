"""For whom a relay does not hold a pane: as far as it has heard who sends nothing of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headwater.algebra.pane_draw import pane_draw
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.site_state import REFUSED, Declined, Reason, SiteState
from headwater.overlay.carry.let_go import STRETCHES_KEPT
from headwater.overlay.messages import AbsenceMessage, StatesMessage

TREE = """
root
  a
    c
    d
  b
"""
SIBLING = """
root
  b
    c
    d
  a
"""
NAMES = ("root", "a", "b", "c", "d")
SOON_S = 0.1
"""Enough for the way, and far below any hold."""


def a_world(overlay: Any, *siblings: str, **query: Any) -> Any:
    world = overlay.World(TREE, *siblings)
    world.query = world.install(sites=NAMES, **query)
    world.run(6.0)
    return world


@pytest.fixture
def world(overlay: Any) -> Any:
    return a_world(overlay)


def tell(world: Any, site: str, number: int = 1, **facts: Any) -> None:
    state = SiteState(
        query=world.query,
        ordinal=world.ordinal[site],
        incarnation=7,
        number=number,
        first_pane=0,
        **facts,
    )
    world.hand(site, "a", StatesMessage((state,)))


def is_held(world: Any, pane: int, *, sites: tuple[str, ...] = ("a", "d")) -> bool:
    """Whether a still holds the pane when all of these sites below it have sent it."""
    count = len(world.peers["a"]._carrier.list)
    for site in sites:
        world.originate(site, pane, query=world.query)
        world.run(SOON_S)
    return len(world.peers["a"]._carrier.list) > count


def test_a_site_of_which_nothing_is_known_is_held_for(world: Any) -> None:
    assert is_held(world, 7)


def test_a_site_that_has_declined_the_pane_is_not(world: Any) -> None:
    tell(world, "c", declined=(Declined(5, 9, Reason.FAILED),))
    assert not is_held(world, 7)
    assert is_held(world, 10)


def test_a_site_that_refuses_the_query_is_not(world: Any) -> None:
    tell(world, "c", status=REFUSED)
    assert not is_held(world, 7)


def test_the_newest_word_holds_whatever_comes_later(world: Any) -> None:
    declined = (Declined(5, 9, Reason.FAILED),)
    tell(world, "c", number=2, declined=(*declined, Declined(11, 11, Reason.LOST)))
    tell(world, "c", number=1)
    assert not is_held(world, 7)
    assert not is_held(world, 11)


def test_of_many_stretches_the_newest_are_kept(world: Any) -> None:
    declined = [Declined(2 * n, 2 * n, Reason.FAILED) for n in range(STRETCHES_KEPT + 1)]
    tell(world, "c", declined=tuple(declined))
    assert not is_held(world, declined[-1].first)
    assert is_held(world, declined[0].first)


def test_what_is_sent_of_it_all_the_same_gets_through(world: Any) -> None:
    tell(world, "c", declined=(Declined(5, 9, Reason.FAILED),))
    assert not is_held(world, 7)
    world.originate("c", 7, query=world.query)
    world.run(10.0)
    assert set().union(*world.delivered_sites(7)) == {"a", "c", "d"}


def test_a_child_that_its_only_parent_has_lost_is_not_held_for(world: Any) -> None:
    world.part("c")
    world.run(8.0)
    assert not is_held(world, 7)


def test_one_that_another_parent_may_have_is_held_for(overlay: Any) -> None:
    """On the tree of an even pane a is above c; on that of an odd one b is, which says nothing."""
    world = a_world(overlay, SIBLING)
    world.sever("a", "c")
    world.run(8.0)
    assert is_held(world, 8)


def test_when_all_parents_have_lost_it_nobody_is_held_for(overlay: Any) -> None:
    world = a_world(overlay, SIBLING)
    world.part("c")
    world.run(8.0)
    lost = (world.ordinal["c"],)
    word = Absence(world.query, world.ordinal["b"], clock_s=world.now_s, lost=lost)
    world.hand("b", "a", AbsenceMessage(word))
    assert not is_held(world, 8)


def test_a_word_of_absence_lapses(overlay: Any) -> None:
    world = a_world(overlay)
    lost = (world.ordinal["c"],)
    word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=lost)
    world.peers["a"]._carrier._let_go.hear_absence(word, now_s=world.now_s)
    world.run(4.0)
    assert not is_held(world, 7)
    world.run(2.0)
    assert is_held(world, 8)


def test_what_a_word_of_absence_has_been_on_its_way_counts(world: Any) -> None:
    lost = (world.ordinal["c"],)
    word = Absence(world.query, world.ordinal["a"], clock_s=0.0, lost=lost, age_s=6.0)
    world.peers["a"]._carrier._let_go.hear_absence(word, now_s=world.now_s)
    assert is_held(world, 7)


def test_a_word_to_another_root_says_nothing_to_this_one(world: Any) -> None:
    live = world.peers["a"]._router.live
    live["other"] = msgspec.structs.replace(live[world.query], id="other", root="b")
    word = Absence("other", world.ordinal["a"], clock_s=0.0, lost=(world.ordinal["c"],))
    world.peers["a"]._carrier._let_go.hear_absence(word, now_s=world.now_s)
    assert is_held(world, 7)


def test_who_is_heard_since_is_held_for(world: Any) -> None:
    lost = (world.ordinal["c"],)
    word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=lost)
    world.peers["a"]._carrier._let_go.hear_absence(word, now_s=world.now_s)
    world.run(0.2)
    world.originate("c", 6, query=world.query)
    world.run(SOON_S)
    assert is_held(world, 7)


def test_sites_of_which_a_random_demand_has_not_drawn_the_pane_are_not_held_for(
    overlay: Any,
) -> None:
    world = a_world(overlay)
    live = world.peers["a"]._router.live
    query = live[world.query]
    draw = pane_draw(world.query, panes=10, count=5, is_apart=True)
    live[world.query] = msgspec.structs.replace(query, draw=draw)
    both = [p for p in range(40, 140) if all(draw.has(p, world.ordinal[s]) for s in ("a", "d"))]
    undrawn = next(pane for pane in both if not draw.has(pane, world.ordinal["c"]))
    drawn = next(pane for pane in both if draw.has(pane, world.ordinal["c"]))
    assert not is_held(world, undrawn)
    assert is_held(world, drawn)


def test_of_more_sites_than_are_kept_the_others_are_held_for(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.overlay.carry.let_go.DECLINING_MAX", 0)
    tell(world, "c", declined=(Declined(5, 9, Reason.FAILED),))
    assert is_held(world, 7)


def test_of_those_that_are_kept_the_newest_word_holds_where_there_is_no_place_for_others(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.overlay.carry.let_go.DECLINING_MAX", 1)
    for number, pane in ((1, 7), (2, 11)):
        tell(world, "c", number=number, declined=(Declined(pane, pane, Reason.FAILED),))
    assert not is_held(world, 11)
