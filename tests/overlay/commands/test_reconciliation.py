"""Commands reach everybody, whoever was away when they were given."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.overlay.commands.command_log import CommandLog
from headwater.overlay.commands.reconciliation import Reconciliation
from headwater.overlay.messages import (
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Heartbeat,
    SummaryMessage,
)
from headwater.overlay.outputs import CommandAccepted, CountsLearned, Transmit
from headwater.overlay.tray import Tray
from headwater.plan.command import Count, Install, Remove
from headwater.plan.notice import Notice

TREE = """
root
  a
    c
    d
  b
"""
RECONCILED_S = 8.0
"""A few rounds of heartbeats and comparisons, one for each level of the tree."""


@pytest.fixture
def world(overlay):
    return overlay.World(TREE)


def messages(world, name, kind):
    return [t.message for t in world.of(name, Transmit) if isinstance(t.message, kind)]


def test_a_command_is_flooded_over_the_tree_before_any_heartbeat(world):
    query = world.install(at="d")
    world.run(4 * world.one_way_s)
    for name in world.peers:
        assert world.live(name) == {query}
        assert [type(command) for command in world.accepted(name)] == [Install]


def test_a_command_is_laid_down_before_it_is_told_to_others(world):
    world.outputs["root"].clear()
    world.install()
    kinds = [type(output) for output in world.outputs["root"]]
    assert kinds.index(CommandAccepted) < kinds.index(Transmit)
    (count,) = world.of("root", CommandAccepted)[0].counts
    assert (count.installer, count.number) == ("root", 1)


def test_peers_that_know_the_same_compare_nothing(world):
    world.install()
    world.run(1.0)
    for outputs in world.outputs.values():
        outputs.clear()
    world.run(30.0)
    assert all(not messages(world, name, CommandsKnown) for name in world.peers)


def test_a_peer_that_was_away_catches_up_with_installs_and_removals(world):
    kept, gone = world.install("kept"), world.install("gone")
    world.run(1.0)
    world.part("a", "c", "d")
    world.remove(gone)
    new = world.install("new")
    passed_by = world.install("passed_by")
    world.remove(passed_by)
    world.run(10.0)
    assert world.live("c") == {kept, gone}
    world.connect("a", "root")
    world.run(RECONCILED_S)
    for name in world.peers:
        assert world.live(name) == {kept, new}
    assert passed_by not in {str(c.query.id) for c in world.accepted("c") if type(c) is Install}
    (removal,) = [command for command in world.accepted("a") if isinstance(command, Remove)]
    assert str(removal.id) == gone


def test_a_query_that_came_and_went_leaves_only_a_count(world):
    world.sever("b", "root")
    world.remove(world.install())
    world.run(1.0)
    world.connect("b", "root")
    world.run(RECONCILED_S)
    assert world.accepted("b") == []
    (count,) = world.of("b", CountsLearned)[-1].counts
    assert (count.number, count.live) == (2, ())


def test_a_removal_never_comes_back_from_a_peer_that_was_away_for_long(world):
    query = world.install()
    world.run(1.0)
    world.part("b")
    world.remove(query)
    world.run(100.0)
    assert world.live("b") == {query}
    world.connect("b", "root")
    world.run(RECONCILED_S)
    assert all(not world.live(name) for name in world.peers)
    assert [type(c) for c in world.accepted("root")] == [Install, Remove]


def test_commands_given_on_both_sides_of_a_cut_meet(world):
    world.sever("a", "root")
    here = world.install("here", at="root")
    there = world.install("there", at="c")
    world.run(5.0)
    world.connect("a", "root")
    world.run(RECONCILED_S)
    for name in world.peers:
        assert world.live(name) == {here, there}


def test_of_one_name_given_twice_the_same_one_wins_everywhere_and_the_owner_is_told(world):
    world.sever("a", "root")
    low = world.install("same", at="b")
    high = world.install("same", at="c")
    world.run(5.0)
    world.connect("a", "root")
    world.run(RECONCILED_S)
    for name in world.peers:
        assert world.live(name) == {high}
    told = [n.text for n in world.of("b", Notice) if n.kind == "name-lost"]
    assert len(told) == 1
    assert low in told[0]


def test_a_new_install_of_a_name_replaces_the_old_one(world):
    old = world.install("same")
    world.run(1.0)
    new = world.install("same")
    world.run(1.0)
    for name in world.peers:
        assert world.live(name) == {new}
    assert old in {str(c.id) for c in world.accepted("c") if isinstance(c, Remove)}


def test_who_loses_its_name_leaves_the_count_with_its_removal(world):
    """A crash between the two would leave a query that is counted and not there."""
    world.install("same")
    world.outputs["root"].clear()
    new = world.install("same")
    kept = world.of("root", CommandAccepted)
    (removal,) = [one for one in kept if isinstance(one.command, Remove)]
    assert [count.live for count in removal.counts] == [(new,)]


def test_a_restarted_peer_knows_what_was_durable_and_learns_the_rest(world):
    kept = world.install("kept")
    world.run(1.0)
    durable = world.of("b", CommandAccepted)
    world.sever("b", "root")
    new = world.install("new")
    world.start("b", [c.command for c in durable], world.durable_counts("b"))
    assert world.live("b") == {kept}
    world.connect("b", "root")
    world.run(RECONCILED_S)
    assert world.live("b") == {kept, new}


def test_an_installer_that_lost_its_disk_counts_on_from_what_others_know(world):
    world.remove(world.install(at="b"), at="b")
    world.run(1.0)
    world.sever("b", "root")
    world.start("b")
    world.connect("b", "root")
    world.run(RECONCILED_S)
    assert world.peers["b"].next_counter() == 3
    again = world.install(at="b")
    world.run(1.0)
    assert all(world.live(name) == {again} for name in world.peers)


def test_a_query_tree_of_its_own_brings_its_own_neighbours(world, overlay):
    tree = type(world.tree)(world.ordinal["c"], ((world.ordinal["b"], world.ordinal["c"]),))
    assert world.peers["b"].neighbours() == {"root"}
    query = world.install(root="c", tree=tree)
    world.run(2.0)
    assert world.peers["b"].neighbours() == {"root", "c"}
    assert frozenset(("b", "c")) in world.links
    world.originate("b", 1, query=query)
    world.run(0.1)
    assert [output.sender for output in world.outputs["c"] if hasattr(output, "sender")] == ["b"]
    world.remove(query)
    world.run(1.0)
    assert world.peers["b"].neighbours() == {"root"}


def test_the_age_of_an_install_grows_on_its_way(world):
    world.part("b")
    world.install()
    world.run(20.0)
    world.connect("b", "root")
    world.run(RECONCILED_S)
    (install,) = world.accepted("b")
    assert 20.0 <= install.age_s <= 20.0 + RECONCILED_S


def test_an_install_that_lay_on_disk_says_nothing_of_the_roots_clock(world):
    """How long it lay there is not known, so its age would be believed and be wrong."""
    query_id = world.install()
    install = msgspec.structs.replace(
        world.peers["root"].live_queries()[query_id], root_clock_s=1_000.0
    )
    log = CommandLog()
    log.restore([install], (Count(installer="root", number=1, revision=1, live=(query_id,)),))
    reconciliation = Reconciliation(log, Tray(notice_every_s=1.0), every_s=5.0)
    assert reconciliation.with_age(install, now_s=5_000.0).root_clock_s is None
    reconciliation.installed(query_id, now_s=5_000.0)
    held = reconciliation.with_age(install, now_s=5_020.0)
    assert (held.root_clock_s, held.age_s) == (1_000.0, install.age_s + 20.0)


def test_a_summary_that_overtakes_the_first_heartbeat_does_not_delay_the_comparison(world):
    """Data and heartbeats have connections of their own."""
    known = world.install("known")
    world.run(1.0)
    world.sever("b", "root")
    new = world.install("new")
    world.connect("b", "root")
    world.hand("b", "root", SummaryMessage(world.summary("b", 1, query=known)))
    world.run(6 * world.one_way_s)
    assert world.live("b") == {known, new}


def test_an_install_that_is_asked_for_comes_with_its_installers_count(world):
    """A site reads what is complete when it knows that it has all queries of a unit."""
    query = world.install()
    world.outputs["root"].clear()
    world.hand("b", "root", AskInstall((query,)))
    (answer,) = messages(world, "root", CommandMessage)
    assert str(answer.command.query.id) == query
    assert (answer.count.number, answer.count.live) == (1, (query,))


def test_comparing_is_limited_while_it_does_not_help(world):
    """A neighbour whose digest never agrees costs one message in a while, not one a heartbeat."""
    world.outputs["b"].clear()
    for _ in range(1_000):
        world.hand(
            "root", "b", Heartbeat(sent_s=world.now_s, echo_s=None, echo_held_s=0.0, digest=1)
        )
    assert len(messages(world, "b", CommandsKnown)) == 1


links = st.sampled_from([("root", "a"), ("root", "b"), ("a", "c"), ("a", "d")])
sites = st.sampled_from(["root", "a", "b", "c", "d"])
events = st.lists(
    st.one_of(
        st.tuples(st.just("sever"), links),
        st.tuples(st.just("connect"), links),
        st.tuples(st.just("install"), sites),
        st.tuples(st.just("remove"), sites),
        st.tuples(st.just("restart"), sites),
        st.tuples(st.just("wait"), st.sampled_from([0.005, 0.05, 2.5])),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(events)
def test_after_any_partitions_all_peers_know_the_same(overlay, script):
    world = overlay.World(TREE)
    removed = set()
    for kind, what in script:
        run_event(world, removed, kind, what)
    for left, right in (("root", "a"), ("root", "b"), ("a", "c"), ("a", "d")):
        world.connect(left, right)
    world.run(3 * RECONCILED_S)
    live = {frozenset(world.live(name)) for name in world.peers}
    assert len(live) == 1
    assert not removed & set().union(*live)


def run_event(world, removed, kind, what):
    if kind == "wait":
        world.run(what)
    elif kind in ("sever", "connect"):
        getattr(world, kind)(*what)
    elif kind == "install":
        world.install(f"q{len(world.live(what))}", at=what)
    elif kind == "remove" and world.live(what):
        query = min(world.live(what))
        before = world.live(what)
        world.remove(query, at=what)
        removed.update(before - world.live(what))
    elif kind == "restart":
        restart(world, what)


def restart(world, name):
    """A new life with exactly what the outputs said must be durable."""
    live = {}
    for output in world.outputs[name]:
        if isinstance(output, CommandAccepted):
            command = output.command
            if isinstance(command, Install):
                live[str(command.query.id)] = command
            else:
                live.pop(str(command.id), None)
    for link in [link for link in world.links if name in link]:
        world.sever(*link)
        world.barred.discard(link)
    assert set(live) == world.live(name)
    world.start(name, list(live.values()), world.durable_counts(name))
