"""Tells when the queue of a link has changed much, so that the peer stops and starts in time.

What is much goes by what the link carries: a peer that is told in large steps fills a slow link
with seconds of bytes before it knows. When a queue has run empty that is told as well, and so is
anything that went through it at once: the peer holds what it has handed over against the link until
it is told.
"""

import asyncio
from collections.abc import Callable, Mapping

from headwater.algebra.capacity.delivery import Delivery
from headwater.algebra.drain_rate import DrainRate
from headwater.overlay.links.link_load import CONTROL_AHEAD_BYTES, LinkLoad
from headwater.overlay.links.queue_limit import CHUNK_BYTES, queue_bytes_max

STEPS = 16
"""Of a full queue."""
STEP_BYTES_MIN = CHUNK_BYTES // STEPS


class LoadMeter:
    """``tell`` is called on a later turn of the loop, with what waits by then."""

    def __init__(
        self,
        queued_bytes: Callable[[], int],
        tell: Callable[[LinkLoad], None],
        *,
        queue_s_max: float,
        budget: float | None = None,
        queued_by: Callable[[], Mapping[str, int]] = dict,
        held_bytes: Callable[[], int] = lambda: 0,
        control_bytes: Callable[[], int] = lambda: 0,
        known: DrainRate | None = None,
    ) -> None:
        """``queued_by``: by query, what waits of each. ``held_bytes``: of what waits, what does so
        for its query's own budget: that tells nothing of the link, and takes no room from others.
        ``control_bytes``: of what waits, control.
        ``known``: of a former connection to the same neighbour."""
        self._queued_by = queued_by
        self.rate = known or DrainRate()
        self._queued_bytes = queued_bytes
        self._held_bytes = held_bytes
        self._control_bytes = control_bytes
        self._tell = tell
        self._queue_s_max = queue_s_max
        self.budget = budget
        self._seen_bytes = 0
        self._told = LinkLoad(0)
        self._is_news = False
        self._is_due = False
        self._loop = asyncio.get_running_loop()

    def changed(self, *, put_bytes: int = 0) -> None:
        """So many bytes have joined the queue; something may have left."""
        if put_bytes:
            self.rate = self.rate.changed(put_bytes, now_s=self._loop.time())
            self._seen_bytes += put_bytes
            self._is_news = True
        left_bytes = self._seen_bytes - self._queued_bytes()
        if left_bytes:
            self.rate = self.rate.changed(-left_bytes, now_s=self._loop.time())
            self._seen_bytes -= left_bytes
        self.rate = self.rate.holding(self._held_bytes(), now_s=self._loop.time())
        if not self._is_due and self._is_much():
            self._is_due = True
            self._loop.call_soon(self._say)

    def sampled(self, delivery: Delivery | None) -> None:
        """The kernel was asked; the peer is told, whatever waits."""
        self.changed()
        if delivery is not None:
            self._tell(self._load_now()._replace(delivery=delivery))

    def _is_much(self) -> bool:
        if (self._control_bytes() >= CONTROL_AHEAD_BYTES) != self._told.has_control_ahead:
            return True
        if not self._free_bytes:
            return self._is_news or self._told.queued_bytes > 0
        step_bytes = max(STEP_BYTES_MIN, (self._told.queued_bytes_max or CHUNK_BYTES) // STEPS)
        return abs(self._free_bytes - self._told.queued_bytes) >= step_bytes

    @property
    def _free_bytes(self) -> int:
        """What waits for the link."""
        return max(0, self._seen_bytes - self.rate.held_bytes)

    def _say(self) -> None:
        self._is_due = False
        if not self._is_much():
            return
        self._tell(self._load_now())

    def _load_now(self) -> LinkLoad:
        """A rate is told with what has shown it: a queue that stands empty shows no more."""
        self._is_news = self._free_bytes > 0
        has_shown = self._free_bytes > 0 or self._told.queued_bytes > 0
        now_s = self._loop.time()
        self._told = LinkLoad(
            self._free_bytes,
            queue_bytes_max(
                self.rate, queue_s_max=self._queue_s_max, budget=self.budget, now_s=now_s
            ),
            self.rate.shown_bytes_per_s(now_s=now_s) if has_shown else None,
            dict(self._queued_by()),
            control_bytes=self._control_bytes(),
        )
        return self._told
