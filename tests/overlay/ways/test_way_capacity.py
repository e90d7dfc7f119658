"""What a way carries is told with the signs of its root: the least over its links."""

import msgspec
import pytest

from headwater.algebra.capacity.way_capacity import BUDGET, UNKNOWN
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Heartbeat
from headwater.overlay.ways.root_pulses import RootPulse

CHAIN = "root\n  a\n    c\n  b"


@pytest.fixture
def world(overlay):
    return overlay.World(CHAIN)


def carries(world, site, to, rate):
    """As the driver of a link measures it for a while."""
    for _ in range(10):
        load = LinkLoad(50_000, bytes_per_s=rate)
        world.peers[site].link_load(to, load, now_s=world.now_s)
        world.peers[site].link_load(to, LinkLoad(0), now_s=world.now_s)
        world.run(1.0)


def test_nothing_is_known_of_a_way_before_anybody_has_measured(world):
    query = world.install()
    world.run(5.0)
    assert world.peers["c"].way_capacity(query) == UNKNOWN
    assert world.peers["c"].room_bytes(query) > 0


def test_a_site_hears_of_a_narrow_link_beyond_its_own(world):
    query = world.install()
    carries(world, "c", "a", 50_000.0)
    assert world.peers["c"].way_capacity(query).narrowest == "a"
    carries(world, "a", "root", 8_000.0)
    world.run(5.0)
    found = world.peers["c"].way_capacity(query)
    assert found.bytes_per_s == pytest.approx(8_000.0, rel=0.1)
    assert found.narrowest == "beyond a"
    assert world.peers["b"].way_capacity(query) == UNKNOWN, "that way is another one"


def test_a_budget_narrows_the_way_to_what_control_leaves_of_it(world):
    query = world.install()
    carries(world, "c", "a", 50_000.0)
    world.peers["c"].use_budgets(LinkBudgets(20_000.0, {"a": 10_000.0}))
    found = world.peers["c"].way_capacity(query)
    assert (found.bytes_per_s, found.narrowest) == (pytest.approx(8_000.0), BUDGET)
    world.peers["c"].use_budgets(LinkBudgets(control_share_max=0.5, to={"a": 10_000.0}))
    assert world.peers["c"].way_capacity(query).bytes_per_s == pytest.approx(5_000.0)


def test_a_neighbour_that_claims_too_much_is_bounded_by_the_own_link(world):
    query = world.install()
    carries(world, "c", "a", 5_000.0)
    pulse = RootPulse(world.ordinal["root"], 0.0, carries=1e12)
    world.hand("a", "c", Heartbeat(world.now_s, None, 0.0, 0, roots=(pulse,)))
    assert world.peers["c"].way_capacity(query).bytes_per_s == pytest.approx(5_000.0)


@pytest.mark.parametrize("claim", [-1.0, float("nan"), float("inf"), 1e300])
def test_what_no_way_carries_is_refused(world, claim):
    world.install()
    pulse = RootPulse(world.ordinal["root"], 0.0, carries=claim)
    world.hand("a", "c", Heartbeat(world.now_s, None, 0.0, 0, roots=(pulse,)))
    assert world.peers["c"].counts()["refused"] == 1


def test_who_says_nothing_of_it_any_more_is_taken_at_the_last_word(world):
    query = world.install()
    carries(world, "a", "root", 8_000.0)
    world.run(5.0)
    known = world.peers["c"].way_capacity(query)
    assert known.bytes_per_s is not None
    pulse = RootPulse(world.ordinal["root"], 0.0)
    world.hand("a", "c", Heartbeat(world.now_s, None, 0.0, 0, roots=(pulse,)))
    assert world.peers["c"].way_capacity(query) == known
    world.sever("a", "c")
    world.run(1.0)
    assert world.peers["c"].way_capacity(query) == known, "nor does a lost link make it unlimited"


def test_a_way_through_which_nothing_passes_stops_the_outbox_and_no_heartbeat(world):
    query = world.install()
    carries(world, "a", "root", 0.0)
    world.run(5.0)
    assert world.peers["c"].way_capacity(query).is_shut
    assert world.peers["c"].room_bytes(query) == 0
    before = world.peers["c"].heartbeat_count()
    world.run(20.0)
    assert world.peers["c"].heartbeat_count() >= before + 9
    assert not world.peers["c"].is_silent("a")
    carries(world, "a", "root", 8_000.0)
    world.run(5.0)
    assert world.peers["c"].room_bytes(query) > 0


def test_what_dies_on_a_full_link_is_counted_and_lowers_what_is_told(world):
    query = world.install()
    carries(world, "a", "root", 8_000.0)
    world.run(5.0)
    full = LinkLoad(20_000, queued_bytes_max=16_384)
    world.peers["a"].link_load("root", full, now_s=world.now_s)
    world.originate("c", 5, query=query)
    world.run(world.config.summary_life_s + 10.0)
    assert world.peers["a"].counts()["died waiting"] == 1
    told = world.peers["c"].way_capacity(query).bytes_per_s
    assert told == pytest.approx(0.7 * 8_000.0, rel=0.3)


def test_an_agent_of_before_is_told_no_markers_and_hears_nothing_new(world):
    beat = Heartbeat(world.now_s, None, 0.0, 0)
    assert beat.marker == -1
    assert msgspec.structs.replace(beat, marker=-2).marker == -2
    world.hand("a", "c", msgspec.structs.replace(beat, marker=-2))
    assert world.peers["c"].counts()["refused"] == 1
