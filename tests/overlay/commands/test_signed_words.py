"""One lying member: it can carry, delay and repeat the words of others, and say none of them."""

import msgspec
import pytest

from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.overlay.commands import commands
from headwater.overlay.messages import AckMessage, CommandMessage, CommandsKnown, StatesMessage
from headwater.plan.command import Count, Install, Remove
from headwater.plan.query import QueryId
from headwater.plan.tree import Tree
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures

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
    keys = {name: SimulatedKey() for name in ("root", "a", "b", "c", "d", OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    world = overlay.World(
        TREE,
        signatures_of=lambda name: SimulatedSignatures(keys[name], keys),
        sign=operator.sign_command,
    )
    world.signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world.query = world.install(sites=("root", "a", "b", "c", "d"))
    world.run(1.0)
    return world


def state(world, site, *, number=1, incarnation=7, **more):
    return SiteState(
        query=world.query,
        ordinal=world.ordinal[site],
        incarnation=incarnation,
        number=number,
        first_pane=0,
        **more,
    )


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


@pytest.mark.parametrize(
    "leap", [{"incarnation": INCARNATION_MAX + 1}, {"incarnation": -1}, {"number": (1 << 53) + 1}]
)
def test_a_number_above_which_there_is_no_room_is_refused_though_it_is_signed(world, leap):
    word = world.signatures["c"].sign_state(state(world, "c", **leap))
    world.hand("a", "root", StatesMessage((word,)))
    assert world.states() == []
    assert world.peers["root"].counts()["refused"] == 1


def test_a_relay_does_not_hand_on_what_its_site_has_not_said(world):
    lie = world.signatures["d"].sign_state(state(world, "c"))
    world.hand("d", "a", StatesMessage((lie,)))
    world.run(2.0)
    assert world.states() == []
    assert world.peers["a"].counts()["refused"] == 1
    assert "refused" not in world.peers["root"].counts()


def test_an_acknowledgement_is_the_roots_own(world):
    """The largest life and everything done: it would deafen a site for good."""
    lie = Acknowledgement(query=world.query, root_incarnation=LEAP, number=9, done_through=FOREVER)
    for word in (lie, world.signatures["a"].sign_ack(lie)):
        world.hand("a", "c", AckMessage(word))
    assert world.acks("c") == []
    assert world.peers["c"].counts()["refused"] == 2
    world.acknowledge(world.query)
    world.run(2.0)
    assert [ack.number for ack in world.acks("c")] == [1]


def test_an_acknowledgement_grows_older_on_the_way_and_stays_the_roots(world):
    true = world.signatures["root"].sign_ack(
        Acknowledgement(query=world.query, root_incarnation=1, number=1, done_through=0)
    )
    world.hand("root", "a", AckMessage(msgspec.structs.replace(true, age_s=3.0)))
    world.run(2.0)
    assert [ack.number for ack in world.acks("c")] == [1]
    assert world.acks("c")[0].age_s > 3.0
    changed = msgspec.structs.replace(true, number=2, done_through=10)
    world.hand("root", "a", AckMessage(changed))
    assert len(world.acks("a")) == 1


# Commands


def live_at(world):
    return {name: world.live(name) for name in world.peers}


def test_a_member_that_commands_in_anybodys_name_is_refused(world, overlay):
    """Its own key signs plans and counts; a command is an operator's."""
    query = overlay.a_query("p", installer="a", root="root", counter=1)
    install = Install(query=query, trees=world.trees, roster_version=1, operator=OPERATOR)
    signatures = world.signatures["a"]
    count = signatures.sign_count(Count(installer="a", number=1, revision=1, live=(str(query.id),)))
    for lie in (install, signatures.sign_command(install)):
        world.hand("a", "root", CommandMessage(signatures.sign_plan(lie), count))
    world.run(5.0)
    assert live_at(world) == {name: {world.query} for name in world.peers}
    assert world.peers["root"].counts()["refused"] >= 2


def test_nobody_counts_for_another(world):
    """One message ended every stream for ever: a number above all, and nothing live."""
    leap = Count(installer="root", number=2**20, revision=2**20)
    for lie in (leap, world.signatures["a"].sign_count(leap)):
        for to in ("c", "d", "root"):
            world.hand("a", to, CommandsKnown((lie,), ()))
    world.run(10.0)
    assert live_at(world) == {name: {world.query} for name in world.peers}
    more = world.install("more")
    world.run(5.0)
    assert all(more in world.live(name) for name in world.peers)


def test_no_message_has_more_counts_looked_at_than_the_limit_and_all_have_their_turn(
    world, monkeypatch
):
    """Ten thousand forged ones held up the loop for a second; and they keep no true one waiting."""
    monkeypatch.setattr(commands, "COUNTS_LOOKED_AT_MAX", 2)
    looked_at = []
    check = SimulatedSignatures.is_count_of

    def is_count_of(self, installer, count):
        looked_at.append(installer)
        return check(self, installer, count)

    monkeypatch.setattr(SimulatedSignatures, "is_count_of", is_count_of)
    forged = [
        world.signatures["a"].sign_count(Count(installer=name, number=1, revision=9))
        for name in ("b", "c", "root")
    ]
    true = [
        world.signatures[name].sign_count(Count(installer=name, number=1, revision=1))
        for name in ("a", "d")
    ]
    for _ in range(5):
        before = len(looked_at)
        world.hand("a", "root", CommandsKnown((*forged, *true), ()))
        assert len(looked_at) - before <= 2
    known = world.peers["root"].commanded()
    assert (known.get("a"), known.get("d"), known.get("b")) == (1, 1, None)


def test_a_leap_is_refused_also_where_it_is_signed(world):
    leap = world.signatures["a"].sign_count(Count(installer="a", number=2**53, revision=2**53))
    world.hand("a", "root", CommandsKnown((leap,), ()))
    assert world.peers["root"].commanded().get("a") is None


def test_a_stolen_site_ends_no_stream_that_others_have_installed(world):
    """It may sign its own count, and a removal in it is an operator's word."""
    query_id = QueryId.parse(world.query)
    removal = Remove(id=query_id, installer="a", counter=1, operator=OPERATOR)
    signatures = world.signatures["a"]
    for lie in (removal, signatures.sign_command(removal)):
        count = signatures.sign_count(
            Count(installer="a", number=1, revision=1, live=(), ended=(lie,))
        )
        world.hand("a", "root", CommandMessage(lie, count))
        world.hand("a", "c", CommandsKnown((count,), ()))
    world.run(10.0)
    assert live_at(world) == {name: {world.query} for name in world.peers}


def test_an_operator_removes_at_any_site(world):
    world.remove(world.query, at="d")
    world.run(10.0)
    assert live_at(world) == {name: set() for name in world.peers}
    assert world.peers["root"].commanded() == world.peers["b"].commanded() == {"root": 1, "d": 1}


def test_trees_are_the_planners_word(world):
    """Plan version 2^53 of somebody else blocked all later plans."""
    live = world.peers["root"].live_queries()[world.query]
    loop = (Tree(0, ((1, 0), (2, 0), (3, 0), (4, 0))),)
    lie = msgspec.structs.replace(live, trees=loop, plan_version=2**50)
    for forged in (lie, world.signatures["a"].sign_plan(lie)):
        world.hand("a", "c", CommandMessage(forged))
    assert world.peers["c"].live_queries()[world.query].plan_version == 0
    version = msgspec.structs.replace(live, trees=loop, plan_version=1)
    world.peers["root"].replan(version, now_s=world.now_s)
    world.collect("root")
    world.run(5.0)
    plans = {peer.live_queries()[world.query].plan_version for peer in world.peers.values()}
    assert plans == {1}


def test_a_true_command_is_not_changed_on_the_way(world, overlay):
    query = overlay.a_query("p", installer="root", root="root", counter=2)
    world.part("a")
    world.install("p")
    install = world.peers["root"].live_queries()["p@root#2"]
    for change in (
        {"query": msgspec.structs.replace(query, sites=("a",))},
        {"roster_version": 7},
        {"operator": "mallory"},
    ):
        world.hand("root", "a", CommandMessage(msgspec.structs.replace(install, **change)))
    assert world.live("a") == {world.query}
    world.hand("root", "a", CommandMessage(install))
    assert world.live("a") == {world.query, "p@root#2"}


def test_what_was_said_with_a_certificate_that_has_ended_is_said_again(overlay):
    """By its installer and root, when it starts anew: whoever comes later must be able to believe
    it, whoever hands it on."""
    keys = {name: SimulatedKey() for name in ("root", "a", "b", "c", "d", OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    world = overlay.World(
        TREE,
        signatures_of=lambda name: SimulatedSignatures(keys[name], keys),
        sign=operator.sign_command,
    )
    query = world.install(sites=("root", "a", "b", "c", "d"))
    world.run(1.0)
    log = world.peers["root"]._commands.log
    installs, counts = list(log.live.values()), list(log.counts.values())
    keys["root"] = SimulatedKey()
    world.part("root")
    world.start("root", installs, counts)
    for child in ("a", "b"):
        world.connect("root", child)
    world.run(5.0)
    world.part("c")
    world.start("c")
    world.connect("a", "c")
    world.run(5.0)
    again = world.peers["c"]._commands.log
    assert list(again.live) == [query]
    assert again.counts["root"].order > counts[0].order
    assert again.live[query].plan_version == installs[0].plan_version + 1
    assert not any(peer.counts().get("refused") for peer in world.peers.values())


def test_what_was_said_with_a_certificate_that_was_renewed_is_said_again_at_once(overlay):
    """No start is needed: the former certificate is still valid, and soon will not be."""
    keys = {name: SimulatedKey() for name in ("root", "a", "b", "c", "d", OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    signatures = {name: SimulatedSignatures(keys[name], keys) for name in keys}
    world = overlay.World(TREE, signatures_of=signatures.get, sign=operator.sign_command)
    query = world.install(sites=("root", "a", "b", "c", "d"))
    world.run(1.0)
    log = world.peers["root"]._commands.log
    install, count = log.live[query], log.counts["root"]
    world.peers["root"].renewed(now_s=world.now_s)
    assert log.counts["root"] is count, "with the same certificate nothing is said again"
    keys["root"] = signatures["root"]._own = SimulatedKey()
    world.peers["root"].renewed(now_s=world.now_s)
    world.run(5.0)
    world.part("c")
    world.start("c")
    world.connect("a", "c")
    world.run(5.0)
    for name in ("a", "c", "d"):
        again = world.peers[name]._commands.log
        assert again.counts["root"].order > count.order
        assert again.live[query].plan_version == install.plan_version + 1
    assert not any(peer.counts().get("refused") for peer in world.peers.values())


def test_lies_are_written_down_with_the_neighbour_that_they_came_from(world):
    lie = world.signatures["a"].sign_state(state(world, "c", sealed_through=FOREVER))
    world.hand("a", "root", StatesMessage((lie, lie)))
    ack = Acknowledgement(query=world.query, root_incarnation=LEAP, number=9, done_through=FOREVER)
    world.hand("a", "c", AckMessage(ack))
    leap = world.signatures["b"].sign_count(Count(installer="b", number=2**52, revision=1))
    world.hand("b", "root", CommandsKnown((leap,), ()))

    def met(peer):
        return [(one.kind, one.sender, one.count) for one in world.peers[peer].lies()]

    assert met("root") == [("not signed", "a", 2), ("leap", "b", 1)]
    assert met("c") == [("not signed", "a", 1)]
    assert "state of c: it is not signed by c" in world.peers["root"].lies()[0].text


def test_what_may_be_chance_is_refused_and_is_no_lie(world):
    ack = world.signatures["root"].sign_ack(
        Acknowledgement(query=world.query, root_incarnation=1, number=9, done_through=0)
    )
    world.hand("b", "root", AckMessage(ack))
    assert world.peers["root"].counts()["refused"] == 1
    assert world.peers["root"].lies() == ()
