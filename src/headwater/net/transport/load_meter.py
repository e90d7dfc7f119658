"""Tells when the queue of a link has changed much, so that the peer stops and starts in time."""

import asyncio
from collections.abc import Callable

LOAD_STEP_BYTES = 128 * 1024
"""What counts as much; also told when a queue has run empty."""


class LoadMeter:
    """``tell`` is called on a later turn of the loop, with what waits by then."""

    def __init__(self, queued_bytes: Callable[[], int], tell: Callable[[int], None]) -> None:
        self._queued_bytes = queued_bytes
        self._tell = tell
        self._told_step = 0
        self._is_due = False

    def changed(self) -> None:
        if not self._is_due and _step(self._queued_bytes()) != self._told_step:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._say)

    def _say(self) -> None:
        self._is_due = False
        queued_bytes = self._queued_bytes()
        if _step(queued_bytes) != self._told_step:
            self._told_step = _step(queued_bytes)
            self._tell(queued_bytes)


def _step(queued_bytes: int) -> int:
    """0 is empty; whole steps count from 1."""
    return -(-queued_bytes // LOAD_STEP_BYTES)
