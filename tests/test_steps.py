"""The counter of steps finds what is on a way, and leaves out what would have run anyhow."""

from __future__ import annotations

import pytest
from steps import walked_alone


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    return {way: {function for _, function in ran} for way, ran in walked_alone().items()}


@pytest.mark.parametrize(
    ("way", "first", "last"),
    [
        ("log line", "Cutter.read_on", "encode_frame"),
        ("bytes", "Codec.decode", "RootLedger.publish"),
        ("acknowledgement", "AckMaker.make", "CubeWriter.mark_acked"),
        ("install", "Peer.command", "Feeder.install"),
    ],
)
def test_a_way_is_walked_to_its_end(
    found: dict[str, set[str]], way: str, first: str, last: str
) -> None:
    assert {first, last} <= found[way]


def test_what_runs_in_every_turn_is_no_step(found: dict[str, set[str]]) -> None:
    ran = set().union(*found.values())
    assert not ran & {"Node.tick", "LogFollower.poll", "Peer.next_deadline_s", "Neighbours.beat"}


def test_ways_do_not_run_into_each_other(found: dict[str, set[str]]) -> None:
    assert "Codec.decode" not in found["log line"]
    assert "AckMaker.make" not in found["bytes"] | found["install"]
