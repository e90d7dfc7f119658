"""What a link carries, as its own queue shows it: bytes that left ÷ time in which some waited.

A queue that is never waited in tells nothing of how much more the link would carry, so bytes are
counted with the time for which there was a queue, and what is learned of a link that is never slow
is only that it is fast. A stretch counts when there was waiting enough, or bytes enough, to tell
one from the other.
"""

from __future__ import annotations

BUSY_S_MIN = 0.05
BYTES_MIN = 256 * 1024
"""A stretch of either is a sample."""
WEIGHT = 0.25
"""Of a new sample in the average."""


class LinkRate:
    """Of one link; nothing else in the product knows how it is measured."""

    def __init__(self) -> None:
        self.bytes_per_s: float | None = None
        """None: nobody knows."""
        self._bytes = 0
        self._busy_s = 0.0

    def left(self, byte_count: int, busy_s: float) -> None:
        """So many bytes left the queue, and for so long there was one."""
        self._bytes += byte_count
        self._busy_s += busy_s
        if self._busy_s < BUSY_S_MIN and self._bytes < BYTES_MIN:
            return
        sample = self._bytes / max(self._busy_s, 1e-3)
        known = sample if self.bytes_per_s is None else self.bytes_per_s
        self.bytes_per_s = known + WEIGHT * (sample - known)
        self._bytes, self._busy_s = 0, 0.0
