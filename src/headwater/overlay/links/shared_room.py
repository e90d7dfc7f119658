"""How much of what may wait for one link each query may have.

Queries share a link by weight where its bytes leave (``fair_queue``). That helps nobody who is not
let in: a queue of two seconds is full of whoever hands over most. So of what may wait each query
has its part by weight, among those that have something there or were turned away lately; one that
is alone has all of it, and one that is idle costs the others nothing. Nor may more wait of a query
than its own budget carries in ``queue_s_max``. Its levels have one part with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from headwater.overlay.links.link_load import NOT_TOLD
from headwater.overlay.links.query_shares import QueryShares

TURNED_AWAY_TELLS = 32
"""Whoever was turned away, and has not come again until the load was told so often, is idle: about
two full queues have left meanwhile."""


class SharedRoom:
    """Of one link."""

    def __init__(self, shares: QueryShares, *, queue_s_max: float) -> None:
        self._shares = shares
        self._queue_s_max = queue_s_max
        self._queued_by: Mapping[str, int] = NOT_TOLD
        self._handed_by: Counter[str] = Counter()
        self._turned_away: dict[str, int] = {}
        """How often the load was told since."""

    def told(self, queued_by: Mapping[str, int]) -> None:
        """The driver has said what waits on whose account, what was handed over before
        included."""
        self._queued_by = queued_by
        self._handed_by.clear()
        self._turned_away = {
            query: count + 1
            for query, count in self._turned_away.items()
            if count < TURNED_AWAY_TELLS and query in self._shares
        }

    def handed(self, query: str, byte_count: int) -> None:
        account = self._shares.account(query)
        self._handed_by[account] += byte_count
        self._turned_away.pop(account, None)

    def forget_handed(self) -> None:
        self._handed_by.clear()

    def forget(self) -> None:
        """The link is gone, with all that waited."""
        self._queued_by = NOT_TOLD
        self._handed_by.clear()
        self._turned_away.clear()

    @property
    def has_turned_away(self) -> bool:
        """Somebody waits to be told that there is room."""
        return bool(self._turned_away)

    def left(self, query: str, *, queued_bytes: int, queued_bytes_max: int) -> int:
        """What it may still hand over, of so much that waits in all and may; asked when it has
        something. Whoever may not is remembered."""
        account = self._shares.account(query)
        own = self._queued_by.get(account, 0) + self._handed_by[account]
        left = min(queued_bytes_max - queued_bytes, self._own_max(account, queued_bytes_max) - own)
        if left <= 0 and account in self._shares:
            self._turned_away[account] = 0
        return max(0, left)

    def has_budget(self, query: str) -> bool:
        """Its summaries may wait for that, and not for the link."""
        return self._shares.of(query).bytes_per_s is not None

    def part_of(self, query: str) -> float:
        """Of the link, by weight, beside those that wait or were turned away lately."""
        account = self._shares.account(query)
        others = {*self._queued_by, *(+self._handed_by), *self._turned_away} - {account}
        own = self._shares.of(query).weight
        return own / (own + sum(self._shares.of(one).weight for one in others))

    def _own_max(self, query: str, queued_bytes_max: int) -> int:
        share = self._shares.of(query)
        own_max = int(queued_bytes_max * self.part_of(query))
        if share.bytes_per_s is not None:
            own_max = min(own_max, int(self._queue_s_max * share.bytes_per_s))
        return max(own_max, 1)  # so that one message may always wait
