"""Leaves of an acknowledgement on their way: to whom they are handed, and which are believed.

Each site has a leaf of its own: ordinals are as far apart as leaves are wide.
"""

import msgspec
import pytest

from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    Acknowledgement,
    PaneHeld,
    with_leaves,
)
from headwater.overlay.carry.ack_relay import tree_of
from headwater.overlay.carry.bringers import Bringers
from headwater.overlay.messages import AckMessage, SummaryMessage
from headwater.overlay.outputs import Transmit
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures

FIRST = """
root
  a
    c
      x
    d
  b
    e
    f
"""
SECOND = """
root
  e
    a
    b
      d
  f
    c
    x
"""
CHAIN = """
root
  a
    b
      c
  d
    e
"""
NAMES = ("root", "a", "b", "c", "d", "e", "f", "x")
ON_FIRST = next(number for number in range(1, 99) if tree_of(number, 2) == 0)
ON_SECOND = next(number for number in range(1, 99) if tree_of(number, 2) == 1)


def a_world(overlay, *drawings, **options):
    keys = {name: SimulatedKey() for name in (*NAMES, OPERATOR)}
    signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world = overlay.World(
        *drawings,
        apart=LEAF_SITES,
        signatures_of=signatures.__getitem__,
        sign=signatures[OPERATOR].sign_command,
        **options,
    )
    world.signatures = signatures
    world.query = world.install()
    world.run(5.0)
    return world


@pytest.fixture
def world(overlay):
    return a_world(overlay, FIRST, SECOND)


@pytest.fixture
def chain(overlay):
    return a_world(overlay, CHAIN)


def everyone(world):
    """One pane, held from all: each leaf says something."""
    return [PaneHeld(7, sum(1 << ordinal for ordinal in world.ordinal.values()))]


def whole(world, number=1, *, panes=None):
    """As its root signs it."""
    head = Acknowledgement(query=world.query, root_incarnation=1, number=number, done_through=0)
    ack = with_leaves(head, panes=everyone(world) if panes is None else panes)
    return world.signatures["root"].sign_ack(ack)


def acknowledge(world, number=1):
    world.acknowledge(world.query, number=number, panes=everyone(world))
    world.run(1.0)


def names(world, ack):
    of = {ordinal // LEAF_SITES: name for name, ordinal in world.ordinal.items()}
    return {of[leaf.number] for leaf in ack.leaves}


def handed(world, giver, taker):
    """The leaves in each acknowledgement from one to the other, by the names of their sites."""
    return [
        names(world, output.message.ack)
        for output in world.of(giver, Transmit)
        if output.to == taker and isinstance(output.message, AckMessage)
    ]


def only(ack, world, *wanted):
    numbers = [world.ordinal[name] // LEAF_SITES for name in wanted]
    leaves = tuple(leaf for leaf in ack.leaves if leaf.number in numbers)
    return msgspec.structs.replace(ack, leaves=leaves)


def has_own(world, name):
    """The numbers of the acknowledgements of which this site got its leaf, each delivery."""
    acks = world.acks(name)
    return [ack.number for ack in acks if ack.leaf_of(world.ordinal[name]) is not None]


# To whom


def test_a_child_gets_the_leaves_of_those_below_it_on_any_tree(world):
    acknowledge(world, ON_FIRST)
    assert handed(world, "root", "a") == [{"a", "c", "d", "x"}]
    assert handed(world, "root", "b") == [{"b", "d", "e", "f"}]
    assert handed(world, "a", "c") == [{"c", "x"}]
    assert handed(world, "c", "x") == [{"x"}]
    assert handed(world, "b", "e") == [{"e", "b", "d"}], (
        "of a and b, which it has on the other tree"
    )
    for name in NAMES:
        assert has_own(world, name) == [ON_FIRST]


def test_the_next_one_goes_down_the_next_tree_and_reaches_everybody_too(world):
    acknowledge(world, ON_SECOND)
    assert handed(world, "root", "e") == [{"a", "b", "d", "e"}]
    assert handed(world, "e", "a") == [{"a", "d"}], "c and x hang elsewhere on this tree"
    for name in NAMES:
        assert has_own(world, name) == [ON_SECOND]


def test_a_head_whose_leaves_are_all_empty_goes_alone(world):
    world.acknowledge(world.query, number=ON_FIRST, panes=[PaneHeld(7, 0)])
    world.run(1.0)
    assert handed(world, "root", "a") == [set()]
    assert has_own(world, "x") == [ON_FIRST], "it is told that nothing is held from it"


def test_a_guest_gets_all_leaves_that_its_host_has(chain):
    chain.connect("e", "root")
    summary = chain.signatures["e"].sign_update(chain.summary("e", 3, query=chain.query))
    chain.hand("e", "root", SummaryMessage(summary))
    acknowledge(chain)
    assert handed(chain, "root", "e") == [{"root", "a", "b", "c", "d", "e"}]


@pytest.mark.parametrize("kind", ["summary", "state"])
def test_the_leaf_of_a_guest_comes_down_the_way_that_its_word_went_up(chain, kind):
    """e can reach nobody but b: no tree says that e is below a."""
    for other in ("root", "a", "c", "d"):
        chain.sever("e", other)
    chain.run(40.0)
    assert [way.parent for way in chain.peers["e"].ways(chain.query) if way.leads_on] == ["b"]
    acknowledge(chain, 1)
    assert handed(chain, "root", "a") == [{"a", "b", "c"}]
    if kind == "summary":
        chain.originate("e", 3, query=chain.query)
    else:
        chain.report("e", chain.query)
    chain.run(5.0)
    acknowledge(chain, 2)
    assert handed(chain, "root", "a")[1:] == [{"a", "b", "c", "e"}]
    assert handed(chain, "a", "b")[1:] == [{"b", "c", "e"}]
    assert handed(chain, "b", "e") == [{"b", "c", "e"}]
    assert handed(chain, "b", "c")[1:] == [{"c"}]
    assert has_own(chain, "e") == [2]


def test_what_somebody_brought_is_forgotten_in_the_end():
    bringers = Bringers(keep_s=10.0)
    bringers.came("q", 0, "a", 0b01, now_s=0.0)
    bringers.came("q", 0, "a", 0b10, now_s=9.0)
    bringers.came("q", 0, "a", 0b100, now_s=12.0)
    assert bringers.sites_of("q", "a", now_s=19.0) == 0b111, "at least as long as a guest is one"
    assert bringers.sites_of("q", "a", now_s=23.0) == 0b100
    assert bringers.sites_of("q", "a", now_s=60.0) == 0
    bringers.came("q", 0, "a", 0b01, now_s=60.0)
    assert bringers.sites_of("q", "a", now_s=-1_000.0) == 0, "the clock was set back"
    assert bringers.sites_of("p", "a", now_s=60.0) == bringers.sites_of("q", "b", now_s=60.0) == 0


def test_who_is_lost_is_no_guest_until_it_comes_again():
    bringers = Bringers(keep_s=10.0)
    bringers.came("q", 1, "a", 0b01, now_s=0.0)
    assert bringers.on_tree("q", 1, now_s=1.0) == ["a"]
    assert bringers.on_tree("q", 0, now_s=1.0) == []
    assert bringers.on_tree("q", 1, now_s=11.0) == []
    assert bringers.on_tree("q", 1, now_s=-11.0) == [], "the clock was set back"
    bringers.link_down("a")
    assert bringers.on_tree("q", 1, now_s=1.0) == []
    assert bringers.sites_of("q", "a", now_s=1.0) == 0b01, "but what it carries, it carries"
    bringers.came("q", 1, "a", 0, now_s=2.0)
    assert bringers.on_tree("q", 1, now_s=3.0) == ["a"]


def test_a_child_that_was_away_is_owed_the_newest_head_with_its_leaves(world):
    world.sever("a", "c")
    world.sever("f", "c")
    acknowledge(world, ON_FIRST)
    assert world.acks("c") == []
    world.connect("a", "c")
    world.run(2.0)
    assert handed(world, "a", "c") == [{"c", "x"}]
    assert has_own(world, "c")[-1] == has_own(world, "x")[-1] == ON_FIRST


def test_what_is_owed_and_came_down_another_tree_may_be_a_head_alone(world):
    """a has c below it on the first tree; e, who hands on to a on the second, has not."""
    world.sever("a", "c")
    world.sever("f", "c")
    acknowledge(world, ON_SECOND)
    world.connect("a", "c")
    world.run(2.0)
    assert [ack.number for ack in world.acks("c")] == [ON_SECOND]
    assert has_own(world, "c") == []
    later = next(n for n in range(ON_SECOND + 1, 99) if tree_of(n, 2) == 0)
    acknowledge(world, later)
    assert has_own(world, "c") == [later], "the next one down the first tree has it"


def test_a_relay_that_was_started_again_hands_on_what_comes_next(world):
    acknowledge(world, ON_FIRST)
    installs = list(world.peers["a"].live_queries().values())
    counts = world.durable_counts("a")
    for other in NAMES:
        if other != "a":
            world.sever("a", other)
    world.start("a", installs, counts)
    for other in ("root", "c", "d", "e"):
        world.connect("a", other)
    world.run(2.0)
    later = next(n for n in range(ON_FIRST + 1, 99) if tree_of(n, 2) == 0)
    acknowledge(world, later)
    assert has_own(world, "c")[-1] == has_own(world, "x")[-1] == later


def test_after_a_new_plan_leaves_go_by_its_trees_and_by_the_former_ones(chain):
    acknowledge(chain, 1)
    assert handed(chain, "root", "a") == [{"a", "b", "c"}]
    live = chain.peers["root"].live_queries()[chain.query]
    trees = (chain.tree_of("root\n  a\n    e\n  d\n    b\n      c"),)
    install = msgspec.structs.replace(live, trees=trees, plan_version=1)
    chain.peers["root"].replan(install, now_s=chain.now_s)
    chain.collect("root")
    for child, parent in (("e", "a"), ("b", "d")):
        chain.connect(child, parent)
    chain.run(5.0)
    acknowledge(chain, 2)
    assert handed(chain, "root", "a")[1:] == [{"a", "b", "c", "e"}]
    assert handed(chain, "a", "e")[-1] == {"e"}
    for name in ("a", "b", "c", "d", "e"):
        assert has_own(chain, name) == [1, 2]


# What is believed


def lies(world, true):
    """By name: leaves that are not those of this head."""
    (leaf,) = only(true, world, "c").leaves
    more = msgspec.structs.replace(leaf, panes=(PaneHeld(7, 1), PaneHeld(8, 1)))
    moved = msgspec.structs.replace(leaf, number=world.ordinal["b"] // LEAF_SITES)
    stranger = msgspec.structs.replace(leaf, number=99)
    return {"changed": (more,), "another site's": (moved,), "that does not exist": (stranger,)}


@pytest.mark.parametrize("lie", ["changed", "another site's", "that does not exist"])
def test_a_leaf_that_is_not_the_heads_is_refused_and_the_head_stays(chain, lie):
    true = whole(chain, panes=[PaneHeld(7, 1 << chain.ordinal["c"] | 1 << chain.ordinal["b"] + 9)])
    forged = msgspec.structs.replace(true, leaves=lies(chain, true)[lie])
    chain.hand("b", "c", AckMessage(forged))
    (heard,) = chain.acks("c")
    assert heard.leaves == ()
    assert chain.peers["c"].counts()["refused"] == 1
    chain.hand("b", "c", AckMessage(true))
    assert has_own(chain, "c") == [1], "the true one is taken when it comes"


def test_a_leaf_of_another_head_is_refused_unless_it_says_the_same(chain):
    true = whole(chain, 1)
    other = whole(chain, 2, panes=[PaneHeld(8, 1 << chain.ordinal["c"])])
    same = whole(chain, 3)
    chain.hand("b", "c", AckMessage(msgspec.structs.replace(true, leaves=other.leaves)))
    assert has_own(chain, "c") == []
    chain.hand("b", "c", AckMessage(msgspec.structs.replace(true, leaves=same.leaves)))
    assert has_own(chain, "c") == [1]


def test_a_relay_hands_on_no_leaf_that_is_not_the_heads(chain):
    true = whole(chain)
    chain.hand(
        "root", "a", AckMessage(msgspec.structs.replace(true, leaves=lies(chain, true)["changed"]))
    )
    chain.run(1.0)
    assert handed(chain, "a", "b") == [set()]
    assert "refused" not in chain.peers["b"].counts()


def test_leaves_that_were_withheld_are_taken_from_another_and_handed_on_alone(chain):
    """a gets the head alone, then a leaf that nobody here needs, then the rest."""
    true = whole(chain)
    chain.hand("root", "a", AckMessage(only(true, chain)))
    chain.run(1.0)
    assert has_own(chain, "c") == []
    chain.hand("root", "a", AckMessage(only(true, chain, "d")))
    chain.run(1.0)
    assert handed(chain, "a", "b") == [set()]
    assert len(chain.acks("a")) == 1, "it says nothing of a"
    chain.hand("root", "a", AckMessage(true))
    chain.hand("root", "a", AckMessage(true))
    chain.run(1.0)
    assert handed(chain, "a", "b") == [set(), {"b", "c"}], "once"
    assert handed(chain, "b", "c") == [set(), {"c"}]
    assert has_own(chain, "a") == has_own(chain, "b") == has_own(chain, "c") == [1]
    assert chain.acks("c")[-1].age_s > 1.0, "it is as old as its head"


def test_leaves_are_not_handed_back_to_who_brought_them(world):
    """e is b's child on the first tree, and b's parent on the second."""
    true = whole(world, ON_FIRST)
    world.hand("root", "b", AckMessage(only(true, world)))
    world.hand("e", "b", AckMessage(true))
    assert handed(world, "b", "e") == [set()]
    assert handed(world, "b", "f")[-1] == {"f", "c", "x"}


def test_nothing_of_a_removed_query_is_remembered(chain):
    chain.originate("c", 3, query=chain.query)
    chain.run(5.0)
    acknowledge(chain)
    relay = chain.peers["a"]._acks
    assert relay._below
    assert relay._bringers._found
    chain.remove(chain.query)
    chain.run(5.0)
    assert not relay._below
    assert not relay._bringers._found


def test_leaves_come_to_the_newest_head_only(chain):
    first, second = whole(chain, 1), whole(chain, 2)
    chain.hand("b", "c", AckMessage(only(first, chain)))
    chain.hand("b", "c", AckMessage(only(second, chain)))
    chain.hand("b", "c", AckMessage(first))
    assert has_own(chain, "c") == []


def test_leaves_that_come_while_a_link_is_full_are_owed(chain):
    true = whole(chain)
    chain.hand("root", "a", AckMessage(only(true, chain)))
    chain.run(1.0)
    chain.sever("a", "b")
    chain.hand("root", "a", AckMessage(true))
    chain.connect("a", "b")
    chain.run(2.0)
    assert handed(chain, "a", "b")[-1] == {"b", "c"}
    assert has_own(chain, "c") == [1]
