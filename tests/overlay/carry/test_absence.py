"""A parent tells the roots whom it has lost: by its own links, signed, as long as that lasts."""

import msgspec
import pytest

from headwater.algebra.route import Route
from headwater.algebra.words.absence import LOST_MAX, Absence
from headwater.overlay.messages import AbsenceMessage
from headwater.overlay.outputs import AbsenceDelivered
from headwater.plan.tree import Tree
from headwater.sim.world.keys import OPERATOR, SimulatedKey, SimulatedSignatures

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


@pytest.fixture
def world(overlay):
    keys = {name: SimulatedKey() for name in (*NAMES, OPERATOR)}
    operator = SimulatedSignatures(keys[OPERATOR], keys)
    world = overlay.World(
        TREE,
        SIBLING,
        signatures_of=lambda name: SimulatedSignatures(keys[name], keys),
        sign=operator.sign_command,
    )
    world.signatures = {name: SimulatedSignatures(key, keys) for name, key in keys.items()}
    world.query = world.install(sites=NAMES)
    world.run(6.0)
    return world


def said(world, name="root"):
    return [output.absence for output in world.of(name, AbsenceDelivered)]


def lost_by(world, since=0):
    """{speaker: lost} of the newest words."""
    name = {ordinal: site for site, ordinal in world.ordinal.items()}
    words = said(world)[since:]
    return {name[one.speaker]: {name[lost] for lost in one.lost} for one in words}


def test_where_all_is_well_nobody_says_anything(world):
    world.run(60.0)
    assert said(world) == []
    assert world.sent["AbsenceMessage"] == 0


def test_each_parent_says_whom_it_has_lost_after_a_while(world):
    world.part("d")
    world.run(3.0)
    assert said(world) == [], "it may have found a host by then"
    world.run(5.0)
    assert lost_by(world) == {"a": {"d"}, "b": {"d"}}


def test_it_is_said_with_every_heartbeat_and_no_longer_than_it_lasts(world):
    world.part("d")
    world.run(20.0)
    count = len(said(world))
    assert count >= 2 * 6
    for other in ("a", "b"):
        world.connect(other, "d")
    world.run(1.0)
    count = len(said(world))
    world.run(20.0)
    assert len(said(world)) == count


def test_a_word_is_dated_by_the_clock_of_the_root(overlay):
    world = overlay.World(TREE, skew_s={"root": 5_000.0, "a": -70.0})
    world.install(sites=NAMES)
    world.run(6.0)
    world.part("c")
    world.run(6.0)
    (word, *_) = said(world)
    assert world.clock_s("root") - 6.0 <= word.clock_s <= world.clock_s("root") + 0.1
    assert word.age_s == pytest.approx(0.01, abs=0.005)


def test_a_root_says_it_of_its_own_children(world):
    world.part("b")
    world.run(8.0)
    assert "root" in lost_by(world)
    assert lost_by(world)["root"] == {"b"}


def test_a_host_says_who_has_come_to_it(world):
    for parent in ("a", "b"):
        world.sever(parent, "d")
    world.run(12.0)
    name = {ordinal: site for site, ordinal in world.ordinal.items()}
    hosts = {name[one.speaker] for one in said(world) if world.ordinal["d"] in one.guests}
    assert hosts, "somebody has taken it in, and says so"
    assert hosts.isdisjoint({"a", "b"})


def test_who_was_never_seen_since_the_start_is_waited_for_longer(overlay):
    world = overlay.World(TREE, linked=False)
    for child, parent in (("a", "root"), ("b", "root"), ("c", "a")):
        world.connect(child, parent)
    world.barred.add(frozenset(("a", "d")))
    world.run(2.0)
    world.install(sites=NAMES)
    world.run(15.0)
    of_d = [one for one in said(world) if world.ordinal["d"] in one.lost]
    assert of_d == []
    world.run(25.0)
    assert [one for one in said(world) if world.ordinal["d"] in one.lost]


def test_what_its_speaker_has_not_signed_is_refused(world):
    forged = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=(3,))
    other = world.signatures["b"].sign_absence(forged)
    for word in (forged, other):
        world.hand("a", "root", AbsenceMessage(word))
    assert said(world) == []
    assert world.peers["root"].counts()["refused"] == 2
    changed = msgspec.structs.replace(world.signatures["a"].sign_absence(forged), lost=(2,))
    world.hand("a", "root", AbsenceMessage(changed))
    assert said(world) == []
    world.hand("a", "root", AbsenceMessage(world.signatures["a"].sign_absence(forged)))
    assert len(said(world)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"speaker": 99},
        {"lost": (99,)},
        {"guests": (99,)},
        {"lost": (4,) * (2 * LOST_MAX + 1)},
        {"age_s": -1.0},
        {"clock_s": 1e13},
    ],
)
def test_what_can_not_be_is_refused(world, change):
    word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=(3,))
    word = world.signatures["a"].sign_absence(msgspec.structs.replace(word, **change))
    world.hand("a", "root", AbsenceMessage(word))
    assert said(world) == []
    assert world.peers["root"].counts()["refused"] == 1


@pytest.mark.parametrize(
    ("speaker", "lost"), [("c", "d"), ("a", "b"), ("d", "d"), ("b", "root"), ("c", "a")]
)
def test_a_word_of_a_member_that_is_no_parent_of_the_site_is_refused(world, speaker, lost):
    """On its first hop, so it goes no further, and the guests that it names count for nothing."""
    word = Absence(
        world.query,
        world.ordinal[speaker],
        clock_s=world.now_s,
        lost=(world.ordinal[lost],),
        guests=(world.ordinal["root"],),
    )
    signed = world.signatures[speaker].sign_absence(word)
    for to in ("root", "a"):
        if to != speaker:
            world.hand(speaker, to, AbsenceMessage(signed))
            assert world.peers[to].counts()["refused"] == 1
    world.run(3.0)
    assert said(world) == []


def test_one_true_loss_carries_no_other(world):
    """a is a parent of c and d; of b it says what it can not know."""
    lost = tuple(sorted(world.ordinal[name] for name in ("b", "d")))
    word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=lost)
    world.hand("a", "root", AbsenceMessage(world.signatures["a"].sign_absence(word)))
    assert said(world) == []
    assert world.peers["root"].counts()["refused"] == 1


def test_it_speaks_for_all_queries_of_the_root_each_with_its_own_trees(world):
    """Those of the named one have a above nobody."""
    star = Tree(0, tuple((world.ordinal[name], 0) for name in NAMES[1:]))
    other = world.install("other", sites=NAMES, tree=star)
    world.run(3.0)
    word = Absence(other, world.ordinal["a"], clock_s=world.now_s, lost=(world.ordinal["d"],))
    world.hand("a", "root", AbsenceMessage(world.signatures["a"].sign_absence(word)))
    assert len(said(world)) == 1


def test_a_word_on_a_way_that_is_none_is_refused(world):
    word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s, lost=(3,))
    signed = world.signatures["a"].sign_absence(word)
    world.hand("a", "root", AbsenceMessage(signed, Route(99)))
    assert said(world) == []
    assert world.peers["root"].counts()["refused"] == 1


def test_nobody_says_it_of_those_above_or_beside(world):
    world.part("a")
    world.run(8.0)
    assert lost_by(world) == {"root": {"a"}}


def test_of_very_many_that_are_lost_the_first_are_named(world, monkeypatch):
    monkeypatch.setattr("headwater.overlay.carry.absence_relay.LOST_MAX", 1)
    world.part("c", "d")
    world.run(8.0)
    assert lost_by(world) == {"a": {"c"}, "b": {"c"}}


def test_a_peer_that_was_asleep_accuses_nobody(world):
    world.part("d")
    world.run(1.0)
    world.asleep = {"a", "b"}
    world.run(30.0)
    world.asleep = set()
    for other in ("a", "b"):
        world.connect(other, "d")
    world.run(3.0)
    assert all(world.ordinal["d"] not in one.lost for one in said(world))


def test_of_a_flood_of_words_so_many_are_looked_at_as_the_budget_has(world):
    per_s = world.config.absences_per_s_max
    for number in range(1_000):
        word = Absence(world.query, world.ordinal["a"], clock_s=world.now_s + number, lost=(3,))
        world.hand("a", "root", AbsenceMessage(world.signatures["a"].sign_absence(word)))
    assert len(said(world)) == 2 * per_s
    assert world.peers["root"].counts()["absence beyond its budget"] == 1_000 - 2 * per_s
    world.run(1.0)
    world.hand("a", "root", AbsenceMessage(world.signatures["a"].sign_absence(word)))
    assert len(said(world)) == 2 * per_s + 1
