"""One connection as its two ends see it, and the paths below it, as they are now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.algebra.drain_rate import DrainRate

Message = Any
LANE_COUNT = 2
PRIORITY_COUNT = 3


class Path:
    """One direction between two sites, as it is now."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.extra_delay_s = 0.0
        self.bytes_per_s: float | None = None
        self.block_count = 0
        self.is_echoing = False
        self.lost_share = 0.0
        """Of what is sent; TCP sends it again, so it comes late."""


class Half:
    """One direction of one connection."""

    def __init__(self, connection: Connection, sender: str, receiver: str, path: Path) -> None:
        self.connection = connection
        self.sender = sender
        self.receiver = receiver
        self.path = path
        self.last_s = [0.0] * LANE_COUNT
        self.stuck: list[Message] = []
        """Written and not yet taken, because the path is blocked."""
        self.waiting: list[list[tuple[float, Message]]] = [[] for _ in range(PRIORITY_COUNT)]
        """Not written, with the time since when: what ``unlinked`` hands back."""
        self.blind_count = 0
        """Written while the path was blocked; a socket takes only so much."""
        self.is_busy = False
        self.rate = DrainRate()
        """Of what had to wait; what flies at once shows nothing."""
        self.is_held = False
        """Something waits for its sender's budget, and will be looked at again."""
        self.is_void = False
        """The sender's machine lost its power: what is in its buffers never leaves."""

    def has_waiting(self) -> bool:
        return any(self.waiting)

    def take_waiting(self) -> list[tuple[float, Message]]:
        unsent = [entry for queue in self.waiting for entry in queue]
        self.waiting = [[] for _ in range(PRIORITY_COUNT)]
        return unsent

    def next_waiting(
        self, may_leave: Callable[[Message, int], bool] = lambda message, priority: True
    ) -> tuple[float, Message, int] | None:
        for priority, queue in enumerate(self.waiting):
            if queue and may_leave(queue[0][1], priority):
                return (*queue.pop(0), priority)
        return None


class Connection:
    """Both directions, and which of the two ends still believes in it."""

    def __init__(self, left: str, right: str, there: Path, back: Path) -> None:
        self.halves = {left: Half(self, left, right, there), right: Half(self, right, left, back)}
        self.open_at = {left: True, right: True}
