"""What a driver tells of a link: what waits there, what may, and how fast it empties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headwater.algebra.capacity.delivery import Delivery

NOT_TOLD: Mapping[str, int] = {}


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
