"""What a node believes of its wall clock, and how numbers that clocks got wrong are healed."""

from __future__ import annotations

import pytest
from pane_kit import NumbersMerger, make_query, make_roster, state

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane
from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.config import EdgeConfig
from headwater.edge.report import BatchReport
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.node.wall_clock import WallClock
from headwater.overlay.messages import AckMessage, StatesMessage
from headwater.plan.command import Count, Install
from headwater.plan.notice import Notice
from headwater.plan.tree import Tree

ROSTER = make_roster(2)
TREE = Tree(0, ((1, 0),))
DAY_S = 86_400.0


def clock() -> WallClock:
    return WallClock(settle_s=60.0)


def test_a_clock_that_is_a_day_ahead_for_three_polls_is_not_believed():
    wall = clock()
    for second in (0.0, 2.0, 4.0):
        assert not wall.hear(90_000.0, now_s=second)
    assert not wall.hear(0.0, now_s=6.0)
    for second in range(8, 200):
        assert not wall.hear(0.0, now_s=float(second))
    assert (wall.ahead_s, wall.step_count) == (0.0, 1)


@pytest.mark.parametrize("ahead_s", [-DAY_S, -1.0, 1.0, DAY_S])
def test_a_clock_that_was_set_is_believed_when_it_has_stood(ahead_s):
    wall = clock()
    assert not wall.hear(ahead_s, now_s=100.0)
    assert not wall.hear(ahead_s + 0.1, now_s=159.9)
    assert wall.ahead_s == 0.0
    assert wall.hear(ahead_s, now_s=160.0)
    assert wall.ahead_s == ahead_s
    assert wall.doubted_s is None


def test_a_clock_that_does_not_stand_still_is_never_believed():
    wall = clock()
    for second in range(0, 1000, 30):
        assert not wall.hear(float(second), now_s=float(second))
    assert wall.ahead_s == 0.0


def test_a_second_step_to_the_same_time_is_doubted_as_the_first_was():
    wall = clock()
    wall.hear(DAY_S, now_s=0.0)
    wall.hear(0.0, now_s=6.0)
    assert not wall.hear(DAY_S, now_s=100.0)
    assert not wall.hear(DAY_S, now_s=159.0)
    assert wall.hear(DAY_S, now_s=160.0)
    assert wall.step_count == 2


def test_what_a_clock_shows_less_than_is_believed_is_known_while_it_is_doubted():
    wall = clock()
    shown = [(0.0, -30.0), (2.0, 0.0), (4.0, 30.0), (6.0, -40.0), (66.0, -40.0)]
    found = []
    for now_s, ahead_s in shown:
        wall.hear(ahead_s, now_s=now_s)
        found.append(wall.behind_s)
    assert found == [30.0, 0.0, 0.0, 40.0, 0.0]


def test_drift_is_no_step():
    wall = clock()
    for second in range(0, 1000, 10):
        assert not wall.hear(0.0004 * second, now_s=float(second))
    assert wall.step_count == 0


def make_node(name: str, **options) -> Node:
    node = Node(
        site=name,
        roster=ROSTER,
        trees=(TREE,),
        config=NodeConfig(edge=EdgeConfig(clock_settle_s=10.0)),
        merger_of=lambda _: NumbersMerger(),
        incarnation=1000,
        root_incarnation=50,
        **options,
    )
    node.restore(
        commands=(Install(query=QUERY, trees=(TREE,), roster_version=1),),
        counts=(Count(installer="s0", number=1, revision=1, live=(str(QUERY.id),)),),
        now_s=0.0,
    )
    node.link_up("s1" if name == "s0" else "s0", now_s=0.0)
    node.tick(now_s=0.0)
    node.take()
    return node


QUERY = make_query(begin_pane=0)
ID = str(QUERY.id)


def effects_of(node: Node, kind: type) -> list:
    return [effect for effect in node.take() if isinstance(effect, kind)]


def test_a_node_closes_by_the_clock_that_it_believes():
    node = make_node("s1")
    node.batch_committed(BatchReport("hits", read_through_s=1.0), now_s=1.0)
    for second in (1.0, 3.0, 5.0):
        assert not node.wall_clock(90_000.0, now_s=second)
        node.tick(now_s=second)
    assert node.edge.progress()[0].record.closed_through == 0
    assert node.wall_clock(90_000.0, now_s=11.0)
    node.tick(now_s=11.0)
    assert node.edge.progress()[0].record.closed_through == 0, "the read was by the former clock"
    node.batch_committed(BatchReport("hits", read_through_s=11.0), now_s=11.0)
    node.tick(now_s=11.0)
    assert node.edge.progress()[0].record.closed_through == 9_001
    kinds = [notice.kind for notice in effects_of(node, Notice)]
    assert [kind for kind in kinds if "clock" in kind] == ["clock steps", "clock was set"]


def test_a_node_seals_nothing_by_a_clock_that_it_sees_set_back():
    sealed = {}
    for ahead_s in (0.0, -30.0):
        node = make_node("s1")
        for second in (200_000.0, 200_004.0, 200_008.0):
            node.wall_clock(ahead_s, now_s=second)
            node.batch_committed(BatchReport("hits", read_through_s=second), now_s=second)
            node.tick(now_s=second)
        assert node.is_clock_doubted == (ahead_s < 0.0)
        sealed[ahead_s] = node.edge.progress()[0].record.sealed_through
    assert sealed[-30.0] <= sealed[0.0] - 3, "of 10 s each"


def test_a_site_that_is_greeted_as_a_later_life_takes_one_above_it_once():
    node = make_node("s1")
    hail = (Greeting(ordinal=1, incarnation=7_000, number=3),)
    for number in (1, 2):
        told = with_leaves(
            Acknowledgement(query=ID, root_incarnation=50, number=number, done_through=-FOREVER),
            greetings=hail,
        )
        node.receive("s0", AckMessage(told), now_s=1.0)
    assert effects_of(node, do.LiveAnew) == [do.LiveAnew(7_000)]
    node.lives_anew(8_000, now_s=2.0)
    for second in range(2, 20):
        node.tick(now_s=float(second))
    told_states = [
        effect.message.states
        for effect in effects_of(node, do.Transmit)
        if isinstance(effect.message, StatesMessage)
    ]
    assert {one.incarnation for one in told_states[-1]} == {8_000}


def test_a_root_that_is_outdated_takes_a_life_above_the_one_that_sites_know_once():
    node = make_node("s0")
    for number in (1, 2):
        told = state(QUERY, 1, of=9, number=number, root_incarnation=70)
        node.receive("s1", StatesMessage((told,)), now_s=1.0)
    assert effects_of(node, do.RiseAbove) == [do.RiseAbove(70)]
    node.risen(71, now_s=2.0)
    node.tick(now_s=20.0)
    acks = [
        effect.message.ack
        for effect in effects_of(node, do.Transmit)
        if isinstance(effect.message, AckMessage)
    ]
    assert {one.root_incarnation for one in acks} == {71}


def test_roots_know_the_clock_and_the_life_of_the_ledger_whenever_they_begin():
    node = make_node("s0")
    node.wall_clock(DAY_S, now_s=1.0)
    assert node.wall_clock(DAY_S, now_s=11.0)
    node.risen(71, now_s=11.0)
    later = make_query(name="later", counter=2, begin_pane=0)
    node.command(Install(query=later, trees=(TREE,), roster_version=2), now_s=12.0)
    for query in (QUERY, later):
        root = node.root(str(query.id))
        assert root is not None
        assert (root.windows.ahead_s, root.incarnation) == (DAY_S, 71)


def test_rows_that_are_lost_give_back_their_room_and_decline_all_their_panes():
    """A send of a state query may stand for several panes."""
    node = make_node("s1")
    node.batch_committed(BatchReport("hits", read_through_s=1.0), now_s=1.0)
    room = node.progress().loading_bytes
    send = do.LoadAndSend(ID, 3, ((1, 1),), Coverage(), Lane.LIVE, 100, more=2)
    node.rows_lost(send, "checksum", now_s=2.0)
    assert node.progress().loading_bytes == room - 100
    assert [one.panes for one in effects_of(node, do.Expire)] == [(3,), (4,), (5,)]
