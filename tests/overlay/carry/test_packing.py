"""What rows take on a link is learned from updates that were encoded; ways are told in rows."""

from __future__ import annotations

import msgspec
import pytest

from headwater.algebra.summary import Summary
from headwater.algebra.words.update_proof import UpdateProof
from headwater.overlay.carry.packing import SHARE_MIN, Packing
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.signatures import Unsigned

PACKED_BYTES = 4


class Packs(Unsigned):
    """Signs nothing, and packs whatever rows there are into four bytes."""

    def sign_update(self, summary: Summary, /) -> Summary:
        packed = None if summary.rows is None else bytes(PACKED_BYTES)
        proof = UpdateProof(b"", b"", summary.pane, summary.more, packed=packed)
        return msgspec.structs.replace(summary, proof=proof)


def test_the_newest_updates_count_most() -> None:
    packing = Packing()
    packing.learn("q", packed_bytes=900, rows_bytes=1_000)
    for _ in range(12):
        packing.learn("q", packed_bytes=200, rows_bytes=1_000)
    assert packing.share("q") == pytest.approx(0.2, rel=0.1)


def test_what_has_no_rows_tells_nothing_and_one_update_not_everything() -> None:
    packing = Packing()
    packing.learn("q", packed_bytes=0, rows_bytes=0)
    assert packing.share("q") == 1.0
    packing.learn("q", packed_bytes=1, rows_bytes=1_000_000)
    assert packing.share("q") == SHARE_MIN


def test_a_way_is_told_in_rows_as_they_lie_in_memory(overlay) -> None:
    world = overlay.World("root\n  a", signatures_of=lambda name: Packs())
    query, a = world.install(sites=("root", "a")), world.peers["a"]
    world.run(1.0)
    a.link_load("root", LinkLoad(0, 100_000, bytes_per_s=1_000.0), now_s=world.now_s)
    assert a.way_capacity(query).rows_bytes_per_s == 1_000.0, "nothing was sent so far"
    room = a.room_bytes(query)
    sent = world.originate("a", 5, query=query)
    world.run(5.0)
    share = PACKED_BYTES / world.merger.size_bytes(sent.rows)
    a.link_load("root", LinkLoad(0, 100_000), now_s=world.now_s)
    capacity = a.way_capacity(query)
    assert capacity.bytes_per_s == 1_000.0
    assert capacity.rows_bytes_per_s == pytest.approx(1_000.0 / share)
    assert a.room_bytes(query) == int(room / share)
