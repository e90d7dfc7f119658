"""What a driver tells of a link: what waits there, what may, and how fast it empties."""

from __future__ import annotations

from typing import NamedTuple


class LinkLoad(NamedTuple):
    queued_bytes: int
    queued_bytes_max: int | None = None
    """None: as much as the peer's own limit allows."""
    bytes_per_s: float | None = None
    """Measured while something waited; None: lately nothing has shown it."""
