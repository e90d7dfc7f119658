"""A query by age begins when the neighbours agree on its root's clock, or have been waited for.

s4 hangs on s1, s2 and s3, one in each of three trees; s0 is the root.
"""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import NumbersMerger, make_query, make_roster

from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.clocks.clock_votes import DISAGREE_WAITS
from headwater.overlay.messages import CommandMessage, Heartbeat
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.command import Install
from headwater.plan.query import TimeKind
from headwater.plan.tree import Tree

TREES = tuple(Tree(0, ((1, 0), (2, 0), (3, 0), (4, above))) for above in (1, 2, 3))
CONFIG = NodeConfig()
QUERY = msgspec.structs.replace(make_query(), time=TimeKind.AGE)


def node_of(*trees: Tree) -> Node:
    node = Node(
        site="s4",
        roster=make_roster(5),
        trees=trees,
        config=CONFIG,
        merger_of=lambda _: NumbersMerger(),
        incarnation=7,
    )
    node.restore(commands=(), counts=(), cube=(), ledgers=(), now_s=0.0)
    node.receive("s1", CommandMessage(Install(QUERY, trees, roster_version=1)), now_s=1.0)
    for parent in ("s1", "s2", "s3"):
        node.link_up(parent, now_s=1.0)
    return node


def beat(node: Node, parent: str, *, now_s: float, offset_s: float = 50.0) -> None:
    sign = RootPulse(root=0, age_s=0.1, clock_s=now_s + offset_s, spread_s=0.01)
    node.receive(
        parent,
        Heartbeat(sent_s=now_s, echo_s=now_s - 0.01, echo_held_s=0.0, digest=0, roots=(sign,)),
        now_s=now_s,
    )


def has_begun(node: Node, *, now_s: float) -> bool:
    node.tick(now_s=now_s)
    return any(isinstance(effect, do.Installed) for effect in node.take())


def test_it_waits_for_three_who_agree():
    node = node_of(*TREES)
    for parent, now_s in (("s1", 1.5), ("s2", 2.0)):
        beat(node, parent, now_s=now_s)
        assert not has_begun(node, now_s=now_s), f"with {parent} it has too few"
    beat(node, "s3", now_s=3.0)
    assert has_begun(node, now_s=5.1)
    assert node.edge.offset_us(str(QUERY.id)) == pytest.approx(50_005_000, abs=100)


def test_it_waits_longer_where_two_disagree_and_not_for_ever():
    node = node_of(*TREES)
    beat(node, "s1", now_s=1.5)
    beat(node, "s2", now_s=1.5, offset_s=86_400.0)
    away_s = DISAGREE_WAITS * CONFIG.overlay.clock_vote_s
    assert not has_begun(node, now_s=1.5 + away_s - 5.0)
    assert has_begun(node, now_s=1.5 + away_s + 2.1)


def test_it_does_not_wait_for_ever_for_one_who_is_away():
    node = node_of(*TREES)
    for parent in ("s1", "s2"):
        beat(node, parent, now_s=1.5)
    assert not has_begun(node, now_s=3.6)
    assert has_begun(node, now_s=1.5 + CONFIG.overlay.clock_vote_s + 2.1)


def test_with_one_parent_it_begins_at_its_word():
    node = node_of(TREES[0])
    beat(node, "s1", now_s=1.5)
    assert has_begun(node, now_s=3.6)
