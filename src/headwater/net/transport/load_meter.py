"""Tells when the queue of a link has changed much, so that the peer stops and starts in time.

With it how much has left the queue since the last time, and for how long something waited: what a
link carries is seen while it is the one that is waited for.
"""

import asyncio
from collections.abc import Callable

LOAD_STEP_BYTES = 128 * 1024
"""What counts as much; also told when a queue has run empty."""
Tell = Callable[[int, int, float], None]
"""With what waits, what has left, and for how many seconds something waited."""


class LoadMeter:
    """``tell`` is called on a later turn of the loop, with what waits by then. ``left_bytes`` is
    what has ever left the queue."""

    def __init__(
        self, queued_bytes: Callable[[], int], left_bytes: Callable[[], int], tell: Tell
    ) -> None:
        self._queued_bytes = queued_bytes
        self._left_bytes = left_bytes
        self._tell = tell
        self._told_step = 0
        self._told_left = 0
        self._is_due = False
        self._busy_s = 0.0
        self._since_s: float | None = None
        """Since when something waits; None: nothing does."""

    def changed(self) -> None:
        loop = asyncio.get_running_loop()
        self._note_busy(loop.time())
        if not self._is_due and _step(self._queued_bytes()) != self._told_step:
            self._is_due = True
            loop.call_soon(self._say)

    def _note_busy(self, now_s: float) -> None:
        if self._since_s is not None:
            self._busy_s += now_s - self._since_s
        self._since_s = now_s if self._queued_bytes() else None

    def _say(self) -> None:
        self._is_due = False
        queued_bytes, left_bytes = self._queued_bytes(), self._left_bytes()
        if _step(queued_bytes) != self._told_step:
            self._told_step = _step(queued_bytes)
            left, self._told_left = left_bytes - self._told_left, left_bytes
            busy_s, self._busy_s = self._busy_s, 0.0
            self._tell(queued_bytes, left, busy_s)


def _step(queued_bytes: int) -> int:
    """0 is empty; whole steps count from 1."""
    return -(-queued_bytes // LOAD_STEP_BYTES)
