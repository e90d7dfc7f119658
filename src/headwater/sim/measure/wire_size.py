"""About what messages take on the wire, without encoding them: loads are sums of millions.

Calibrated against the real codec (``tests/sim/measure/test_wire_size.py``): the message itself, the
frame, the TLS record and the TCP and IP headers of a packet of its own.
"""

from __future__ import annotations

from typing import Any

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.overlay.links.neighbours import BEAT_BYTES
from headwater.overlay.messages import (
    AckMessage,
    CommandMessage,
    Heartbeat,
    StatesMessage,
    SummaryMessage,
)
from headwater.plan.command import Install

HEARTBEAT_BYTES = BEAT_BYTES
PACKET_BYTES = 87
"""TCP and IP headers (52 with options), TLS record (22 with its tag), frame (13)."""
SUMMARY_BYTES = 155
"""A summary beside its coverage: names, numbers, route, and one row of a count and a sum as an
Arrow record batch."""
PART_BYTES = 16
GROUP_BYTES = 17
"""A group beside its bitmap."""
SIGNATURE_BYTES = 78
"""A signature, which key it is, and the lengths of these and of the word."""
UPDATE_PROOF_BYTES = 78
"""The same beside an update, which is the word itself."""
STATE_BYTES = 63 + SIGNATURE_BYTES
DIGEST_BYTES = 29
"""A digest of a range of closes, and the range."""
AGREED_BYTES = 8
"""How far the root has agreed with sites, beside their bitmap."""
COMPRESSED_FROM_BYTES = 512
ACK_BYTES = 54 + SIGNATURE_BYTES
"""The head of an acknowledgement beside its digests."""
LEAF_DIGEST_BYTES = 16
LEAF_BYTES = 22
"""A leaf beside its greetings and bitmaps, with one run of panes."""
GREETING_BYTES = 12
ROUNDS_BYTES = 10
"""What is held of some updates, beside the bitmap."""
EXTRA_BYTES = 20
TREE_LINK_BYTES = 1.6
INSTALL_BYTES = 400


def wire_bytes(message: Any) -> int:
    if isinstance(message, SummaryMessage):
        proof_bytes = 0 if message.summary.proof is None else UPDATE_PROOF_BYTES
        coverage = message.summary.coverage
        return PACKET_BYTES + SUMMARY_BYTES + coverage_bytes(coverage) + proof_bytes
    if isinstance(message, Heartbeat):
        return HEARTBEAT_BYTES
    if isinstance(message, StatesMessage):
        digests = sum(len(state.digests) for state in message.states)
        return PACKET_BYTES + 8 + STATE_BYTES * len(message.states) + DIGEST_BYTES * digests
    if isinstance(message, AckMessage):
        told = sum(AGREED_BYTES + one.sites.bit_length() // 8 for one in message.ack.agreed)
        return PACKET_BYTES + _ack_bytes(message.ack) + told
    if isinstance(message, CommandMessage) and isinstance(message.command, Install):
        links = sum(len(tree.parents) for tree in message.command.trees)
        return PACKET_BYTES + INSTALL_BYTES + round(TREE_LINK_BYTES * links)
    return PACKET_BYTES + 60


def coverage_bytes(coverage: Coverage) -> int:
    bits = coverage.whole.bit_length() + coverage.empty.bit_length()
    groups = sum(GROUP_BYTES + group.sites.bit_length() // 8 for group in coverage.groups)
    return bits // 8 + groups + PART_BYTES * len(coverage.parts)


def _ack_bytes(ack: Acknowledgement) -> int:
    head = ACK_BYTES + LEAF_DIGEST_BYTES * ack.filled.bit_count()
    plain = sum(_leaf_bytes(leaf, len(leaf.panes)) for leaf in ack.leaves)
    if head + plain < COMPRESSED_FROM_BYTES:
        return head + plain
    return head + sum(_leaf_bytes(leaf, _distinct(leaf)) for leaf in ack.leaves)


def _leaf_bytes(leaf: AckLeaf, bitmaps: int) -> int:
    width = max((len(bitset.to_bytes(held.sites)) for held in leaf.panes), default=0)
    rounds = sum(ROUNDS_BYTES + one.sites.bit_length() // 8 for one in leaf.rounds)
    extras = EXTRA_BYTES * len(leaf.extra)
    return LEAF_BYTES + bitmaps * width + rounds + extras + GREETING_BYTES * len(leaf.greetings)


def _distinct(leaf: AckLeaf) -> int:
    """In an outage most bitmaps are alike, and compression leaves one of each."""
    return len({held.sites for held in leaf.panes})
