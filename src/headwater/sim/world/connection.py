"""One connection as its two ends see it, and the paths below it, as they are now."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

from headwater.algebra.drain_rate import DrainRate
from headwater.overlay.links.fair_queue import FairQueue
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.query_spending import query_of

Message = Any
Entry = tuple[float, Message]
"""Since when it waits, and what."""
LANE_COUNT = 2
BULK_PRIORITIES = (1, 2)


class Path:
    """One direction between two sites, as it is now."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.extra_delay_s = 0.0
        self.bytes_per_s: float | None = None
        self.block_count = 0
        self.rate = DrainRate()
        """As its sender last knew it when a connection ended."""
        self.is_echoing = False
        self.lost_share = 0.0
        """Of what is sent; TCP sends it again, so it comes late."""


class Half:
    """One direction of one connection."""

    def __init__(
        self,
        connection: Connection,
        sender: str,
        receiver: str,
        path: Path,
        shares: Callable[[], QueryShares] = QueryShares,
    ) -> None:
        self.connection = connection
        self.sender = sender
        self.receiver = receiver
        self.path = path
        self.last_s = [0.0] * LANE_COUNT
        self.stuck: list[Message] = []
        """Written and not yet taken, because the path is blocked."""
        self.control: deque[Entry] = deque()
        """Not written: what ``unlinked`` hands back, with the others."""
        self._shares = shares
        self.bulk = self._empty()
        """By priority: live, and what may be later."""
        self.blind_count = 0
        """Written while the path was blocked; a socket takes only so much."""
        self.is_busy = False
        self.rate = path.rate
        """Of what had to wait; what flies at once shows nothing."""
        self.is_held = False
        """Something waits for its sender's budget, and will be looked at again."""
        self.is_void = False
        """The sender's machine lost its power: what is in its buffers never leaves."""

    def put(self, entry: Entry, priority: int, *, first: bool = False) -> None:
        if priority in self.bulk:
            self.bulk[priority].put(self._shares().account(query_of(entry[1])), entry)
        elif first:
            self.control.appendleft(entry)
        else:
            self.control.append(entry)

    def has_waiting(self) -> bool:
        return bool(self.control) or self.has_bulk()

    def has_bulk(self) -> bool:
        return any(self.bulk.values())

    def waiting(self) -> list[Entry]:
        return [*self.control, *(entry for queue in self.bulk.values() for entry in queue)]

    def take_waiting(self) -> list[Entry]:
        unsent = self.waiting()
        self.control.clear()
        self.bulk = self._empty()
        return unsent

    def heads(self) -> list[tuple[Message, int]]:
        """What may be next, with its priority."""
        found = [(self.control[0][1], 0)] if self.control else []
        for priority, queue in self.bulk.items():
            found += [(queue.head(query)[1], priority) for query in queue.queries()]
        return found

    def next_waiting(
        self,
        may_leave: Callable[[Message, int], bool] = lambda message, priority: True,
        size_bytes: Callable[[Message], int] = lambda message: 1,
    ) -> tuple[float, Message, int] | None:
        """Taken out."""
        if self.control and may_leave(self.control[0][1], 0):
            return (*self.control.popleft(), 0)
        for priority, queue in self.bulk.items():
            if not queue:
                continue
            found = queue.turn(partial(self._may, may_leave, priority))
            if found is not None:
                entry = queue.head(found)
                queue.serve(found, size_bytes(entry[1]), is_last=True)
                return (*entry, priority)
        return None

    def _may(self, may_leave: Callable[[Message, int], bool], priority: int, query: str) -> bool:
        return may_leave(self.bulk[priority].head(query)[1], priority)

    def _empty(self) -> dict[int, FairQueue[Entry]]:
        shares = self._shares
        return {priority: FairQueue(lambda one: shares().of(one)) for priority in BULK_PRIORITIES}

    def waiting_by(self, size_bytes: Callable[[Message], int]) -> Counter[str]:
        """How much, on whose account."""
        found: Counter[str] = Counter()
        for _, message in self.waiting():
            found[self._shares().account(query_of(message))] += size_bytes(message)
        return found


class Connection:
    """Both directions, and which of the two ends still believes in it."""

    def __init__(
        self,
        left: str,
        right: str,
        there: Path,
        back: Path,
        shares: Callable[[str], QueryShares] = lambda site: QueryShares(),
    ) -> None:
        self.halves = {
            left: Half(self, left, right, there, partial(shares, left)),
            right: Half(self, right, left, back, partial(shares, right)),
        }
        self.open_at = {left: True, right: True}
