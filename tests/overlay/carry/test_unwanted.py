"""Relays let go of what nobody wants any more, by the root's word alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.overlay.messages import AckMessage, SummaryMessage

TREE = """
root
  a
    b
    c
  d
"""


@pytest.fixture
def world(overlay: SimpleNamespace) -> Any:
    """Where a waits for b and c, and c says nothing."""
    world = overlay.World(TREE)
    world.query = world.install()
    world.run(5.0)
    return world


def let_go(world: Any, name: str = "a") -> int:
    return int(world.peers[name].counts().get("unwanted", 0))


def test_what_waits_is_let_go_of_when_the_word_comes(world: Any) -> None:
    for pane in (3, 4):
        world.originate("b", pane, query=world.query)
    world.run(0.05)
    world.acknowledge(world.query, unwanted=((4, 6),))
    world.run(60.0)
    assert [summary.pane for summary in world.delivered()] == [3]
    assert let_go(world) == 1


def test_what_comes_after_the_word_goes_no_further(world: Any) -> None:
    """Sent by a site that has not heard it: here because it is told so by hand."""
    world.acknowledge(world.query, unwanted=((4, 6),))
    world.run(0.1)
    summary = world.summary("b", 5, query=world.query)
    world.hand("b", "a", SummaryMessage(summary))
    world.originate("c", 7, query=world.query)
    world.run(60.0)
    assert [summary.pane for summary in world.delivered()] == [7]
    assert let_go(world) == 1


def test_what_is_below_done_through_goes_no_further_either(world: Any) -> None:
    world.acknowledge(world.query, done_through=6)
    world.run(0.1)
    world.hand("b", "a", SummaryMessage(world.summary("b", 5, query=world.query)))
    world.run(60.0)
    assert world.delivered() == []


def test_a_word_that_is_not_the_roots_own_lets_nothing_go(world: Any) -> None:
    """From below, and so from who carries none of the query's acknowledgements to us."""
    forged = Acknowledgement(
        query=world.query, root_incarnation=9, number=9, done_through=0, unwanted=((0, 99),)
    )
    world.hand("b", "a", AckMessage(ack=forged))
    world.originate("b", 5, query=world.query)
    world.run(60.0)
    assert [summary.pane for summary in world.delivered()] == [5]
    assert world.peers["a"].counts()["refused"] == 1
    assert let_go(world) == 0


def test_another_query_loses_nothing_by_it(world: Any) -> None:
    other = world.install("other")
    world.run(5.0)
    world.originate("b", 5, query=other)
    world.run(0.05)
    world.acknowledge(world.query, unwanted=((0, 99),))
    world.run(60.0)
    assert [summary.query for summary in world.delivered()] == [other]


def test_a_newer_root_that_says_less_is_believed(world: Any) -> None:
    world.acknowledge(world.query, unwanted=((4, 6),))
    world.acknowledge(world.query, incarnation=2)
    world.run(0.1)
    world.originate("b", 5, query=world.query)
    world.run(60.0)
    assert [summary.pane for summary in world.delivered()] == [5]


def test_a_state_of_several_panes_goes_on_while_one_of_them_is_wanted(overlay: Any) -> None:
    world = overlay.World(TREE)
    query = world.install(last_n=10, begin_pane=0)
    world.run(5.0)
    world.acknowledge(query, unwanted=((4, 5),))
    world.run(0.1)
    for more in (1, 2):
        state = msgspec.structs.replace(world.summary("b", 4, query=query), more=more)
        world.hand("b", "a", SummaryMessage(state))
    world.run(60.0)
    assert {summary.last for summary in world.delivered()} == {6}
