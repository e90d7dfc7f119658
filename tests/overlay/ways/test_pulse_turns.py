"""Signs of many roots: by need and in turn, and nobody is taken for lost who only waits."""

from __future__ import annotations

import pytest

from headwater.net.values.codec import Codec
from headwater.overlay.config import OverlayConfig
from headwater.overlay.here import Here
from headwater.overlay.links.link import UNSPOKEN_TURNS, Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_heartbeat
from headwater.overlay.messages import BeatContent, Heartbeat
from headwater.overlay.outputs import Dial, Transmit
from headwater.overlay.ways import root_pulses
from headwater.overlay.ways.pulse_turns import PulseTurns
from headwater.overlay.ways.root_pulses import LOST_S, PULSES_MAX, ROOTS_MAX, RootPulse
from headwater.plan.command import Count
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

MANY = 3 * ROOTS_MAX + 5
EVERY_S = OverlayConfig().heartbeat_every_s


def pulses(count: int = MANY, *, lost: frozenset[int] = frozenset()) -> tuple[RootPulse, ...]:
    return tuple(RootPulse(root, LOST_S if root in lost else 1.0) for root in range(count))


def turns_for(needed: frozenset[int], *, count: int = MANY) -> PulseTurns:
    turns = PulseTurns()
    turns.relate({"n": needed}, root_count=count)
    return turns


def roots_of(picked: tuple[RootPulse, ...]) -> list[int]:
    return list(dict.fromkeys(sign.root for sign in picked))


# Whose turn it is


def test_where_all_fit_all_are_spoken_of() -> None:
    turns = turns_for(frozenset({3}), count=ROOTS_MAX)
    said = pulses(ROOTS_MAX)
    assert turns.pick("n", said) is said
    assert turns.turn_beats == 1


def test_every_root_has_its_turn_within_a_turn() -> None:
    turns = turns_for(frozenset(range(MANY)))
    assert turns.turn_beats == 4
    for _ in range(5):
        heard = [roots_of(turns.pick("n", pulses())) for _ in range(turns.turn_beats)]
        assert all(len(roots) == ROOTS_MAX for roots in heard)
        assert set().union(*heard) == set(range(MANY))


def test_roots_on_whose_ways_the_link_lies_come_first() -> None:
    needed = frozenset(range(40, 45))
    turns = turns_for(needed)
    for _ in range(4):
        assert needed <= set(roots_of(turns.pick("n", pulses())))


def test_the_others_take_turns_in_what_room_is_left() -> None:
    turns = turns_for(frozenset(range(8)))
    heard = {root for _ in range(10) for root in roots_of(turns.pick("n", pulses()))}
    assert heard == set(range(MANY))


def test_a_guest_is_told_of_all_in_turn() -> None:
    turns = turns_for(frozenset())
    heard = {root for _ in range(4) for root in roots_of(turns.pick("guest", pulses()))}
    assert heard == set(range(MANY))


def test_links_have_turns_of_their_own() -> None:
    turns = PulseTurns()
    turns.relate({"n": frozenset(range(MANY)), "m": frozenset(range(MANY))}, root_count=MANY)
    first = turns.pick("n", pulses())
    assert roots_of(turns.pick("m", pulses())) == roots_of(first)


def test_a_way_that_was_lost_is_told_before_anything_else() -> None:
    turns = turns_for(frozenset(range(MANY)))
    for _ in range(turns.turn_beats):
        turns.pick("n", pulses())
    turns.pick("n", pulses())
    lost = frozenset({2})
    assert 2 in roots_of(turns.pick("n", pulses(lost=lost))), "it was spoken of a heartbeat ago"
    assert 2 not in roots_of(turns.pick("n", pulses(lost=lost))), "and is no news any more"


def test_roots_that_come_and_go_do_not_silence_the_others() -> None:
    turns = turns_for(frozenset(range(MANY)))
    heard: set[int] = set()
    flapping = frozenset(range(30))
    for beat in range(12):
        heard |= set(roots_of(turns.pick("n", pulses(lost=flapping if beat % 2 else frozenset()))))
    assert heard == set(range(MANY))


def test_two_ways_to_one_root_are_told_together_and_the_heartbeat_stays_bounded() -> None:
    turns = turns_for(frozenset(range(MANY)))
    said = tuple(RootPulse(root, 1.0, via=(n,)) for root in range(MANY) for n in (1, 2))
    for _ in range(5):
        picked = turns.pick("n", said)
        assert len(picked) == PULSES_MAX
        beat = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7, roots=picked)
        assert problem_with_heartbeat(beat) is None
        codec = Codec(lambda _: None)
        assert codec.decode(codec.encode(beat), delay_s=0.0) == beat


def test_a_root_that_was_gone_is_new_when_it_comes_back() -> None:
    turns = turns_for(frozenset(range(MANY)))
    assert 0 in roots_of(turns.pick("n", pulses()))
    assert 0 not in roots_of(turns.pick("n", pulses()[1:]))
    assert 0 in roots_of(turns.pick("n", pulses())), "nothing was said of its new life"


def test_a_link_that_comes_and_goes_within_a_turn_speaks_of_every_root() -> None:
    here = Here.of("a", Roster(1, (Site(0, "a"), Site(1, "n")), home="a"), OverlayConfig())
    neighbours = Neighbours(here)
    roots = frozenset(range(MANY))
    neighbours.set_relations(parents={"n"}, children=set(), roots={"n": roots}, root_count=MANY)
    heard: set[int] = set()
    for number in range(4):
        neighbours.link_up("n", content=BeatContent(1, pulses()), now_s=10.0 * number)
        (said,) = here.tray.take()
        assert isinstance(said, Transmit)
        assert isinstance(said.message, Heartbeat)
        heard |= set(roots_of(said.message.roots))
        neighbours.link_down("n")
    assert heard == roots


# Who listens


def heard(link: Link, roots: range, *, now_s: float, age_s: float = 0.0) -> None:
    beat = Heartbeat(
        sent_s=now_s,
        echo_s=None,
        echo_held_s=0.0,
        digest=0,
        roots=tuple(RootPulse(root, age_s) for root in roots),
    )
    link.receive(beat, now_s=now_s)


def a_link() -> Link:
    link = Link("n", OverlayConfig())
    link.up(now_s=0.0)
    return link


def way_to(link: Link, root: int, *, now_s: float, turn_beats: int, is_above: bool = True) -> bool:
    way = link.way_to(root, level=1, is_above=is_above, turn_beats=turn_beats, now_s=now_s)
    return way is not None


@pytest.mark.parametrize("turn_beats", [1, 4])
def test_patience_with_a_root_is_as_long_as_its_turn(turn_beats: int) -> None:
    link = a_link()
    heard(link, range(3), now_s=0.0)
    life_s = (3 + 1) * EVERY_S * turn_beats
    assert way_to(link, 1, now_s=life_s, turn_beats=turn_beats)
    assert not way_to(link, 1, now_s=life_s + 0.1, turn_beats=turn_beats)


def beats(link: Link, roots: range, *, seconds: float, from_s: float = 0.0) -> float:
    """A heartbeat every so often that speaks of these; when the last one came."""
    count = int(seconds / EVERY_S)
    for number in range(1, count + 1):
        heard(link, roots, now_s=from_s + number * EVERY_S)
    return from_s + count * EVERY_S


def test_a_root_that_a_full_heartbeat_does_not_speak_of_is_not_lost() -> None:
    """The neighbour knows of more roots than we do, and their turn takes longer than we think."""
    link = a_link()
    now_s = beats(link, range(ROOTS_MAX), seconds=60.0)
    assert way_to(link, 99, now_s=now_s, turn_beats=1)
    assert not way_to(link, 99, now_s=now_s, turn_beats=1, is_above=False)


def test_a_root_that_a_heartbeat_with_room_does_not_speak_of_has_no_way() -> None:
    link = a_link()
    now_s = beats(link, range(ROOTS_MAX - 1), seconds=60.0)
    assert not way_to(link, 99, now_s=now_s, turn_beats=1)


def test_what_was_said_of_a_root_is_forgotten_after_three_turns_without_it() -> None:
    link = a_link()
    link.receive(
        Heartbeat(
            sent_s=0.0, echo_s=None, echo_held_s=0.0, digest=0, roots=(RootPulse(99, LOST_S),)
        ),
        now_s=0.0,
    )
    within_s = beats(link, range(ROOTS_MAX), seconds=UNSPOKEN_TURNS * EVERY_S)
    assert not way_to(link, 99, now_s=within_s, turn_beats=1), "it said that there is none"
    later_s = beats(link, range(ROOTS_MAX), seconds=EVERY_S, from_s=within_s)
    assert way_to(link, 99, now_s=later_s, turn_beats=1), "not heard of is not lost"


def test_what_was_said_on_a_former_link_does_not_count_on_the_new_one() -> None:
    link = a_link()
    link.receive(
        Heartbeat(
            sent_s=0.0,
            echo_s=None,
            echo_held_s=0.0,
            digest=0,
            roots=(RootPulse(1, LOST_S), RootPulse(2, 0.0)),
        ),
        now_s=0.0,
    )
    link.down()
    link.up(now_s=1.0)
    assert way_to(link, 1, now_s=1.0, turn_beats=1), "it may have found one since"
    assert not way_to(link, 2, now_s=1.0, turn_beats=1, is_above=False), "and lost the other"


def test_a_lost_way_ends_patience_at_once() -> None:
    link = a_link()
    heard(link, range(ROOTS_MAX), now_s=1.0)
    link.receive(
        Heartbeat(
            sent_s=2.0, echo_s=None, echo_held_s=0.0, digest=0, roots=(RootPulse(1, LOST_S),)
        ),
        now_s=2.0,
    )
    assert not way_to(link, 1, now_s=2.0, turn_beats=4)


def test_a_full_neighbour_that_falls_behind_is_believed_no_longer() -> None:
    """What it does not speak of counts from its last heartbeat, and that grows old too."""
    link = a_link()
    now_s = beats(link, range(ROOTS_MAX), seconds=60.0)
    assert not way_to(link, 99, now_s=now_s + 60.0, turn_beats=1)


# Peers

CHAIN = """
root
  a
    b
      c
"""


def many_rooted(overlay, count: int):
    """A chain, and so many leaves below ``c``, each of which is the root of a query."""
    leaves = [f"l{number:02d}" for number in range(count)]
    drawing = CHAIN + "".join(f"        {leaf}\n" for leaf in leaves)
    world = overlay.World(drawing)
    for number, leaf in enumerate(leaves):
        world.install(f"q{number}", root=leaf, tree=rooted_at(world, leaf))
    return world, leaves


def rooted_at(world, leaf: str) -> Tree:
    """The same links, with another root."""
    links: dict[int, set[int]] = {}
    for child, parent in world.tree.parents:
        links.setdefault(child, set()).add(parent)
        links.setdefault(parent, set()).add(child)
    root = world.ordinal[leaf]
    parents, waiting = {}, [root]
    for one in waiting:
        for other in sorted(links[one] - {parents.get(one)}):
            parents[other] = one
            waiting.append(other)
    return Tree(root, tuple(sorted(parents.items())))


def test_twenty_roots_in_calm_need_no_last_resort_and_all_clocks_are_known(overlay) -> None:
    world, leaves = many_rooted(overlay, 20)
    world.run(60.0)
    trees = {
        frozenset(pair)
        for pair in (
            (world.roster.sites[c].name, world.roster.sites[p].name) for c, p in world.tree.parents
        )
    }
    for name, peer in world.peers.items():
        dialled = {frozenset((name, one.site)) for one in world.of(name, Dial)}
        assert dialled <= trees, f"{name} dials outside of all trees"
        assert peer.guests() == []
        for leaf in leaves:
            assert peer.root_clock(leaf) is not None, f"{name} does not know the clock of {leaf}"
        for query_id, install in peer.live_queries().items():
            if install.query.root != name:
                assert all(way.leads_on for way in peer.ways(query_id)), (name, query_id)


def test_a_heartbeat_speaks_of_no_more_roots_than_it_has_room_for(overlay) -> None:
    world, _ = many_rooted(overlay, 40)
    world.run(30.0)
    beats = [one.message for one in world.of("b", Transmit) if isinstance(one.message, Heartbeat)]
    assert max(len({sign.root for sign in beat.roots}) for beat in beats) == ROOTS_MAX
    assert max(len(beat.roots) for beat in beats) <= PULSES_MAX
    assert world.of("a", Dial) == world.of("b", Dial) == []


def test_of_many_roots_one_that_is_gone_is_given_up_and_the_others_are_not(overlay) -> None:
    world, leaves = many_rooted(overlay, 20)
    world.run(30.0)
    gone = leaves[0]
    world.asleep.add(gone)
    world.part(gone)
    world.run(10.0)
    for name in ("root", "a", "b"):
        ways = {id_: peer_ways(world, name, id_) for id_ in world.peers[name].live_queries()}
        assert not any(ways["q0@root#1"]), f"{name} still believes in {gone}"
        assert all(all(found) for id_, found in ways.items() if id_ != "q0@root#1")


def peer_ways(world, name: str, query_id: str) -> list[bool]:
    ways = world.peers[name].ways(query_id)
    return [way.leads_on for way in ways if way.by != "last resort"]


def test_who_never_had_a_way_says_so_where_silence_could_be_a_turn(overlay) -> None:
    """c starts anew and never finds one of the leaves: it must not be believed for ever."""
    world, leaves = many_rooted(overlay, 20)
    world.run(10.0)
    world.asleep.add(leaves[0])
    world.part(leaves[0])
    live = world.peers["c"].live_queries()
    peer = world.start(
        "c", live.values(), (Count(installer="root", number=20, revision=20, live=tuple(live)),)
    )
    for other in ("b", *leaves[1:]):
        world.sever("c", other)
        world.connect("c", other)
    world.run(60.0)
    assert peer_ways(world, "b", "q0@root#1") == [False]
    assert peer_ways(world, "a", "q0@root#1") == [False]
    assert all(peer_ways(world, "b", "q1@root#2"))
    assert peer.live_queries()


def wayless(roots: range) -> root_pulses.RootPulses:
    found = root_pulses.RootPulses(
        0,
        ways_to=lambda root, now_s: [],
        name_of={root: f"s{root}" for root in roots},
        config=OverlayConfig(),
        patience_s=lambda: 20.0,
    )
    found.set_roots(dict.fromkeys(roots, ()))
    return found


def test_with_few_roots_nothing_is_said_of_one_that_there_never_was_a_way_to() -> None:
    few = wayless(range(1, 4))
    assert [few.say(now_s=float(n)) for n in range(20)] == [()] * 20
    many = wayless(range(1, ROOTS_MAX + 2))
    said = [many.say(now_s=float(n)) for n in range(20)]
    assert said[0] == ()
    assert {sign.age_s for sign in said[-1]} == {LOST_S}


def test_the_word_to_all_is_not_changed_by_whom_it_is_said_to() -> None:
    word = BeatContent(1, pulses())
    turns = turns_for(frozenset({1}))
    turns.pick("n", word.roots)
    assert word.roots == pulses()
