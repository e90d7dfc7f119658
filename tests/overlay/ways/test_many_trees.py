"""Peers on several trees: stripes, detours, the last resort, and the way back."""

import pytest

from headwater.overlay.carry.ack_relay import tree_of
from headwater.overlay.config import OverlayConfig
from headwater.overlay.outputs import Dial, Hangup

FIRST = """
root
  a
    c
    d
  b
    e
    f
"""
SECOND = """
root
  c
    a
    e
  f
    b
    d
"""


@pytest.fixture
def world(overlay):
    world = overlay.World(FIRST, SECOND)
    world.query = world.install()
    world.run(5.0)
    return world


def kill(world, *names):
    for name in names:
        world.asleep.add(name)
        for other in world.peers:
            if other != name:
                world.sever(name, other)


def counted(world, pane):
    return set().union(set(), *world.delivered_sites(pane))


def send(world, pane, *, sites=("a", "b", "c", "d", "e", "f")):
    for site in sites:
        if site not in world.asleep:
            world.originate(site, pane, query=world.query)
    world.run(8.0)


def test_panes_are_striped_over_the_trees(world):
    send(world, 4)
    send(world, 5)
    assert counted(world, 4) == counted(world, 5) == set("abcdef")
    assert sorted(map(len, world.delivered_sites(4))) == [3, 3]
    assert {frozenset(sites) for sites in world.delivered_sites(4)} == {
        frozenset("acd"),
        frozenset("bef"),
    }
    assert {frozenset(sites) for sites in world.delivered_sites(5)} == {
        frozenset("cae"),
        frozenset("fbd"),
    }


def test_a_dead_parent_is_gone_around_on_another_tree(world):
    kill(world, "a")
    world.run(6.0)
    send(world, 4)
    assert counted(world, 4) == set("bcdef")
    assert world.peers["d"].stages() == {"up*": 1}


def test_with_all_parents_dead_a_site_turns_to_the_root_itself(world):
    """d hangs from a and from f: with both gone no tree leads on from it."""
    kill(world, "a", "f")
    world.run(12.0)
    send(world, 4)
    assert counted(world, 4) == set("bcde")
    assert world.peers["d"].stages() == {"last resort": 1}
    assert [way.by for way in world.peers["d"].ways(world.query) if way.leads_on] == ["last resort"]


def test_the_host_is_left_when_a_tree_leads_on_again(world):
    kill(world, "a", "f")
    world.run(12.0)
    world.asleep.discard("f")
    for other in ("root", "b", "d"):
        world.connect("f", other)
    world.run(world.config.resort_keep_s + 12.0)
    assert all(way.by != "last resort" for way in world.peers["d"].ways(world.query))
    send(world, 4)
    assert counted(world, 4) == set("bcdef")


def test_guests_are_limited_and_try_somebody_else(overlay):
    world = overlay.World(FIRST, SECOND, config=OverlayConfig(guests_max=1))
    world.query = world.install()
    world.run(5.0)
    kill(world, "c", "f", "a", "b")
    world.run(40.0)
    assert world.of("root", Hangup)
    assert world.of("d", Dial)
    assert world.of("e", Dial)
    assert len(world.peers["root"].guests()) == 1


def test_acknowledgements_go_back_the_way_that_summaries_come(world):
    """d reaches the root by its last resort only, and so do acknowledgements reach d."""
    kill(world, "a", "f")
    world.run(12.0)
    send(world, 4)
    for number in (1, 2):
        world.acknowledge(world.query, number=number)
        world.run(1.0)
    assert {1, 2} & {ack.number for ack in world.acks("d")}


def test_a_parent_that_is_up_and_cut_off_is_left(overlay):
    """a is connected to its children and to nobody else: its news of the root grow old."""
    world = overlay.World(FIRST, SECOND)
    world.query = world.install()
    world.run(5.0)
    for other in ("root", "b", "e", "f"):
        world.sever("a", other)
    world.sever("c", "a")
    world.run(25.0)
    ways = {way.by: way.leads_on for way in world.peers["d"].ways(world.query)}
    assert ways == {"tree 0": False, "tree 1": True}


def test_root_clocks_are_known_whatever_the_own_clock_shows(overlay):
    world = overlay.World(FIRST, SECOND, skew_s={"d": 3_000.0, "f": -0.5, "root": 7.0})
    world.install()
    world.run(20.0)
    offsets = {name: world.peers[name].root_clock("root").offset_s for name in "adf"}
    assert offsets == pytest.approx({"a": 7.0, "d": -2_993.0, "f": 7.5}, abs=0.001)


def test_coordinates_are_known_to_all_in_the_end(overlay):
    world = overlay.World(FIRST, config=OverlayConfig(coordinates_every_s=5.0), one_way_s=0.02)
    world.run(60.0)
    table = world.peers["d"].coordinates()
    assert set(table) == set(world.peers)
    assert table["d"].distance_s(table["a"]) == pytest.approx(0.04, rel=0.5)


def test_heartbeats_keep_to_their_budget(overlay):
    """160 bytes for each of three links, and 240 bytes a second: every two seconds."""
    config = OverlayConfig(heartbeat_bytes_s_max=240)
    world = overlay.World(FIRST, SECOND, config=config)
    before = world.peers["a"].heartbeat_count()
    world.run(60.0)
    assert world.peers["a"].heartbeat_count() - before == pytest.approx(3 * 60 / 2, rel=0.1)
    assert not any("silent" in world.peers[name].counts() for name in world.peers)


def test_two_that_have_only_each_other_left_do_not_believe_each_other(overlay):
    """c and d are each other's only living parent, and x, an ancestor of both, leads to the root:
    one of them takes x as its host and keeps it, the other goes by the first."""
    first = """
    root
      a
        c
          d
      b
        x
    """
    second = """
    root
      b
        d
          c
      x
        a
    """
    world = overlay.World(first, second)
    world.query = world.install()
    world.run(10.0)
    kill(world, "a", "b")
    world.run(30.0)
    for pane in range(4, 34):
        for site in ("c", "d", "x"):
            world.originate(site, pane, query=world.query)
        world.run(2.0)
    world.run(10.0)
    lacking = [pane for pane in range(4, 34) if counted(world, pane) != {"c", "d", "x"}]
    assert lacking == []


def test_who_was_cut_off_itself_dials_everybody_anew_when_the_first_link_opens(world):
    """b is alone for two minutes, so its pauses have grown to half a minute."""
    kill(world, "b")
    world.asleep.discard("b")
    world.run(120.0)
    for other in ("root", "e", "f"):
        world.barred.discard(frozenset(("b", other)))
    world.connect("b", "e")
    world.run(2.0)
    assert {frozenset(("b", "root")), frozenset(("b", "f"))} <= world.links.keys()


def test_acknowledgements_that_come_in_turn_go_down_all_trees():
    """Panes are spelled out in turn too: in step with it a tree would always tell the same ones."""
    for count in (2, 3, 4):
        for step in range(1, 9):
            assert {tree_of(n, count) for n in range(0, 500 * step, step)} == set(range(count))
