"""Settings for a query that runs, among peers: they spread, converge, outlive restarts and a member
that was away; and nobody's are taken who is no operator."""

import msgspec
import pytest

from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER
from headwater.overlay.messages import AlterMessage, CommandMessage
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX, Settings
from headwater.plan.command import Alter, Count, Install
from headwater.plan.query import QueryId
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures

TREE = """
root
  a
    c
    d
  b
"""
NAMES = ("root", "a", "b", "c", "d")


@pytest.fixture
def world(overlay):
    keys = {name: SimulatedKey() for name in (*NAMES, OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    world = overlay.World(
        TREE,
        signatures_of=lambda name: SimulatedSignatures(keys[name], keys),
        sign=operator.sign_command,
    )
    world.signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world.query = world.install(begin_pane=0)
    world.run(1.0)
    return world


def an_alter(world, number, *, at="root", first_pane=None, **settings):
    return Alter(
        id=QueryId.parse(world.query),
        installer=at,
        counter=world.peers[at].next_counter(),
        number=number,
        first_pane=10 * number if first_pane is None else first_pane,
        settings=Settings(**settings),
    )


def give(world, alter):
    problem = world.peers[alter.installer].command(
        world.sign(alter), now_s=world.clock_s(alter.installer)
    )
    world.collect(alter.installer)
    return problem


def numbers(world, name):
    (install,) = world.peers[name].live_queries().values()
    return [one.number for one in install.alters]


def deadline_s(world, name, pane):
    (install,) = world.peers[name].live_queries().values()
    return install.settings.at(pane).deadline_s


def test_settings_reach_everyone_and_are_durable_with_the_install(world):
    assert give(world, an_alter(world, 1, deadline_s=30.0)) is None
    world.run(2.0)
    for name in NAMES:
        assert numbers(world, name) == [1]
        assert [deadline_s(world, name, pane) for pane in (9, 10)] == [10.0, 30.0]
        *_, kept = world.accepted(name)
        assert isinstance(kept, Install)
        assert [one.number for one in kept.alters] == [1]


def test_who_was_away_learns_of_them_and_of_those_that_came_in_between(world):
    world.part("c")
    give(world, an_alter(world, 1, deadline_s=30.0))
    give(world, an_alter(world, 2, deadline_s=40.0))
    world.run(2.0)
    assert numbers(world, "c") == []
    world.connect("a", "c")
    world.run(30.0)
    assert numbers(world, "c") == [1, 2]
    digests = {world.peers[name]._commands.log.digest for name in NAMES}
    assert len(digests) == 1


def test_of_two_given_at_once_all_choose_the_same(world):
    world.part("b")
    ours, theirs = an_alter(world, 1, deadline_s=30.0), an_alter(world, 1, at="b", deadline_s=40.0)
    give(world, ours)
    give(world, theirs)
    world.run(2.0)
    world.connect("root", "b")
    world.run(30.0)
    chosen = {deadline_s(world, name, 10) for name in NAMES}
    assert chosen == {30.0}, "root is the higher name"


def test_new_trees_leave_the_settings(world):
    give(world, an_alter(world, 1, deadline_s=30.0))
    world.run(2.0)
    (install,) = world.peers["root"].live_queries().values()
    again = msgspec.structs.replace(install, plan_version=1, alters=())
    world.peers["root"].replan(again, now_s=world.clock_s("root"))
    world.collect("root")
    world.run(2.0)
    assert [numbers(world, name) for name in NAMES] == [[1]] * 5
    *_, kept = world.accepted("c")
    assert (kept.plan_version, len(kept.alters)) == (1, 1)


def test_those_whose_panes_are_over_are_forgotten(world):
    give(world, an_alter(world, 1))
    give(world, an_alter(world, 2))
    world.run(1.0)
    world.peers["root"].acknowledge(
        Acknowledgement(query=world.query, root_incarnation=1, number=1, done_through=20),
        now_s=world.clock_s("root"),
    )
    world.collect("root")
    world.run(2.0)
    give(world, an_alter(world, 3))
    world.run(2.0)
    assert numbers(world, "c") == [2, 3], "1 holds for no pane that is left"


def test_so_many_are_kept_and_no_more(world):
    for number in range(1, SETTINGS_KEPT_MAX + 1):
        assert give(world, an_alter(world, number)) is None
    problem = give(world, an_alter(world, SETTINGS_KEPT_MAX + 1))
    assert problem is not None
    assert "are kept of windows that are not over" in problem
    assert len(numbers(world, "root")) == SETTINGS_KEPT_MAX


# Who says what is not theirs to say


def refused(world, alter, *, sign=True, to="root", sender="a", count=None):
    """What the peer has taken of it, and how often it has refused something."""
    before = world.peers[to].counts().get("refused", 0)
    said = world.sign(alter) if sign else alter
    world.hand(sender, to, AlterMessage(said, count))
    return numbers(world, to), world.peers[to].counts().get("refused", 0) - before


def test_a_site_without_an_operators_right_is_refused(world):
    alter = msgspec.structs.replace(an_alter(world, 1, at="a"), operator=OPERATOR)
    for lie in (alter, world.signatures["a"].sign_command(alter)):
        assert refused(world, lie, sign=False) == ([], 1)
    kinds = [one.kind for one in world.peers["root"].lies()]
    assert kinds == ["not signed"]


def test_a_word_of_which_something_was_changed_is_refused(world):
    true = world.sign(an_alter(world, 1, at="a", deadline_s=30.0))
    for change in ({"first_pane": 11}, {"number": 2}, {"settings": Settings(deadline_s=1.0)}):
        lie = msgspec.structs.replace(true, **change)
        assert refused(world, lie, sign=False) == ([], 1)
    assert refused(world, true, sign=False) == ([1], 0)


def test_older_ones_that_are_said_again_change_nothing_and_are_counted(world):
    old = world.sign(an_alter(world, 1, deadline_s=30.0))
    give(world, an_alter(world, 1, deadline_s=20.0, first_pane=0))
    give(world, an_alter(world, 2, deadline_s=40.0, first_pane=0))
    world.run(1.0)
    world.peers["root"].acknowledge(
        Acknowledgement(query=world.query, root_incarnation=1, number=1, done_through=20),
        now_s=world.clock_s("root"),
    )
    world.collect("root")
    give(world, an_alter(world, 3, deadline_s=50.0))
    world.run(1.0)
    assert refused(world, old, sign=False) == ([2, 3], 0)
    assert world.peers["root"].counts()["settings overtaken"] == 1
    assert deadline_s(world, "root", 25) == 40.0


@pytest.mark.parametrize(
    "change",
    [
        {"number": 1 << 53},
        {"number": 0},
        {"first_pane": -FOREVER},
        {"first_pane": -1},
        {"first_pane": FOREVER},
        {"counter": 0},
        {"counter": (1 << 53) + 1},
        {"installer": "nobody"},
        {"settings": Settings(deadline_s=float("inf"))},
        {"settings": Settings(deadline_s=float("nan"))},
        {"settings": Settings(revise_every_s=-1.0)},
    ],
)
def test_what_makes_no_sense_is_refused_though_an_operator_has_signed_it(world, change):
    alter = msgspec.structs.replace(an_alter(world, 1, at="a"), **change)
    assert refused(world, alter) == ([], 1)


def test_settings_for_an_unknown_or_removed_query_are_refused(world):
    alter = an_alter(world, 1, at="a")
    unknown = msgspec.structs.replace(alter, id=QueryId("none", "root", 7))
    assert refused(world, unknown) == ([], 1)
    world.remove(world.query)
    world.run(2.0)
    world.hand("a", "root", AlterMessage(world.sign(alter)))
    assert world.live("root") == set()
    assert world.peers["root"].counts()["refused"] == 2


def test_the_count_that_comes_with_them_is_looked_at_as_any(world):
    alter = an_alter(world, 1, at="a")
    leap = Count(installer="root", number=2**20, revision=2**20)
    assert refused(world, alter, count=leap) == ([], 1)
    own = Count(installer="a", number=1, revision=1)
    assert refused(world, alter, count=own) == ([], 1)
    signed = world.signatures["a"].sign_count(own)
    assert refused(world, alter, count=signed) == ([1], 0)


def test_settings_within_an_install_are_left_alone(world):
    """They travel by themselves, each with its own proof."""
    (install,) = world.peers["root"].live_queries().values()
    lie = msgspec.structs.replace(
        install, plan_version=1, alters=(an_alter(world, 1, at="a", deadline_s=99.0),)
    )
    signed = world.signatures["root"].sign_plan(lie)
    world.hand("a", "c", CommandMessage(signed))
    (known,) = world.peers["c"].live_queries().values()
    assert (known.plan_version, known.alters) == (1, ())
