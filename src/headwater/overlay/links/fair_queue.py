"""What waits on one stream of a link, query by query: they share it by weight, over encoded bytes.

A plain queue gives a link to whoever hands over most. Here each query has a queue of its own, and a
*start*: the bytes that were served of it, divided by its weight. Whoever has the smallest start is
served next (start-time fair queueing, Goyal et al. 1996, which like deficit round robin needs no
clock, and no length before something is served). So over any stretch in which several queries wait
their bytes are as their weights, to within one message of each.

::

    weight 1   ▇▇▇      ▇▇▇                ▇▇▇
    weight 2       ▇▇▇      ▇▇▇ ▇▇▇            ▇▇▇    a message is never cut by another one
                   └ 8 for 1 ┘

A query that comes back begins where the others are: what it did not use was used by others, and is
not owed. One that may not be served now (its own budget is used up) is passed over in the same way.
What belongs to no query goes first, and keeps its order with what comes after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from headwater.plan.altered.link_share import EVEN, LinkShare

Item = TypeVar("Item")
NOBODY = ""
"""In place of a query: what all of them wait for, as the certificate of a key."""


class FairQueue(Generic[Item]):
    def __init__(self, share_of: Callable[[str], LinkShare] = lambda query: EVEN) -> None:
        self._share_of = share_of
        self._waiting: dict[str, deque[Item]] = {}
        self._starts: dict[str, float] = {}
        """Of those that wait, and of those gone that were served beyond the others."""
        self._served = 0.0
        """The start of whoever was served last: where who comes begins."""
        self._turn: str | None = None
        """Whose item has begun to leave, and is not through."""

    def put(self, query: str, item: Item) -> None:
        queue = self._waiting.get(query)
        if queue is None:
            queue = self._waiting[query] = deque()
            self._starts[query] = max(self._served, self._starts.get(query, 0.0))
        queue.append(item)

    def turn(self, may: Callable[[str], bool] = lambda query: True) -> str | None:
        """Whose head is next; None: nothing waits that may leave. ``may`` is asked of queries."""
        if self._turn is not None:
            return self._turn if may(self._turn) else None
        if NOBODY in self._waiting:
            return NOBODY
        if len(self._waiting) == 1:  # nearly always
            only = next(iter(self._waiting))
            return only if may(only) else None
        return self._least(may)

    def head(self, query: str) -> Item:
        return self._waiting[query][0]

    def serve(self, query: str, byte_count: int, *, is_last: bool) -> None:
        """So many bytes of its head have left; ``is_last``: it is through, and is taken out."""
        self._served = max(self._served, self._starts[query])
        self._starts[query] += byte_count / self._share_of(query).weight
        self._turn = None if is_last else query
        if is_last:
            queue = self._waiting[query]
            queue.popleft()
            if not queue:
                del self._waiting[query]
                self._forget()

    def queries(self) -> list[str]:
        """Those that wait."""
        return list(self._waiting)

    @property
    def has_others(self) -> bool:
        """More than one query waits."""
        return len(self._waiting) > 1

    def __iter__(self) -> Iterator[Item]:
        """All that waits, query by query."""
        for queue in self._waiting.values():
            yield from queue

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def _least(self, may: Callable[[str], bool]) -> str | None:
        free = []
        for query in self._waiting:
            if may(query):
                free.append(query)
            else:
                self._starts[query] = max(self._starts[query], self._served)
        return min(free, key=lambda query: self._starts[query], default=None)

    def _forget(self) -> None:
        """Who is gone, and would begin where the others are."""
        if not self._waiting:
            self._starts.clear()
            self._served = 0.0
            return
        gone = [query for query in self._starts if query not in self._waiting]
        for query in gone:
            if self._starts[query] <= self._served:
                del self._starts[query]
