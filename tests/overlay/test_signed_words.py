"""One lying member: it can carry, delay and repeat the words of others, and say none of them."""

import msgspec
import pytest

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.site_state import FOREVER, SiteState
from headwater.overlay.messages import AckMessage, StatesMessage
from headwater.sim.keys import SimulatedKey, SimulatedSignatures

TREE = """
root
  a
    c
    d
  b
"""
LEAP = 2**62


@pytest.fixture
def world(overlay):
    keys = {name: SimulatedKey() for name in ("root", "a", "b", "c", "d")}
    world = overlay.World(TREE, signatures_of=lambda name: SimulatedSignatures(keys[name], keys))
    world.signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world.query = world.install(sites=("root", "a", "b", "c", "d"))
    world.run(1.0)
    return world


def state(world, site, *, number=1, incarnation=7, **more):
    return SiteState(world.query, world.ordinal[site], incarnation, number, first_pane=0, **more)


def test_a_site_is_heard_by_its_own_word_over_relays(world):
    world.report("c", world.query)
    world.run(2.0)
    assert [one.ordinal for one in world.states()] == [world.ordinal["c"]]


@pytest.mark.parametrize("liar", ["a", "b"])
def test_a_member_that_speaks_for_another_site_is_refused(world, liar):
    """Everything empty and sealed, in a life above all others: half of the records, and exact."""
    lie = state(world, "c", incarnation=LEAP, sealed_through=FOREVER, empty=((0, 99),))
    signed = world.signatures[liar].sign_state(lie)
    world.hand(liar, "root", StatesMessage((signed, lie)))
    assert world.states() == []
    assert world.peers["root"].counts()["refused"] == 2
    world.report("c", world.query)
    world.run(2.0)
    assert [one.incarnation for one in world.states()] == [7], "the true site is heard"


def test_a_word_of_which_something_was_changed_is_refused(world):
    true = world.signatures["c"].sign_state(state(world, "c"))
    for change in ({"number": 2}, {"sealed_through": 50}, {"empty": ((1, 2),)}, {"ended": True}):
        world.hand("a", "root", StatesMessage((msgspec.structs.replace(true, **change),)))
    assert world.states() == []
    world.hand("a", "root", StatesMessage((true,)))
    assert len(world.states()) == 1


def test_a_relay_does_not_hand_on_what_its_site_has_not_said(world):
    lie = world.signatures["d"].sign_state(state(world, "c"))
    world.hand("d", "a", StatesMessage((lie,)))
    world.run(2.0)
    assert world.states() == []
    assert world.peers["a"].counts()["refused"] == 1
    assert "refused" not in world.peers["root"].counts()


def test_an_acknowledgement_is_the_roots_own(world):
    """The largest life and everything done: it would deafen a site for good."""
    lie = Acknowledgement(world.query, LEAP, 9, done_through=FOREVER)
    for word in (lie, world.signatures["a"].sign_ack(lie)):
        world.hand("a", "c", AckMessage(word))
    assert world.acks("c") == []
    assert world.peers["c"].counts()["refused"] == 2
    world.acknowledge(world.query)
    world.run(2.0)
    assert [ack.number for ack in world.acks("c")] == [1]


def test_an_acknowledgement_grows_older_on_the_way_and_stays_the_roots(world):
    true = world.signatures["root"].sign_ack(Acknowledgement(world.query, 1, 1, done_through=0))
    world.hand("root", "a", AckMessage(msgspec.structs.replace(true, age_s=3.0)))
    world.run(2.0)
    assert [ack.number for ack in world.acks("c")] == [1]
    assert world.acks("c")[0].age_s > 3.0
    changed = msgspec.structs.replace(true, number=2, done_through=10)
    world.hand("root", "a", AckMessage(changed))
    assert len(world.acks("a")) == 1
