"""What one marker on a bulk stream has shown (JetStream, section 4.2).

Data of ``k_s`` seconds lay before the marker, and ``t_s`` seconds after it was sent the neighbour
had read all of it. So the link carries k/t times what is sent on it. Where nothing lay before the
marker, or next to nothing, that is a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

AHEAD_BYTES_MIN = 8 * 1024
"""With less before it a marker shows how far the neighbour is, and not what the link carries."""
T_S_MIN = 1e-3
"""Nobody reads a queue in less."""


class Marked(NamedTuple):
    ahead_bytes: int
    """Encoded, that waited for the link when the marker joined them."""
    k_s: float
    """In which as much was handed over."""
    t_s: float
    """From sending to the acknowledgement, without what the neighbour kept that for."""

    @property
    def ratio(self) -> float:
        """k/t: above 1 there is room for more."""
        return self.k_s / max(self.t_s, T_S_MIN)

    def bytes_per_s(self, *, rtt_least_s: float) -> float:
        """No acknowledgement comes in less than a round trip, whatever it says."""
        return self.ahead_bytes / max(self.t_s, rtt_least_s, T_S_MIN)

    @property
    def is_limited(self) -> bool:
        """By the sender: too little lay before it."""
        return self.ahead_bytes < AHEAD_BYTES_MIN
