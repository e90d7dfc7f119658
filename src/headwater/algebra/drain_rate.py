"""How fast a queue empties, measured while there is something in it: a value.

What has left a queue in a second says little of what waits behind it while the queue is empty half
of the time. So the bytes that left are divided by the time in which something was waiting::

    waiting   ▇▇▇▇▅▃▁      ▇▇▅▁          bytes that left ÷ (busy + busy)
              └ busy ┘     └busy┘

Both fade, with busy time soon and with idle time slowly, so a quiet link keeps the rate that it has
last shown, and a link that gets slower is known to be within some seconds. Nothing is known before
anything has left.
"""

from __future__ import annotations

import msgspec

FADES_OVER_S = 4.0
"""Of busy time: what is older counts for a third."""
FADES_IDLE_OVER_S = 60.0
"""Of time with nothing to send: the rate stays, what it rests on gets less."""
BUSY_S_MIN = 1e-4
"""A queue that empties in the same turn is as fast as this shows, and no faster."""
SHOWN_S_MIN = 0.05
SHOWN_BYTES_MIN = 256 * 1024
"""Of waiting or of bytes that left: with less of both, what is seen may be a turn of the loop and
not the link."""


class DrainRate(msgspec.Struct, frozen=True):
    left_bytes: float = 0.0
    """Lately: what the rate rests on."""
    busy_s: float = 0.0
    queued_bytes: int = 0
    held_bytes: int = 0
    """Of those, what waits for something else than the link, as for its own budget."""
    at_s: float | None = None
    """When it was last told; None: never."""

    def changed(self, by_bytes: int, *, now_s: float) -> DrainRate:
        """So many more wait; below 0: so many of those that waited have left."""
        past_s = self._past_s(now_s)
        fades_over_s = FADES_OVER_S if self._waits else FADES_IDLE_OVER_S
        keeps = fades_over_s / (fades_over_s + past_s)
        return DrainRate(
            left_bytes=self.left_bytes * keeps + max(0, -by_bytes),
            busy_s=self.busy_s * keeps + (past_s if self._waits else 0.0),
            queued_bytes=max(0, self.queued_bytes + by_bytes),
            held_bytes=self.held_bytes,
            at_s=now_s,
        )

    def emptied(self) -> DrainRate:
        """What waited is gone without leaving: the connection has ended. What it rests on stays."""
        return msgspec.structs.replace(self, queued_bytes=0, held_bytes=0)

    def holding(self, held_bytes: int, *, now_s: float) -> DrainRate:
        """So many of what waits may not leave from now on, however fast the link is."""
        if held_bytes == self.held_bytes:
            return self
        return msgspec.structs.replace(self.changed(0, now_s=now_s), held_bytes=held_bytes)

    @property
    def _waits(self) -> bool:
        """For the link."""
        return self.queued_bytes > self.held_bytes

    def bytes_per_s(self, *, now_s: float) -> float | None:
        """None: nothing has left so far, and it is not known. A queue that stands still counts
        while it does."""
        if self.left_bytes <= 0.0:
            return None
        waited_s = self._past_s(now_s) if self._waits else 0.0
        return self.left_bytes / max(BUSY_S_MIN, self.busy_s + waited_s)

    def shown_bytes_per_s(self, *, now_s: float) -> float | None:
        """None where too little has left, and nothing has waited for long, to tell of the link."""
        waited_s = self._past_s(now_s) if self._waits else 0.0
        is_shown = self.busy_s + waited_s >= SHOWN_S_MIN or self.left_bytes >= SHOWN_BYTES_MIN
        return self.bytes_per_s(now_s=now_s) if is_shown else None

    def _past_s(self, now_s: float) -> float:
        """Since it was last told. A clock that was set back counts nothing."""
        return 0.0 if self.at_s is None else max(0.0, now_s - self.at_s)
