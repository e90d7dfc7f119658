"""What bytes of ours become on the interface: TLS records, TCP segments, their headers.

Estimated before they are written, and conservatively: each write makes segments of its own, each
has all headers with the usual option, and each segment that comes is acknowledged by one that
goes. ``tcp_info`` tells afterwards what it was.
"""

from __future__ import annotations

MSS_BYTES = 1448
"""Of a path with an MTU of 1,500 and timestamps."""
HEADER_BYTES = 14 + 20 + 32
"""Ethernet, IPv4, TCP with timestamps: what an interface counts of each segment."""
HEADER_BYTES_V6 = HEADER_BYTES + 20
RECORD_BYTES = 22
"""Of a TLS 1.3 record: header, type and tag."""
RECORD_PAYLOAD_BYTES = 16 * 1024
FAILED_BYTES = 3_000
"""What a connection takes that does not become a link's: about TCP and one side of TLS 1.3."""


def tls_bytes(payload_bytes: int) -> int:
    return payload_bytes + RECORD_BYTES * -(-payload_bytes // RECORD_PAYLOAD_BYTES)


def segments(byte_count: int) -> int:
    return -(-byte_count // MSS_BYTES)


def wire_bytes(payload_bytes: int, *, header_bytes: int = HEADER_BYTES) -> int:
    """Of one write."""
    sent = tls_bytes(payload_bytes)
    return sent + header_bytes * segments(sent)


def payload_within(room_bytes: float, *, header_bytes: int = HEADER_BYTES) -> int:
    """The longest write, of at most one record, that takes no more than this; 0: none."""
    whole, rest = divmod(int(room_bytes), MSS_BYTES + header_bytes)
    sent = whole * MSS_BYTES + max(0, rest - header_bytes)
    return min(max(0, sent - RECORD_BYTES), RECORD_PAYLOAD_BYTES)


def ack_bytes(received_bytes: int, *, header_bytes: int = HEADER_BYTES) -> int:
    """What TCP sends for what has come."""
    return header_bytes * segments(received_bytes)
