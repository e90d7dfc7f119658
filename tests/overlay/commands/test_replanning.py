"""New trees for a live query: swapped by draining, known to everybody in the end."""

import msgspec
import pytest

FIRST = """
root
  a
    c
    d
  b
    e
"""
SECOND = """
root
  e
    d
    b
  c
    a
"""


@pytest.fixture
def world(overlay):
    world = overlay.World(FIRST)
    world.query = world.install()
    world.run(5.0)
    return world


def replan(world, drawing, *, at="root"):
    install = world.peers[at].live_queries()[world.query]
    trees = (world.tree_of(drawing),)
    new = msgspec.structs.replace(install, trees=trees, plan_version=install.plan_version + 1)
    world.peers[at].replan(new, now_s=world.now_s)
    world.collect(at)


def versions(world):
    return {peer.live_queries()[world.query].plan_version for peer in world.peers.values()}


def counted(world, pane):
    return [sorted(sites) for sites in world.delivered_sites(pane)]


def test_the_new_trees_carry_what_is_sent_from_then_on(world):
    replan(world, SECOND)
    world.run(5.0)
    assert versions(world) == {1}
    for site in "abcde":
        world.originate(site, 7, query=world.query)
    world.run(5.0)
    assert sorted(counted(world, 7)) == [["a", "c"], ["b", "d", "e"]]


def test_what_is_under_way_arrives_by_the_trees_it_began_on(world):
    world.originate("c", 7, query=world.query)
    world.originate("d", 7, query=world.query)
    replan(world, SECOND)
    world.originate("e", 7, query=world.query)
    world.run(8.0)
    found = counted(world, 7)
    assert sorted(site for sites in found for site in sites) == ["c", "d", "e"]


def test_the_former_trees_are_left_when_they_have_drained(world):
    replan(world, SECOND)
    world.run(2 * world.config.summary_life_s + 5.0)
    assert world.peers["d"].neighbours() == {"a", "e"}
    """a: on the federation's own tree; e: on the new one."""


def test_a_peer_that_was_away_learns_of_the_new_plan(world):
    for other in world.peers.keys() - {"d"}:
        world.sever("d", other)
    replan(world, SECOND)
    world.run(10.0)
    assert world.peers["d"].live_queries()[world.query].plan_version == 0
    world.connect("d", "a")
    world.run(20.0)
    assert versions(world) == {1}


def test_only_the_root_plans_anew(world):
    replan(world, SECOND, at="a")
    assert versions(world) == {0}
    assert "refused" in world.notices("a")


def test_an_older_plan_never_comes_back(world):
    old = world.peers["root"].live_queries()[world.query]
    replan(world, SECOND)
    world.run(5.0)
    world.peers["root"].replan(old, now_s=world.now_s)
    world.collect("root")
    world.run(10.0)
    assert versions(world) == {1}


def test_a_new_plan_tells_the_roots_clock_as_it_is_now(world):
    """Else all would take a clock for set that is as old as the query."""
    world.run(100.0)
    before_s = world.peers["c"].root_clock("root").offset_s
    told_s = world.now_s
    replan(world, SECOND)
    world.run(0.5)
    install = world.peers["root"].live_queries()[world.query]
    assert (install.plan_version, install.root_clock_s) == (1, told_s)
    assert install.age_s < 1.0
    assert abs(world.peers["c"].root_clock("root").offset_s - before_s) < 0.1
