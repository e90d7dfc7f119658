"""The simulated network promises what TCP promises, and breaks what TCP breaks."""

from random import Random

import pytest

from headwater.overlay.links.link_load import LinkLoad
from headwater.sim.world.event_queue import EventQueue
from headwater.sim.world.network import SOCKET_MESSAGES_MAX, Network


class Ends:
    """Two processes that write down what they are told."""

    def __init__(self) -> None:
        self.lives = {"a": 1, "b": 1}
        self.links: list[tuple[str, str, str]] = []
        self.got: list[str] = []
        self.unsent: list[str] = []
        self.loads: list[LinkLoad] = []

    def life_of(self, site: str) -> int:
        return self.lives[site]

    def linked(self, site: str, peer: str) -> None:
        self.links.append(("up", site, peer))

    def unlinked(self, site: str, peer: str, unsent: list[str]) -> None:
        self.links.append(("down", site, peer))
        self.unsent += unsent

    def arrived(self, site: str, sender: str, message: str) -> None:
        self.got.append(message)

    def queued(self, site: str, peer: str, load: LinkLoad) -> None:
        self.loads.append(load)

    def is_beat(self, message: str) -> bool:
        return False

    def size_bytes(self, message: str) -> int:
        return 100

    def aged(self, message: str, by_s: float) -> str:
        return message


def linked_pair() -> tuple[EventQueue, Ends, Network]:
    queue, ends = EventQueue(start_s=0.0), Ends()
    network = Network(queue, ends, random=Random(1), delay_of=lambda *_: 0.1)
    network.dial("a", "b")
    queue.run_until(1.0)
    assert sorted(ends.links) == [("up", "a", "b"), ("up", "b", "a")]
    ends.links.clear()
    return queue, ends, network


def test_messages_of_one_lane_arrive_in_order() -> None:
    queue, ends, network = linked_pair()
    for number in range(50):
        network.send("a", "b", f"{number}", 1)
    queue.run_until(2.0)
    assert ends.got == [f"{number}" for number in range(50)]


def test_a_cut_that_heals_before_it_is_noticed_loses_nothing() -> None:
    queue, ends, network = linked_pair()
    network.send("a", "b", "before", 1)
    network.block([("a", "b")])
    for number in range(SOCKET_MESSAGES_MAX + 5):
        network.send("a", "b", f"{number}", 1)
    queue.run_until(1.5)
    assert ends.got == []
    network.unblock([("a", "b")])
    queue.run_until(20.0)
    assert ends.got == ["before", *map(str, range(SOCKET_MESSAGES_MAX + 5))]
    assert ends.links == []


def test_a_noticed_cut_returns_only_what_was_never_written() -> None:
    queue, ends, network = linked_pair()
    network.block([("a", "b"), ("b", "a")])
    for number in range(SOCKET_MESSAGES_MAX + 2):
        network.send("a", "b", f"{number}", 1)
    queue.run_until(20.0)
    assert sorted(ends.links) == [("down", "a", "b"), ("down", "b", "a")]
    assert ends.unsent == [f"{SOCKET_MESSAGES_MAX}", f"{SOCKET_MESSAGES_MAX + 1}"]
    network.unblock([("a", "b"), ("b", "a")])
    queue.run_until(40.0)
    assert ends.got == []


def test_a_one_way_cut_lets_the_other_direction_through_and_breaks_both_ends() -> None:
    queue, ends, network = linked_pair()
    network.block([("a", "b")])
    network.send("b", "a", "back", 0)
    queue.run_until(1.3)
    assert ends.got == ["back"]
    queue.run_until(20.0)
    assert sorted(ends.links) == [("down", "a", "b"), ("down", "b", "a")]


def test_a_slow_link_sends_live_before_backlog_and_keeps_the_rest_unwritten() -> None:
    queue, ends, network = linked_pair()
    network.shape(("a", "b"), bytes_per_s=100.0, extra_delay_s=0.0)
    for message, priority in (("late 1", 2), ("late 2", 2), ("live", 1), ("control", 0)):
        network.send("a", "b", message, priority)
    queue.run_until(3.5)
    assert ends.got == ["late 1", "control"]
    network.reset("a", "b")
    assert ends.unsent == ["late 2"]


def test_what_a_slow_link_carries_is_told_once_something_has_left_it() -> None:
    queue, ends, network = linked_pair()
    network.shape(("a", "b"), bytes_per_s=100.0, extra_delay_s=0.0)
    for message in ("one", "two", "three"):
        network.send("a", "b", message, 1)
    assert ends.loads[-1].bytes_per_s is None
    queue.run_until(3.5)
    assert ends.loads[-1].queued_bytes == 0
    assert ends.loads[-1].bytes_per_s == pytest.approx(100.0)


def test_what_a_crashed_process_had_written_still_arrives_unless_the_power_failed() -> None:
    for power, expected in ((False, ["on its way"]), (True, [])):
        queue, ends, network = linked_pair()
        network.send("a", "b", "on its way", 1)
        ends.lives["a"] = 0
        network.crash("a", power=power)
        queue.run_until(20.0)
        assert ends.got == expected
        assert ends.links == [("down", "b", "a")]


def test_a_new_connection_replaces_one_that_only_the_other_end_still_believes_in() -> None:
    queue, ends, network = linked_pair()
    network.crash("a", power=True)
    network.dial("a", "b")
    queue.run_until(1.4)
    assert ends.links[0] == ("down", "b", "a")
    assert sorted(ends.links[1:]) == [("up", "a", "b"), ("up", "b", "a")]
    queue.run_until(20.0)
    assert len(ends.links) == 3


def test_a_dial_into_a_partition_or_to_a_dead_process_comes_to_nothing() -> None:
    queue, ends, network = linked_pair()
    network.reset("a", "b")
    ends.links.clear()
    network.block([("b", "a")])
    network.dial("a", "b")
    queue.run_until(2.0)
    network.unblock([("b", "a")])
    ends.lives["b"] = 0
    network.dial("a", "b")
    queue.run_until(3.0)
    assert ends.links == []
    ends.lives["b"] = 2
    network.dial("a", "b")
    queue.run_until(4.0)
    assert len(ends.links) == 2
