"""What "Wide-Scale Data Stream Management" (Mortar) says, section by section.

Here stands what this version does: time panes, states, dynamic timeouts, pair-wise
reconciliation. Where it departs from the paper on purpose, the test says so.
"""

import msgspec
import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.overlay.messages import CommandsKnown, Heartbeat, SummaryMessage
from headwater.overlay.outputs import Delivered, Hangup, Transmit
from headwater.placement.plan_tree import plan_tree
from headwater.plan.roster import Roster, Site

TREE = """
root
  a
    c
    d
  b
"""


@pytest.fixture
def world(overlay):
    return overlay.World(TREE)


def beats(world, name):
    return [t for t in world.of(name, Transmit) if isinstance(t.message, Heartbeat)]


def test_section_3_1_operators_sit_at_the_centres_of_recursive_clusters():
    """Two clusters on a line, with the root far from both: the middle of each is its head."""
    place = {"root": 0.0, "a": 10.0, "b": 11.0, "c": 12.0, "x": 50.0, "y": 51.0, "z": 52.0}
    roster = Roster(1, tuple(Site(n, name) for n, name in enumerate(place)), "root")
    latency_s = {(p, q): abs(place[p] - place[q]) for p in place for q in place if p < q}
    tree = plan_tree(roster, root="root", branching=2, latency_s=latency_s)
    ordinal = {name: n for n, name in enumerate(place)}
    assert set(tree.children[0]) == {ordinal["b"], ordinal["y"]}
    assert set(tree.children[ordinal["b"]]) == {ordinal["a"], ordinal["c"]}
    assert set(tree.children[ordinal["y"]]) == {ordinal["x"], ordinal["z"]}


def test_section_3_1_recursion_ends_at_the_branching_factor():
    roster = Roster(1, tuple(Site(n, f"s{n}") for n in range(9)), "s0")
    assert plan_tree(roster, root="s0", branching=8).children[0] == tuple(range(1, 9))
    assert len(plan_tree(roster, root="s0", branching=4).children[0]) == 4


def test_section_3_3_heartbeats_are_shared_by_all_queries_of_a_pair(world):
    def in_ten_seconds():
        world.outputs["a"].clear()
        world.run(10.0)
        return len(beats(world, "a"))

    without = in_ten_seconds()
    for number in range(5):
        world.install(f"q{number}")
    world.run(5.0)
    assert in_ten_seconds() == without


def test_section_3_3_an_unreachable_parent_is_detected_by_its_missing_heartbeats(world):
    world.run(5.0)
    world.deaf = {("root", "a")}
    world.run(10.0)
    assert Hangup("root") in world.outputs["a"]


def test_section_4_summaries_of_the_same_index_are_merged_across_space(world):
    query = world.install()
    world.run(1.0)
    for site in ("c", "d", "a"):
        for pane in (1, 2):
            world.originate(site, pane, query=query)
    world.run(1.0)
    assert world.delivered_sites(1) == world.delivered_sites(2) == [{"a", "c", "d"}]


def test_section_4_2_indices_match_exactly_or_not_at_all(world):
    """Time panes lie on one grid, so the split of overlapping intervals is for states alone."""
    query = world.install()
    world.run(1.0)
    world.originate("c", 1, query=query)
    world.originate("d", 2, query=query)
    world.run(10.0)
    assert world.delivered_sites(1) == [{"c"}]
    assert world.delivered_sites(2) == [{"d"}]


def test_section_4_2_overlapping_validity_intervals_are_split_in_three(world):
    """T3 is the overlap, with both values; what does not overlap keeps its value and shrinks."""
    query = world.install(begin_pane=0, last_n=3)
    world.run(1.0)
    for site, first, more in (("c", 1, 5), ("d", 4, 6)):
        summary = msgspec.structs.replace(world.summary(site, first, query=query), more=more)
        world.peers[site].originate(summary, now_s=world.clock_s(site))
        world.collect(site)
    world.run(10.0)
    came = [one.summary for one in world.of("root", Delivered)]
    assert sorted((one.pane, one.last, len(one.rows)) for one in came) == [
        (1, 3, 1),
        (4, 6, 2),
        (7, 10, 1),
    ]


def test_section_4_2_summaries_may_arrive_in_any_order(world):
    query = world.install()
    world.run(1.0)
    for site, panes in (("c", (3, 1, 2)), ("d", (2, 3, 1)), ("a", (1, 2, 3))):
        for pane in panes:
            world.originate(site, pane, query=query)
    world.run(1.0)
    for pane in (1, 2, 3):
        assert world.delivered_sites(pane) == [{"a", "c", "d"}]


def train(world, query, *, panes, slowest_s):
    """Site d closes each pane this much after c and a."""
    for pane in panes:
        world.originate("c", pane, query=query)
        world.originate("a", pane, query=query)
        world.run(slowest_s)
        world.originate("d", pane, query=query)
        world.run(10.0)


def test_section_4_3_net_dist_is_a_moving_average_of_the_largest_age(world):
    query = world.install()
    world.run(1.0)
    train(world, query, panes=range(10), slowest_s=0.5)
    usual_s = world.peers["a"].net_dist_s(query)
    assert usual_s == pytest.approx(0.5 + world.one_way_s, rel=0.05)
    train(world, query, panes=range(10, 12), slowest_s=2.5)
    moved_s = world.peers["a"].net_dist_s(query)
    assert moved_s == pytest.approx(usual_s + 0.1 * (2.5 - 0.5), rel=0.05)


def hold_at_a(world, query, pane, *, age_s):
    """How long a keeps a lone summary that arrives with this age."""
    summary = world.summary("c", pane, query=query)
    summary = type(summary)(query, pane, summary.coverage, summary.rows, age_s=age_s)
    world.outputs["a"].clear()
    began_s = world.now_s
    world.hand("c", "a", SummaryMessage(summary))
    for _ in range(1_000):
        if any(isinstance(t.message, SummaryMessage) for t in world.of("a", Transmit)):
            return world.now_s - began_s
        world.run(0.01)
    raise AssertionError("it never left")


def test_section_4_3_the_timeout_is_in_proportion_to_net_dist_less_the_age(world):
    query = world.install()
    world.run(1.0)
    train(world, query, panes=range(5), slowest_s=2.0)
    young_s = hold_at_a(world, query, 100, age_s=0.0)
    older_s = hold_at_a(world, query, 101, age_s=1.0)
    oldest_s = hold_at_a(world, query, 102, age_s=4.0)
    longest_s = world.config.hold_factor * world.peers["a"].net_dist_s(query)
    assert young_s == pytest.approx(longest_s, abs=0.05)
    assert young_s - older_s == pytest.approx(1.0, abs=0.05)
    assert oldest_s == 0.0


def test_section_4_3_the_age_includes_residence_at_every_operator(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 1, query=query)
    world.run(20.0)
    (summary,) = world.delivered()
    held_s = world.config.hold_factor * world.config.net_dist_initial_s
    assert summary.age_s == pytest.approx(held_s + world.one_way_s, abs=0.01)


def test_section_4_3_an_empty_pane_counts_for_completeness_and_carries_no_value(world):
    """The paper's boundary tuple: a stalled source is told apart from a dead one."""
    query = world.install()
    world.run(1.0)
    for site in ("c", "d", "a"):
        empty = Summary(query=query, pane=1, coverage=Coverage.of_empty(world.ordinal[site], 7))
        world.peers[site].originate(empty, now_s=world.now_s)
        world.collect(site)
    world.run(0.1)
    assert world.delivered_sites(1) == [{"a", "c", "d"}]
    assert world.delivered()[0].rows is None


def test_section_4_3_only_live_first_sends_train_net_dist(world):
    """Ours: with backlog and spares as samples every outage would slow down all that follows."""
    query = world.install()
    world.run(1.0)
    train(world, query, panes=range(3), slowest_s=0.5)
    before_s = world.peers["a"].net_dist_s(query)
    for pane in range(3, 20):
        for lane in (Lane.BACKLOG, Lane.SPARE):
            world.originate("c", pane, query=query, lane=lane)
            world.run(4.0)
            world.originate("d", pane, query=query, lane=lane)
    world.originate("c", 20, query=query)
    assert world.peers["a"].net_dist_s(query) == pytest.approx(before_s)


def test_section_5_clock_offsets_change_nothing(overlay):
    """Only ages travel, and echoes of the receiver's own clock."""

    def outcome(skew_s):
        world = overlay.World(TREE, skew_s=skew_s)
        query = world.install()
        world.run(1.0)
        for pane in range(5):
            for site in ("c", "d", "a", "b"):
                world.originate(site, pane, query=query)
                world.run(0.1)
            world.run(5.0)
        return [(s.pane, s.coverage, pytest.approx(s.age_s, abs=1e-6)) for s in world.delivered()]

    assert outcome({"a": 3_000.0, "c": -500.0, "root": 60.0}) == outcome({})


def test_section_5_1_an_install_grows_older_on_its_way(world):
    world.install()
    world.run(1.0)
    (install,) = world.accepted("c")
    assert install.age_s == pytest.approx(2 * world.one_way_s)


def test_section_6_a_query_is_multicast_first_and_reconciled_later(world):
    world.sever("c", "a")
    query = world.install()
    world.run(4 * world.one_way_s)
    assert [name for name in world.peers if query in world.live(name)] == ["root", "a", "d", "b"]
    world.connect("c", "a")
    world.run(5.0)
    assert query in world.live("c")


def test_section_6_1_reconciliation_begins_when_digests_disagree(world):
    """Twice in a row, for a command and a heartbeat may have crossed on the way."""
    world.outputs["c"].clear()
    digest = beats(world, "a")[-1].message.digest
    for said, compares in (
        (digest, 0),
        (digest + 1, 0),
        (digest, 0),
        (digest + 1, 0),
        (digest + 2, 1),
    ):
        world.hand("a", "c", Heartbeat(sent_s=0.0, echo_s=None, echo_held_s=0.0, digest=said))
        told = [t for t in world.of("c", Transmit) if isinstance(t.message, CommandsKnown)]
        assert len(told) == compares


def test_section_6_1_children_that_miss_a_removal_reconcile_with_their_parent(world):
    query = world.install()
    world.run(1.0)
    world.sever("c", "a")
    world.remove(query)
    world.run(5.0)
    world.connect("c", "a")
    world.run(5.0)
    assert world.live("c") == set()


def test_section_6_1_parents_that_miss_an_install_reconcile_with_their_child(world):
    world.sever("c", "a")
    query = world.install(at="c")
    world.run(1.0)
    world.connect("c", "a")
    world.run(10.0)
    assert all(world.live(name) == {query} for name in world.peers)
