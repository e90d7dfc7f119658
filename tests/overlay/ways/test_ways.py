"""Ways are lost and found: who says so, who believes it, and who turns elsewhere."""

import pytest

from headwater.local.trial import try_query
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.outputs import Dial, Hangup

CHAIN = """
root
  a
    c
      d
  b
"""
CROSSED = (
    """
root
  p
    x
      y
  q
  b
    e
""",
    """
root
  q
    y
      x
  b
    e
    p
""",
)
"""x and y are each other's parents, and else they hang from p and q."""
NO_RESORT = OverlayConfig(resort_after_s=float("inf"))


def crossed(overlay):
    world = overlay.World(*CROSSED)
    world.query = world.install()
    world.run(10.0)
    return world


def lead(world, name, query):
    return [way.by for way in world.peers[name].ways(query) if way.leads_on]


def cut_off(world, *names):
    for name in names:
        world.asleep.add(name)
        for other in world.peers.keys() - {name}:
            world.sever(name, other)


def test_whoever_loses_its_way_says_so_at_once(overlay):
    world = overlay.World(CHAIN, config=NO_RESORT)
    query = world.install()
    world.run(10.0)
    assert lead(world, "d", query) == ["tree 0"]
    world.sever("a", "root")
    world.run(1.0)
    assert [lead(world, name, query) for name in "acd"] == [[], [], []]


def test_a_way_that_is_found_again_is_told_at_once(overlay):
    world = overlay.World(CHAIN, config=NO_RESORT)
    query = world.install()
    world.run(10.0)
    world.sever("a", "root")
    world.run(30.0)
    world.originate("d", 4, query=query)
    world.run(1.0)
    world.connect("a", "root")
    world.run(1.0)
    assert [lead(world, name, query) for name in "acd"] == [["tree 0"]] * 3
    assert world.delivered_sites(4) == [{"d"}]


def test_two_that_are_parents_of_each_other_do_not_live_on_hope(overlay):
    """Their own parents are gone. Neither is a way for the other unless it has one of its own."""
    world = crossed(overlay)
    cut_off(world, "p", "q")
    world.run(8.0)
    for pane in range(8, 68):
        assert lead(world, "x", world.query), f"x has lost its way, second {pane}"
        assert lead(world, "y", world.query), f"y has lost its way, second {pane}"
        world.originate("x", pane, query=world.query)
        world.originate("y", pane, query=world.query)
        world.run(1.0)
    world.run(8.0)
    for pane in range(8, 68):
        assert set().union(*world.delivered_sites(pane)) == {"x", "y"}, pane


def test_hosts_are_left_for_trees_that_need_no_host(overlay):
    world = crossed(overlay)
    cut_off(world, "p", "q")
    world.run(8.0)
    assert "last resort" in lead(world, "x", world.query) + lead(world, "y", world.query)
    world.asleep.discard("p")
    for other in ("root", "b", "x"):
        world.connect("p", other)
    world.run(world.config.resort_keep_s + 6.0)
    assert lead(world, "x", world.query) == ["tree 0"]
    assert "last resort" not in lead(world, "y", world.query)


TURNED = (
    """
root
  a
    b
  c
    d
""",
    """
root
  c
    b
      a
  d
""",
)
"""a is the shortest way for b, its parent on the first tree, and hangs from b on the second."""


def test_a_parent_that_goes_by_us_has_another_way_for_us(overlay):
    """In a calm network every summary stays on its tree, whoever is nearer to the root."""
    world = overlay.World(*TURNED)
    query = world.install()
    world.run(20.0)
    assert lead(world, "a", query) == ["tree 0", "tree 1"]
    world.originate("a", 5, query=query)
    world.run(5.0)
    assert world.peers["a"].stages() == {"same tree": 1}
    assert world.peers["b"].stages() == {"same tree": 1}


def test_a_parent_that_has_no_way_but_by_us_is_no_way_for_us(overlay):
    world = overlay.World(*TURNED)
    query = world.install()
    world.run(20.0)
    cut_off(world, "c")
    world.run(6.0)
    assert lead(world, "a", query) == ["tree 0"]
    assert "tree 0" in lead(world, "b", query)


def test_a_full_link_is_a_way_that_one_waits_for(overlay):
    world = overlay.World(CHAIN)
    query = world.install()
    world.run(10.0)
    full = world.config.link_queue_bytes_max
    world.peers["a"].link_load("root", LinkLoad(full), now_s=world.now_s)
    world.originate("c", 4, query=query)
    world.run(12.0)
    assert world.delivered_sites(4) == []
    assert lead(world, "c", query) == ["tree 0"]
    assert not world.of("a", Dial)
    assert not world.of("c", Dial)


def test_silence_is_noticed_when_it_is_due(overlay):
    """Not with the next heartbeat after that, which may be nearly two seconds later."""
    world = overlay.World(CHAIN)
    world.install()
    for phase_s in (10.0, 10.5, 1.0, 1.5):
        world.run(phase_s)
        world.outputs["a"].clear()
        world.deaf = {("root", "a")}
        world.run(world.config.silent_floor_s + 0.05)
        assert Hangup("root") in world.outputs["a"]
        world.deaf = set()
        world.connect("a", "root")
        world.run(20.0)


def test_several_hosts_are_tried_at_once(overlay):
    world = crossed(overlay)
    cut_off(world, "p", "q", "y")
    world.outputs["x"].clear()
    world.run(world.config.resort_after_s + 0.1)
    assert len({dial.site for dial in world.of("x", Dial)} - {"p", "q", "y"}) >= 2


def test_a_search_that_finds_nobody_becomes_rare(overlay):
    world = crossed(overlay)
    cut_off(world, "root")
    world.run(60.0)

    def dials(seconds):
        world.outputs["x"].clear()
        world.run(seconds)
        return len(world.of("x", Dial))

    candidates = len(world.peers)
    assert 0 < dials(300.0) <= 300.0 / world.config.dial_last_s * candidates + candidates


@pytest.mark.parametrize("skew_s", [-5_000.0, 5_000.0])
def test_a_search_survives_a_clock_that_is_set(overlay, skew_s):
    world = crossed(overlay)
    cut_off(world, "p", "q")
    world.run(3.0)
    world.skew_s["x"] = skew_s
    world.run(20.0)
    assert lead(world, "x", world.query)


# Without a query: from where the home can be reached, commands come.


def test_who_has_lost_its_parents_still_hears_of_a_new_query(overlay):
    world = overlay.World(CHAIN)
    world.run(10.0)
    cut_off(world, "a")
    query = world.install()
    world.run(10.0)
    assert all(query in world.peers[name].live_queries() for name in "bcd")


def test_two_that_are_each_others_parents_look_further(overlay):
    """Each has a live parent, and neither has a way home."""
    world = overlay.World(*CROSSED)
    world.run(10.0)
    cut_off(world, "p", "q")
    query = world.install()
    world.run(30.0)
    assert all(query in world.peers[name].live_queries() for name in "bexy")


def guests(world):
    return {guest for peer in world.peers.values() for guest in peer.guests()}


def test_a_host_without_a_query_is_left_when_a_tree_leads_home_again(overlay):
    world = overlay.World(CHAIN)
    world.run(10.0)
    world.sever("c", "a")
    world.run(10.0)
    assert "c" in guests(world)
    world.connect("c", "a")
    world.run(world.config.resort_keep_s + 3 * world.config.heartbeat_every_s)
    assert not guests(world)


def test_a_host_that_answers_when_it_is_not_wanted_any_more_is_hung_up_on(overlay):
    """Else each end would take the other for its guest, and keep the link for ever."""
    world = overlay.World(CHAIN)
    world.run(10.0)
    for host in ("root", "b"):
        world.sever("c", host)
    world.sever("c", "a")
    world.run(5.0)
    assert Dial("b", as_host=True) in world.of("c", Dial)
    world.connect("c", "a")
    world.run(5.0)
    world.connect("c", "b")
    world.run(world.config.heartbeat_every_s)
    assert frozenset(("c", "b")) not in world.links
    assert "c" not in guests(world)


def test_a_calm_federation_without_queries_looks_for_nobody(overlay):
    world = overlay.World(*CROSSED)
    for name in world.peers:
        world.outputs[name].clear()
    world.run(120.0)
    assert not [name for name in world.peers if world.of(name, Dial)]


def test_a_home_that_is_gone_is_looked_for_ever_more_rarely(overlay):
    world = overlay.World(CHAIN)
    world.run(10.0)
    cut_off(world, "root")
    world.run(600.0)
    early = sum(len(world.of(name, Dial)) for name in "abcd")
    world.run(600.0)
    late = sum(len(world.of(name, Dial)) for name in "abcd") - early
    rounds = 600.0 / world.config.dial_last_s
    assert late <= rounds * 4 * 5
    world.asleep.clear()
    for name in "ab":
        world.connect(name, "root")
    query = world.install()
    world.run(world.config.dial_last_s)
    assert all(query in world.peers[name].live_queries() for name in "abcd")


def test_a_link_that_only_a_removed_query_needed_is_closed(overlay):
    world = overlay.World(CHAIN)
    crossed = """
root
  b
    d
  a
    c
"""
    query = world.install(tree=world.tree_of(crossed))
    world.run(10.0)
    assert frozenset(("b", "d")) in world.links
    world.remove(query)
    world.run(10.0)
    assert world.links.keys() == {
        frozenset(pair) for pair in [("root", "a"), ("root", "b"), ("a", "c"), ("c", "d")]
    }


def test_sites_of_a_try_tell_no_places_however_long_it_takes(overlay):
    """A busy machine: the root's turn comes once in minutes."""
    world = overlay.World(CHAIN, config=try_query._settings(5).node.overlay)
    world.install()
    for _ in range(5):
        world.asleep.add("root")
        world.run(300.0)
        world.asleep.discard("root")
        world.run(1.0)
    assert world.sent["CoordinatesMessage"] == 0


@pytest.mark.parametrize("is_a_try", [True, False])
def test_sites_of_a_try_dial_their_neighbours_alone(overlay, is_a_try):
    """When one ends, there is no other way to look for; others would find b, or the root itself."""
    config = try_query._settings(5).node.overlay if is_a_try else OverlayConfig()
    world = overlay.World(CHAIN, config=config)
    world.install()
    world.run(5.0)
    world.sever("root", "a")
    world.run(60.0)
    dialled = {
        (name, one.site)
        for name, outputs in world.outputs.items()
        for one in outputs
        if isinstance(one, Dial)
    }
    strange = dialled - {
        ("root", "a"),
        ("a", "root"),
        ("a", "c"),
        ("c", "a"),
        ("c", "d"),
        ("d", "c"),
    }
    assert bool(strange) != is_a_try
