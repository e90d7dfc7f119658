"""What a driver tells of a link: what waits there, what may, and how fast it empties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headwater.algebra.capacity.delivery import Delivery

NOT_TOLD: Mapping[str, int] = {}
CONTROL_AHEAD_BYTES = 1024
"""While so much control waits on a link, no states and acknowledgements are put behind it: newer
ones will have taken their place by the time that it has left."""


class LinkLoad(NamedTuple):
    queued_bytes: int
    queued_bytes_max: int | None = None
    """None: as much as the peer's own limit allows."""
    bytes_per_s: float | None = None
    """Measured while something waited; None: lately nothing has shown it."""
    queued_by: Mapping[str, int] = NOT_TOLD
    """By query, what waits of its summaries."""
    delivery: Delivery | None = None
    """TCP's own figures of the bulk connection, where they were just asked for."""
    control_bytes: int = 0
    """Of what waits, control and heartbeats."""

    @property
    def has_control_ahead(self) -> bool:
        return self.control_bytes >= CONTROL_AHEAD_BYTES
