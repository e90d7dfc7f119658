"""What a site has read of a source and what waits, as those see it who decide what is skipped.

Batches tell how fast it reads, polls how fast input comes. On the event loop; ``skips`` is read by
Spark's threads, and is replaced whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.shedding.choose_skip import Ahead, Found, Skip

RATE_PART = 0.2
"""What the newest poll says of the rate at which input comes, beside those before it."""
BATCHES_MAX = 6
"""What the pace goes by: when a load is gone, that is to be seen soon."""
FOUND_MAX = 10_000
"""Polls whose finds are told one by one."""


@dataclass(eq=False)
class ShedPlan:
    """Of one life of a source."""

    pace: ReadingPace = field(default_factory=lambda: ReadingPace(BATCHES_MAX))
    batches: int = 0
    read_bytes: int = 0
    bytes_per_s: float | None = None
    polled_s: float | None = None
    skips: Mapping[str, Skip] = field(default_factory=dict)
    """By query: how far its input is skipped from the next batch on."""

    def polled(self, started_s: float, byte_count: int) -> None:
        if self.polled_s is not None and started_s > self.polled_s:
            rate = byte_count / (started_s - self.polled_s)
            known = rate if self.bytes_per_s is None else self.bytes_per_s
            self.bytes_per_s = (1.0 - RATE_PART) * known + RATE_PART * rate
        self.polled_s = started_s

    def took(self, byte_count: int, took_s: float) -> None:
        self.pace.took(byte_count, took_s)
        self.batches += 1
        self.read_bytes += byte_count

    def ahead(self, found: list[tuple[int, int, float]], *, begun_s: float) -> Ahead | None:
        """None: too little is known. What was found before ``begun_s``, by a former process, was
        found at a time that nobody knows."""
        if self.bytes_per_s is None or not self.batches or len(found) > FOUND_MAX:
            return None
        if any(found_s < begun_s for _, _, found_s in found):
            return None
        return Ahead(tuple(Found(*one) for one in found), self.bytes_per_s, self.read_bytes)
