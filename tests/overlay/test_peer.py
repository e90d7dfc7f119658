"""Scenarios in drawn topologies: what goes in at the sites and what comes out at the root."""

import msgspec
import pytest

from headwater.algebra.summary import Lane
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_load import CONTROL_AHEAD_BYTES, LinkLoad
from headwater.overlay.messages import StatesMessage, SummaryMessage
from headwater.overlay.outputs import LATER, LIVE, Dial, Hangup, Transmit

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


def summaries_sent(world, name):
    return [t for t in world.of(name, Transmit) if isinstance(t.message, SummaryMessage)]


def test_a_relay_merges_its_subtree_into_one_summary(world):
    query = world.install()
    world.run(1.0)
    for site in ("a", "b", "c", "d"):
        world.originate(site, 5, query=query)
    world.run(0.2)
    assert world.delivered_sites(5) == [{"b"}, {"a", "c", "d"}]
    world.check_truth()


def test_an_entry_leaves_as_soon_as_its_subtree_is_complete(world):
    query = world.install()
    world.run(1.0)
    for site in ("c", "d"):
        world.originate(site, 5, query=query)
    world.run(0.1)
    assert world.delivered_sites(5) == []
    world.originate("a", 5, query=query)
    world.run(0.02)
    assert world.delivered_sites(5) == [{"a", "c", "d"}]


def test_an_entry_with_a_silent_site_leaves_when_its_hold_is_over(world):
    query = world.install()
    world.run(1.0)
    for site in ("a", "c"):
        world.originate(site, 5, query=query)
    world.run(10.0)
    assert world.delivered_sites(5) == [{"a", "c"}]


def test_backlog_is_merged_apart_from_live_with_a_short_hold(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query)
    world.originate("d", 5, query=query, lane=Lane.BACKLOG)
    world.run(world.config.backlog_hold_s + 0.1)
    assert world.delivered_sites(5) == [{"d"}]
    world.run(5.0)
    assert world.delivered_sites(5) == [{"d"}, {"c"}]


def test_a_spare_passes_at_once_and_alone(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query)
    world.originate("d", 5, query=query, lane=Lane.SPARE)
    world.run(0.05)
    assert world.delivered_sites(5) == [{"d"}]


def test_lanes_have_their_priorities_on_the_link(world):
    query = world.install()
    world.run(1.0)
    for lane in Lane:
        world.originate("b", 5, query=query, lane=lane)
    world.run(1.0)
    sent = {t.message.summary.lane: t.lane_priority for t in summaries_sent(world, "b")}
    assert sent == {Lane.LIVE: LIVE, Lane.BACKLOG: LATER, Lane.SPARE: LATER}


def test_overlapping_summaries_go_on_apart(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query, update=1)
    world.originate("c", 5, query=query, update=2)
    world.originate("d", 5, query=query)
    world.run(5.0)
    assert sorted(map(sorted, world.delivered_sites(5))) == [["c"], ["c", "d"]]
    world.check_truth()


def test_the_root_delivers_its_own_summary_to_itself(world):
    query = world.install()
    world.originate("root", 5, query=query)
    assert world.delivered_sites(5) == [{"root"}]
    assert world.peers["root"].room_bytes(query) > 0


def test_ages_grow_by_holding_and_by_travelling(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query)
    world.run(0.5)
    for site in ("a", "d"):
        world.originate(site, 5, query=query)
    world.run(0.5)
    (summary,) = world.delivered()
    assert summary.age_s == pytest.approx(0.5 + 2 * world.one_way_s)


def test_there_is_no_room_while_the_way_up_is_down(world):
    query = world.install()
    world.run(1.0)
    assert world.peers["a"].room_bytes(query) > 0
    world.sever("a", "root")
    assert world.peers["a"].room_bytes(query) == 0
    assert world.peers["c"].room_bytes(query) > 0
    world.connect("a", "root")
    assert world.peers["a"].room_bytes(query) > 0


def test_there_is_no_room_for_a_query_that_is_unknown(world):
    assert world.peers["a"].room_bytes("q@root#1") == 0


def test_foreign_summaries_wait_for_the_link_and_go_on_merging(world):
    query = world.install()
    world.run(1.0)
    world.part("a", "c", "d")
    world.originate("c", 5, query=query)
    world.originate("d", 5, query=query)  # before "a" says that it has lost its way
    world.run(16.0)
    assert world.delivered_sites(5) == []
    world.connect("a", "root")
    world.run(0.1)
    assert world.delivered_sites(5) == [{"c", "d"}]
    assert world.delivered()[0].age_s > 16.0


def test_what_waits_longer_than_its_life_is_dropped_and_counted(world):
    query = world.install()
    world.run(1.0)
    world.part("a", "c", "d")
    world.originate("c", 5, query=query)
    world.run(world.config.summary_life_s + 1.0)
    world.connect("a", "root")
    world.run(1.0)
    assert world.delivered_sites(5) == []
    assert world.peers["a"].counts()["expired"] == 1


def test_a_summary_that_arrives_too_old_is_dropped(world):
    query = world.install()
    world.run(1.0)
    old = msgspec.structs.replace(
        world.summary("c", 5, query=query), age_s=world.config.summary_life_s
    )
    world.hand("c", "a", SummaryMessage(old))
    assert world.peers["a"].counts()["expired"] == 1


def test_unsent_summaries_are_routed_anew_as_they_are(world):
    query = world.install()
    world.run(1.0)
    world.originate("b", 5, query=query)
    (sent,) = summaries_sent(world, "b")
    world.sever("b", "root", unsent={"b": [sent.message]})
    world.run(2.0)
    assert world.delivered_sites(5) == []
    world.connect("b", "root")
    world.run(0.1)
    (again,) = world.delivered()
    assert (again.coverage, again.lane) == (sent.message.summary.coverage, Lane.LIVE)


def test_what_may_have_been_taken_is_forgotten(world):
    query = world.install()
    world.run(1.0)
    world.originate("b", 5, query=query)
    world.sever("b", "root")
    world.connect("b", "root")
    world.run(10.0)
    assert world.delivered_sites(5) == []


def test_a_congested_link_holds_summaries_back_until_it_has_room(world):
    query = world.install()
    world.run(1.0)
    full = world.config.link_queue_bytes_max
    world.peers["a"].link_load("root", LinkLoad(full), now_s=world.now_s)
    assert world.peers["a"].room_bytes(query) == 0
    for site in ("c", "d", "a"):
        world.originate(site, 5, query=query)
    world.run(3.0)
    assert world.delivered_sites(5) == []
    world.peers["a"].link_load("root", LinkLoad(0), now_s=world.now_s)
    world.collect("a")
    world.run(0.1)
    assert world.delivered_sites(5) == [{"a", "c", "d"}]


def test_room_shrinks_by_what_was_handed_over_since_the_load_was_told(world):
    query = world.install()
    world.run(1.0)
    world.peers["b"].link_load("root", LinkLoad(100), now_s=world.now_s)
    before = world.peers["b"].room_bytes(query)
    world.originate("b", 5, query=query)
    assert world.peers["b"].room_bytes(query) < before < world.config.link_queue_bytes_max


def test_a_full_time_space_list_forwards_the_oldest_early(overlay):
    world = overlay.World(TREE, config=OverlayConfig(entries_max=2))
    query = world.install()
    world.run(1.0)
    for pane in (1, 2, 3):
        world.originate("c", pane, query=query)
    world.run(0.05)
    assert [s.pane for s in world.delivered()] == [1]
    assert "full" in world.notices("a")


def test_a_list_full_of_bytes_without_a_way_loses_the_oldest_and_says_so(overlay):
    world = overlay.World(TREE, config=OverlayConfig(bytes_max=16))
    query = world.install()
    world.run(1.0)
    world.sever("a", "root")
    for pane in (1, 2, 3):
        world.originate("c", pane, query=query)
    world.run(0.1)
    world.connect("a", "root")
    world.run(5.0)
    assert [s.pane for s in world.delivered()] == [2, 3]
    assert "full" in world.notices("a")


def test_rows_that_refuse_to_merge_go_on_apart(overlay):
    class Refusing(overlay.NumbersMerger):
        def merge(self, parts):
            raise ArithmeticError("these rows do not fit together")

    world = overlay.World(TREE, merger=Refusing())
    query = world.install()
    world.run(1.0)
    for site in ("a", "c", "d"):
        world.originate(site, 5, query=query)
    world.run(1.0)
    assert sorted(map(sorted, world.delivered_sites(5))) == [["a"], ["c"], ["d"]]
    assert "merge-failed" in world.notices("a")


def test_a_query_without_a_merger_passes_unmerged(overlay):
    world = overlay.World(TREE)
    world.peers["a"]._merger_of = lambda query: 1 // 0
    query = world.install()
    world.run(1.0)
    for site in ("c", "d"):
        world.originate(site, 5, query=query)
    world.run(0.1)
    assert world.delivered_sites(5) == [{"c"}, {"d"}]
    assert "no-merger" in world.notices("a")


def test_states_are_batched_and_only_the_newest_of_a_site_travels(world):
    query = world.install()
    world.run(1.0)
    world.sent.clear()
    for number in (1, 2):
        world.report("c", query, number=number)
        world.report("d", query, number=number)
    world.run(1.0)
    assert {(s.ordinal, s.number) for s in world.states()} == {
        (world.ordinal["c"], 2),
        (world.ordinal["d"], 2),
    }
    assert world.sent["StatesMessage"] == 3


def test_states_wait_while_the_way_is_down(world):
    query = world.install()
    world.run(1.0)
    world.part("a", "c", "d")
    world.report("c", query)
    world.run(40.0)
    world.connect("a", "root")
    world.run(0.1)
    assert [s.ordinal for s in world.states()] == [world.ordinal["c"]]


def test_unsent_states_are_sent_again(world):
    query = world.install()
    world.run(1.0)
    world.report("b", query)
    world.run(world.config.states_hold_s)
    (message,) = [
        t.message for t in world.of("b", Transmit) if isinstance(t.message, StatesMessage)
    ]
    world.sever("b", "root", unsent={"b": [message]})
    world.connect("b", "root")
    world.run(1.0)
    assert [s.ordinal for s in world.states()] == [world.ordinal["b"]]


def test_the_roots_own_state_is_delivered_at_once(world):
    query = world.install()
    world.report("root", query)
    assert [s.ordinal for s in world.states()] == [0]


def test_an_acknowledgement_reaches_every_site_once(world):
    query = world.install()
    world.run(1.0)
    world.acknowledge(query)
    world.run(1.0)
    for name in world.peers:
        assert [ack.number for ack in world.acks(name)] == [1]
    assert world.acks("c")[0].age_s == pytest.approx(2 * world.one_way_s)


def test_a_child_that_was_away_gets_only_the_newest_acknowledgement(world):
    query = world.install()
    world.run(1.0)
    world.sever("c", "a")
    for number in (1, 2, 3):
        world.acknowledge(query, number=number)
        world.run(1.0)
    world.connect("c", "a")
    world.run(0.1)
    assert [ack.number for ack in world.acks("c")] == [3]
    assert world.acks("c")[0].age_s > 1.0


def test_a_congested_child_is_owed_only_the_newest_acknowledgement(world):
    query = world.install()
    world.run(1.0)
    peer, full = world.peers["root"], world.config.link_queue_bytes_max
    peer.link_load("b", LinkLoad(full), now_s=world.now_s)
    for number in (1, 2):
        world.acknowledge(query, number=number)
    peer.link_load("b", LinkLoad(0), now_s=world.now_s)
    world.collect("root")
    world.run(0.1)
    assert [ack.number for ack in world.acks("b")] == [2]


def test_a_child_to_which_control_waits_is_owed_only_the_newest_acknowledgement(world):
    query = world.install()
    world.run(1.0)
    peer = world.peers["root"]
    peer.link_load("b", LinkLoad(3_000, control_bytes=CONTROL_AHEAD_BYTES), now_s=world.now_s)
    for number in (1, 2):
        world.acknowledge(query, number=number)
    world.run(1.0)
    assert world.acks("b") == []
    peer.link_load("b", LinkLoad(3_000, control_bytes=0), now_s=world.now_s)
    world.collect("root")
    world.run(0.1)
    assert [ack.number for ack in world.acks("b")] == [2]


def test_states_wait_for_control_on_a_slow_link_and_newer_ones_take_their_place(world):
    query = world.install()
    world.run(1.0)
    peer = world.peers["a"]
    peer.link_load("root", LinkLoad(3_000, control_bytes=CONTROL_AHEAD_BYTES), now_s=world.now_s)
    for number in (1, 2, 3):
        world.report("c", query, number=number)
        world.run(1.0)
    assert world.states() == []
    peer.link_load("root", LinkLoad(3_000, control_bytes=0), now_s=world.now_s)
    world.collect("a")
    world.run(0.1)
    assert [state.number for state in world.states()] == [3]


def test_data_that_waits_holds_up_no_state(world):
    query = world.install()
    world.run(1.0)
    load = LinkLoad(50_000, control_bytes=CONTROL_AHEAD_BYTES - 1)
    world.peers["a"].link_load("root", load, now_s=world.now_s)
    world.report("c", query, number=1)
    world.run(1.0)
    assert [state.number for state in world.states()] == [1]


def test_a_new_connection_has_no_control_ahead(world):
    query = world.install()
    world.run(1.0)
    peer = world.peers["a"]
    peer.link_load("root", LinkLoad(3_000, control_bytes=CONTROL_AHEAD_BYTES), now_s=world.now_s)
    world.sever("a", "root")
    world.connect("a", "root")
    world.report("c", query, number=1)
    world.run(1.0)
    assert [state.number for state in world.states()] == [1]


def test_a_repeated_acknowledgement_ends_where_it_is_known(world):
    query = world.install()
    world.run(1.0)
    world.acknowledge(query, number=2)
    world.acknowledge(query, number=1)
    world.acknowledge(query, number=1, incarnation=2)
    world.run(1.0)
    assert [(a.root_incarnation, a.number) for a in world.acks("c")] == [(1, 2), (2, 1)]


def test_a_summary_of_an_unknown_query_is_passed_on_and_its_install_asked_for(world):
    world.sever("a", "root")
    query = world.install()
    world.run(1.0)
    world.connect("a", "root")
    unknown = world.summary("c", 5, query=query)
    assert query not in world.live("a")
    world.hand("c", "a", SummaryMessage(unknown))
    world.run(0.1)
    assert world.delivered_sites(5) == [{"c"}]
    asks = [t for t in world.of("a", Transmit) if type(t.message).__name__ == "AskInstall"]
    assert asks[0].to == "c"


def test_rows_that_are_still_encoded_are_never_merged(world):
    query = world.install()
    world.run(1.0)
    for site in ("c", "d"):
        summary = world.summary(site, 5, query=query)
        world.hand(site, "a", SummaryMessage(msgspec.structs.replace(summary, rows=b"\x00")))
    assert len(summaries_sent(world, "a")) == 2
    world.run(1.0)
    assert world.delivered() == []
    assert "undecoded" in world.notices("root")


def test_a_summary_of_a_removed_query_ends(world):
    query = world.install()
    world.run(1.0)
    summary = world.summary("c", 5, query=query)
    world.remove(query)
    world.run(1.0)
    world.hand("c", "a", SummaryMessage(summary))
    assert "removed" in world.notices("a")
    assert summaries_sent(world, "a") == []


def test_the_entries_of_a_removed_query_go_with_it(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query)
    world.run(0.1)
    world.remove(query)
    world.run(20.0)
    assert world.delivered() == []
    assert "0 entries" in world.peers["a"].describe()


def test_a_silent_parent_closes_the_way_and_is_hung_up(world):
    query = world.install()
    world.run(5.0)
    world.deaf = {("root", "b")}
    world.run(world.config.silent_floor_s + 2 * world.config.heartbeat_every_s)
    assert Hangup("root") in world.outputs["b"]
    assert "silent" in world.notices("b")
    world.deaf = set()
    world.run(5.0)
    assert world.peers["b"].room_bytes(query) > 0


def test_a_silence_that_ends_opens_the_way_again(overlay, monkeypatch):
    world = overlay.World(TREE, config=OverlayConfig(resort_after_s=float("inf")))
    query = world.install()
    world.run(5.0)
    monkeypatch.setattr(world, "_link_down", lambda *_: None)
    world.deaf = {("root", "a")}
    world.run(6.0)
    assert world.peers["a"].room_bytes(query) == 0
    world.originate("c", 5, query=query)
    world.run(3.0)
    assert world.delivered_sites(5) == []
    world.deaf = set()
    world.run(2.0)
    assert world.delivered_sites(5) == [{"c"}]
    assert "heard-again" in world.notices("a")


def test_a_peer_that_was_asleep_itself_accuses_nobody(world):
    world.run(5.0)
    world.asleep = {"a"}
    world.run(2.0)
    world.deaf = {("root", "a"), ("c", "a"), ("d", "a")}
    world.run(18.0)
    world.asleep, world.deaf = set(), set()
    world.outputs["a"].clear()
    world.run(5.0)
    assert "silent" not in world.notices("a")


def test_lost_links_are_dialled_by_the_child_with_growing_pauses(overlay):
    world = overlay.World("root\n  a", linked=False)
    world.barred = {frozenset(("root", "a"))}
    world.run(300.0)
    dials = world.of("a", Dial)
    assert dials[0] == Dial("root")
    assert world.of("root", Dial) == []
    assert 300 / world.config.dial_last_s <= len(dials) <= 40  # by its tree and as a last resort
    world.barred = set()
    world.run(world.config.dial_last_s)
    assert set(world.links) == {frozenset(("root", "a"))}


def test_a_parent_that_cannot_be_dialled_dials_its_children(overlay):
    world = overlay.World("root\n  a", hidden=["root"], linked=False)
    world.run(1.0)
    assert set(world.links) == {frozenset(("root", "a"))}
    assert world.of("a", Dial) == []


def test_a_pair_that_nobody_can_open_is_noticed(overlay):
    world = overlay.World("root\n  a", hidden=["root", "a"], linked=False)
    world.collect("a")
    assert "unreachable" in world.notices("a")


def test_a_clock_that_is_set_back_does_not_stop_anything(world):
    query = world.install()
    world.run(1.0)
    world.originate("c", 5, query=query)
    world.run(0.1)
    assert len(summaries_sent(world, "a")) == 0
    peer = world.peers["a"]
    peer.tick(now_s=world.now_s)
    set_back_s = world.now_s - 3_600.0
    for step in range(1, 20):
        peer.tick(now_s=set_back_s + step)
        world.outputs["a"] += peer.take()
    assert len(summaries_sent(world, "a")) == 1
    assert [t for t in world.of("a", Transmit) if type(t.message).__name__ == "Heartbeat"][-1]
