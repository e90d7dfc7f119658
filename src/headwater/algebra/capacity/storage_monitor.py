"""Whether what comes in can be taken in: by how what waits for it grows (JetStream, section 4.2).

Writes are made in batches, so the time of one says little. What waits is looked at instead: where
it grows, less is taken in than comes, and how fast it grows says by how much. Where it does not
grow nothing is known of how much more could be taken, and nothing is said::

    waits  ▁▁▁▁▂▃▄▅▆▇▇▇▆▅▃▁▁▁      grows: what is taken in a second is the capacity
                └ grows ┘
"""

from __future__ import annotations

import msgspec

LOOK_S = 2.0
"""Batches come and go within less."""
GROWS_BYTES_MIN = 256 * 1024
"""Less is the batch that is being written."""


class StorageMonitor(msgspec.Struct, frozen=True):
    bytes_per_s: float | None = None
    """What is taken in; None: nothing holds it up, as far as can be seen."""
    ratio: float = 1.0
    """Of what comes in, what is taken in."""
    waiting_bytes: int = 0
    taken_bytes: int = 0
    """Since the beginning, when it was last looked at."""
    at_s: float | None = None

    def look(self, *, waiting_bytes: int, taken_bytes: int, now_s: float) -> StorageMonitor:
        """``taken_bytes`` are all since the beginning. Most looks come too soon and see nothing."""
        if self.at_s is None or now_s < self.at_s:
            return self._seen(None, 1.0, waiting_bytes, taken_bytes, now_s)
        past_s = now_s - self.at_s
        if past_s < LOOK_S:
            return self
        taken = taken_bytes - self.taken_bytes
        grown = waiting_bytes - self.waiting_bytes
        is_behind = waiting_bytes >= GROWS_BYTES_MIN
        if is_behind and grown > 0:
            return self._seen(
                taken / past_s, taken / (taken + grown), waiting_bytes, taken_bytes, now_s
            )
        if is_behind and self.bytes_per_s is not None:  # it shrinks, and is not through
            rate = max(self.bytes_per_s, taken / past_s)
            return self._seen(rate, 1.0, waiting_bytes, taken_bytes, now_s)
        return self._seen(None, 1.0, waiting_bytes, taken_bytes, now_s)

    def _seen(
        self, rate: float | None, ratio: float, waiting: int, taken: int, now_s: float
    ) -> StorageMonitor:
        return StorageMonitor(rate, ratio, waiting, taken, now_s)
