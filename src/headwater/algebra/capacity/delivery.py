"""What TCP says of one connection by itself: how fast it delivers, and how long a round trip takes.

The kernel counts what the other kernel has acknowledged, so no neighbour's word is in it but that
of its machine. Where the sender had nothing more to send the rate is only a lower bound, and the
kernel says so.
"""

from __future__ import annotations

from typing import NamedTuple


class Delivery(NamedTuple):
    rtt_s: float
    """Smoothed, with what waits in queues on the way."""
    rtt_least_s: float
    """Without."""
    bytes_per_s: float
    """0.0: nothing was delivered yet."""
    is_limited: bool = True
    """By the sender, which had no more: the connection may carry more than this."""

    @property
    def queueing_s(self) -> float:
        """How long a packet waits on the way."""
        return max(0.0, self.rtt_s - self.rtt_least_s)
