"""Memory that ended connections leave is given back to the system.

A TLS connection takes some 120 KiB, in pieces of all sizes. When hundreds of them end, all of it
is freed, and yet the process stays as large as it was: malloc gives back what lies at the end of
its heap, and near the end there is always a piece that lives on. While a root stood still for 40 s,
25 relays of one process had 800 connections more for a while; 84 to 101 MiB were free in malloc
afterwards and stayed with the process. ``malloc_trim`` gave back 77 to 97 of them.

It takes some 2 ms for each MiB, so it is not for every connection that ends. While as many are
opened as end, the next ones use the memory of the last. So it is done when there are fewer than
there were: what stays is bounded by ``FEWER_MIN`` connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
from collections.abc import Callable, Iterator

FEWER_MIN = 64
"""So many fewer connections than there were have left some 8 MiB."""


def _trim_malloc() -> None:
    """Whole pages that are free, anywhere in the heap. Another C library than glibc has no such
    function, and other habits."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class OpenConnections:
    """How many there are, and how many there were when memory was last given back."""

    def __init__(self, trim: Callable[[], None] = _trim_malloc) -> None:
        self.count = 0
        self._most = 0
        self._trim = trim

    @contextlib.contextmanager
    def held(self, count: int) -> Iterator[None]:
        """From the first byte of so many to their end, whichever way they end."""
        self.count += count
        self._most = max(self._most, self.count)
        try:
            yield
        finally:
            self.count -= count

    async def give_back(self) -> int:
        """Asked now and then: of how many connections memory was given back. In a thread, so that
        others can work meanwhile, unless they ask malloc for much."""
        left = self._most - self.count
        if left < FEWER_MIN:
            return 0
        self._most = self.count
        await asyncio.to_thread(self._trim)
        return left


OPEN = OpenConnections()
"""Of this process: malloc is the process's, too, however many agents are in it."""
