"""What an agent sends for each query: counted by class, and held to the query's budget.

What is counted are the bytes as they are encoded, with what TLS and TCP add: whoever drives the
links says how much left. States and acknowledgements of a query count for its budget and are not
held back by it, for without them nothing would be let go; its panes wait for what is left.

A budget is kept chunk by chunk. Only where others wait behind a message that has begun it is sent
to its end, and its query waits so much longer: one stream of a link carries one message at a time,
and whoever is held back must not hold up the others.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from headwater.overlay.links.byte_budget import ByteBudget, Traffic
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import AckMessage, StatesMessage, StreamMarker, SummaryMessage
from headwater.plan.altered.link_share import CONTROL_SHARE, EVEN, LinkShare

OTHERS = ""
"""In place of queries that are not known here."""


class QuerySpent(msgspec.Struct, frozen=True):
    """Of one query, for people and metrics."""

    share: LinkShare = EVEN
    spent_bytes: dict[str, int] = {}
    """By class, since the agent has started."""
    used_bytes_per_s: float | None = None
    """Over the last ten seconds or so; None: it has no budget."""
    held_count: int = 0
    """How often its budget began to hold something back."""


class QuerySpending:
    """Of one agent, over all its links."""

    def __init__(self, shares: QueryShares | None = None) -> None:
        self.shares = shares or QueryShares()
        self._budgets: dict[str, ByteBudget] = {}
        self._spent: dict[str, list[float]] = {}
        self._held: dict[str, int] = {}
        self._is_held: set[str] = set()

    def passes(self, message: object) -> None:
        """It is put on a link."""
        if isinstance(message, SummaryMessage):
            summary = message.summary
            self.shares.passes(summary.query, summary.pane + summary.more)

    def room(self, query: str, traffic: Traffic, byte_count: int, *, now_s: float) -> float:
        """How much of so many bytes of a message may leave now; 0: nothing."""
        budget = None if traffic <= Traffic.CONTROL else self._budget_of(query)
        if budget is None:
            return float("inf")
        room = budget.room(traffic, now_s=now_s)
        if room >= min(byte_count, budget.quantum_bytes) - 1.0:
            self._is_held.discard(query)
            return room
        if query not in self._is_held:
            self._is_held.add(query)
            self._held[query] = self._held.get(query, 0) + 1
        return 0.0

    def ready_s(self, query: str, traffic: Traffic, byte_count: int) -> float:
        """When there will be room, after ``room`` has said that there is none."""
        budget = self._budget_of(query)
        if budget is None:
            return 0.0
        return budget.ready_s(traffic, min(byte_count, budget.quantum_bytes))

    def spend(self, query: str, traffic: Traffic, byte_count: float, *, now_s: float) -> None:
        """So many have left, as the interface counts them."""
        known = query if query in self.shares else OTHERS
        spent = self._spent.get(known)
        if spent is None:
            spent = self._spent[known] = [0.0] * len(Traffic)
        spent[traffic] += byte_count
        budget = self._budget_of(query)
        if budget is not None:
            budget.spend(traffic, byte_count, now_s=now_s)

    def spent(self, class_of: Mapping[Traffic, str], *, now_s: float) -> dict[str, QuerySpent]:
        """Of all queries that are live; of all others together under no name."""
        self._sweep()
        found = {}
        for query in [*dict(self.shares.all()), OTHERS]:
            counts: dict[str, int] = {}
            for traffic, count in zip(Traffic, self._spent.get(query, ()), strict=False):
                if count:
                    name = class_of[traffic]
                    counts[name] = counts.get(name, 0) + round(count)
            budget = self._budget_of(query)
            used = None if budget is None else budget.used_bytes_per_s(now_s=now_s)
            share = self.shares.of(query)
            if query or counts:
                found[query] = QuerySpent(share, counts, used, self._held.get(query, 0))
        return found

    def _budget_of(self, query: str) -> ByteBudget | None:
        """That of its levels, too."""
        account = self.shares.account(query)
        rate = self.shares.of(account).bytes_per_s
        if rate is None:
            return None
        known = self._budgets.get(account)
        if known is None or known.bytes_per_s != rate:
            known = self._budgets[account] = ByteBudget(
                rate, control_share_max=CONTROL_SHARE, debt_s_max=float("inf")
            )
        return known

    def _sweep(self) -> None:
        """Queries that have ended."""
        known = {OTHERS, *dict(self.shares.all())}
        self._budgets = {one: kept for one, kept in self._budgets.items() if one in known}
        self._spent = {one: kept for one, kept in self._spent.items() if one in known}
        self._held = {one: kept for one, kept in self._held.items() if one in known}
        self._is_held &= known


def query_of(message: object) -> str:
    """The query that a message is about; empty: none, or all of them."""
    if isinstance(message, SummaryMessage):
        return message.summary.query
    if isinstance(message, StatesMessage):
        return message.states[0].query if message.states else ""
    if isinstance(message, StreamMarker):
        return message.query
    return message.ack.query if isinstance(message, AckMessage) else ""
