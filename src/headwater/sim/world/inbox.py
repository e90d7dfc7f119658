"""A slow machine: everything that its process handles takes time, and what comes meanwhile waits.

Messages, links that open or close, reports of batches and the process's own ticks stand in one
line, as they do before an event loop. Each takes ``HANDLING_S`` times the machine's factor. So a
machine that is slow enough ticks late, hears late and answers late, and what it makes others do
comes to stand in its line as well::

    arrives ──► │ beat │ summary │ tick │ beat │ ──► handled, one after the other
                └────────── unread ────────────┘
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headwater.sim.world.event_queue import EventQueue

HANDLING_S = 0.001
"""About what an agent needs for a message and what follows from it. It counts on slow machines
alone: others handle everything in the instant in which it comes."""


class Inbox:
    """Of one process, from when its machine became slow until it has caught up after that."""

    def __init__(self, queue: EventQueue, factor: float) -> None:
        self.factor = factor
        """How many times as long everything takes; 0: as on other machines."""
        self.is_closed = False
        """The process has ended."""
        self._queue = queue
        self._is_busy = False
        self._waiting: deque[tuple[float, str, Callable[[], None]]] = deque()
        self._read_s: dict[str, float] = {}
        """By neighbour: when what was last heard of it had come."""

    def put(self, handle: Callable[[], None], *, sender: str = "") -> None:
        """``sender``: this is a sign of life of that neighbour."""
        self._waiting.append((self._queue.now_s, sender, handle))
        if not self._is_busy:
            self._begin()

    @property
    def is_idle(self) -> bool:
        """Nothing waits, and the machine is as fast as others."""
        return not self._waiting and not self.factor

    def longest_gap_s(self, neighbour: str) -> float | None:
        """For how long nothing came of this neighbour, at most, from what was last heard of it to
        now, with all that waits unheard; None: nothing has come since the machine is slow."""
        came_s = [self._read_s[neighbour]] if neighbour in self._read_s else []
        came_s += [at_s for at_s, sender, _ in self._waiting if sender == neighbour]
        if not came_s:
            return None
        later_s = [*came_s[1:], self._queue.now_s]
        return max(after_s - at_s for at_s, after_s in zip(came_s, later_s, strict=True))

    def _begin(self) -> None:
        self._is_busy = True
        self._queue.after(HANDLING_S * self.factor, self._handle)

    def _handle(self) -> None:
        if self.is_closed:
            return
        at_s, sender, handle = self._waiting.popleft()
        if sender:
            self._read_s[sender] = at_s
        handle()
        if self._waiting:
            self._begin()
        else:
            self._is_busy = False
