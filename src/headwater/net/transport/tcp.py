"""Settings of a TCP socket that keep little hidden in the kernel, and what the kernel knows.

``TCP_NOTSENT_LOWAT`` lets the kernel hold only a little that it has not sent, so that the rest
waits where it can still be overtaken or taken back. ``TCP_INFO`` tells the round trip under load
and the delivery rate, which no library above the socket shows.
"""

import socket
import struct
from typing import Any, NamedTuple

from headwater.algebra.capacity.delivery import Delivery

NOTSENT_LOWAT_BYTES = 16 * 1024

KEEPALIVE_IDLE_S, KEEPALIVE_EVERY_S, KEEPALIVE_COUNT = 20, 5, 3
"""An end that has vanished without a word is noticed on a quiet connection, too."""

_TCP_KEEPIDLE, _TCP_KEEPINTVL, _TCP_KEEPCNT = 4, 5, 6
_TCP_USER_TIMEOUT, _TCP_NOTSENT_LOWAT = 18, 25
"""Linux's numbers; not every Python has names for them."""
_TCP_INFO_BYTES = 168
_RATE_LIMITED_AT = 7
"""Its lowest bit: when the rate was measured the sender had no more."""
_RTT_AT, _MIN_RTT_AT, _DELIVERY_RATE_AT = 68, 148, 160
_SEGS_OUT_AT, _BYTES_SENT_AT, _BYTES_AGAIN_AT = 136, 200, 208
_TCP_INFO_SENT_BYTES = 216
"""From Linux 4.19 on."""
"""Offsets in Linux's ``struct tcp_info``, which only ever grows at its end."""


class SentByTcp(NamedTuple):
    """Since the connection began."""

    new_bytes: int
    segments: int
    """With those that only acknowledge, and those that were sent again."""
    again_bytes: int = 0


def tune(sock: Any, *, user_timeout_s: float) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (_TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES),
        (_TCP_USER_TIMEOUT, int(user_timeout_s * 1000)),
        (_TCP_KEEPIDLE, KEEPALIVE_IDLE_S),
        (_TCP_KEEPINTVL, KEEPALIVE_EVERY_S),
        (_TCP_KEEPCNT, KEEPALIVE_COUNT),
    ):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        except OSError:
            continue  # Not Linux: links work, only more is hidden in the kernel.


def tcp_info(sock: Any) -> Delivery | None:
    """None where the platform does not tell, or the socket is gone."""
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except (OSError, AttributeError):
        return None
    if len(data) < _TCP_INFO_BYTES:
        return None
    (rtt_us,) = struct.unpack_from("=I", data, _RTT_AT)
    (min_rtt_us,) = struct.unpack_from("=I", data, _MIN_RTT_AT)
    (rate,) = struct.unpack_from("=Q", data, _DELIVERY_RATE_AT)
    is_limited = bool(data[_RATE_LIMITED_AT] & 1)
    return Delivery(rtt_us / 1e6, min_rtt_us / 1e6, float(rate), is_limited)


def sent_by_tcp(sock: Any) -> SentByTcp | None:
    """What a connection has put on the interface, without headers. None: it is not told."""
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SENT_BYTES)
    except (OSError, AttributeError):
        return None
    if len(data) < _TCP_INFO_SENT_BYTES:
        return None
    (segments,) = struct.unpack_from("=I", data, _SEGS_OUT_AT)
    sent, again = struct.unpack_from("=QQ", data, _BYTES_SENT_AT)
    return SentByTcp(sent - again, segments, again)
