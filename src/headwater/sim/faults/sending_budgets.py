"""Budgets of members in a simulated world: what waits for them, and that they are kept.

The same ``ByteBudget`` as in an agent decides when a message may leave. Whether it was right is not
asked of it: all that has left a member in the last ten seconds is added up here, and may not be
more than its budget allows, with what a burst and the largest message add.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from headwater.algebra.drain_rate import DrainRate
from headwater.overlay.links.byte_budget import BURST_BYTES_MIN, BURST_S_MAX, ByteBudget, Traffic
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.links.query_spending import QuerySpending, query_of
from headwater.overlay.links.queue_limit import queue_bytes_max
from headwater.sim.outcome import Violation

STRETCH_S = 10.0
OVER = 1.02
Counted = tuple[ByteBudget, deque[tuple[float, int]]]


class SendingBudgets:
    """Of all members of a world."""

    def __init__(
        self,
        budgets: Mapping[str, LinkBudgets],
        shares_of: Callable[[str], QueryShares | None] = lambda site: None,
    ) -> None:
        """``shares_of`` a site are those of its queries, as it knows them; None: it is down."""
        self._budgets = budgets
        self._shares_of = shares_of
        self._queries: dict[str, QuerySpending] = {}
        """By site."""
        self.held_queries = 0
        """How often a query's own budget held something back."""
        self._by_query: dict[tuple[str, str], deque[tuple[float, int]]] = {}
        self._agents: dict[str, Counted] = {}
        self._links: dict[tuple[str, str], Counted] = {}
        for site, one in budgets.items():
            share = one.control_share_max
            if one.agent is not None:
                self._agents[site] = (ByteBudget(one.agent, control_share_max=share), deque())
            for peer, rate in one.to.items():
                self._links[site, peer] = (ByteBudget(rate, control_share_max=share), deque())
        self._largest_bytes = 0

    def counts_on(self, sender: str, receiver: str, message: object = None) -> bool:
        if self._budgets.get(sender, NO_BUDGETS).of(receiver) is not None:
            return True
        query = query_of(message)
        return bool(query) and self.shares(sender).of(query).bytes_per_s is not None

    def passes(self, site: str, message: object) -> None:
        """It is put on a link."""
        self._spending(site).passes(message)

    def shares(self, site: str) -> QueryShares:
        """As they are now at the site."""
        return self._spending(site).shares

    def _spending(self, site: str) -> QuerySpending:
        """It outlives the site's processes, as what the site has sent does."""
        known = self._queries.get(site)
        if known is None:
            known = self._queries[site] = QuerySpending()
        known.shares = self._shares_of(site) or known.shares
        return known

    def wait_s(
        self,
        pair: tuple[str, str],
        traffic: Traffic,
        size_bytes: int,
        *,
        query: str = "",
        is_spare: bool,
        now_s: float,
    ) -> float:
        """Until it may leave, if nothing else does; 0: now. ``is_spare``: nothing but control
        waits."""
        wait_s = 0.0
        spending = self._spending(pair[0])
        if query and not spending.room(query, traffic, size_bytes, now_s=now_s):
            self.held_queries += 1
            wait_s = max(spending.ready_s(query, traffic, size_bytes) - now_s, 1e-3)
        for budget, _ in self._of(pair):
            wanted = min(size_bytes, budget.most_bytes(traffic))
            if budget.room(traffic, is_spare=is_spare, now_s=now_s) < wanted - 1.0:
                ready_s = budget.ready_s(traffic, wanted, is_spare=is_spare)
                wait_s = max(wait_s, ready_s - now_s, 1e-3)
        return wait_s

    def left(
        self,
        pair: tuple[str, str],
        traffic: Traffic,
        size_bytes: int,
        *,
        query: str = "",
        now_s: float,
    ) -> None:
        """Raises ``Violation`` where that was more than its sender may send."""
        self._largest_bytes = max(self._largest_bytes, size_bytes)
        for budget, lately in self._of(pair):
            budget.spend(traffic, size_bytes, now_s=now_s)
            self._check(pair[0], lately, size_bytes, budget.bytes_per_s, now_s=now_s)
        if query:
            self._left_of(pair[0], query, traffic, size_bytes, now_s=now_s)

    def _left_of(
        self, site: str, query: str, traffic: Traffic, size_bytes: int, *, now_s: float
    ) -> None:
        spending = self._spending(site)
        spending.spend(query, traffic, size_bytes, now_s=now_s)
        account = spending.shares.account(query)
        rate, key = spending.shares.of(query).bytes_per_s, (site, account)
        if rate is None:
            self._by_query.pop(key, None)
        elif traffic > Traffic.CONTROL:
            lately = self._by_query.setdefault(key, deque())
            self._check(f"{site} of {account}", lately, size_bytes, rate, now_s=now_s)

    def _check(
        self,
        who: str,
        lately: deque[tuple[float, int]],
        size_bytes: int,
        rate: float,
        *,
        now_s: float,
    ) -> None:
        lately.append((now_s, size_bytes))
        while lately[0][0] < now_s - STRETCH_S:
            lately.popleft()
        spent = sum(count for _, count in lately)
        burst_bytes = max(BURST_S_MAX * rate, BURST_BYTES_MIN)
        if spent > OVER * rate * STRETCH_S + burst_bytes + self._largest_bytes:
            raise Violation(
                "budget kept",
                f"{who} has sent {spent} bytes in {STRETCH_S:g} s, and may send {rate:g} a second",
            )

    def queued_bytes_max(
        self,
        sender: str,
        receiver: str,
        *,
        rate: DrainRate | None,
        queue_s_max: float,
        now_s: float,
    ) -> int | None:
        """What may wait; None: nothing says so. ``rate``: of a path that is only so fast."""
        budget = self._budgets.get(sender, NO_BUDGETS).of(receiver)
        if budget is None and rate is None:
            return None
        known = rate or DrainRate()
        return queue_bytes_max(known, queue_s_max=queue_s_max, budget=budget, now_s=now_s)

    def _of(self, pair: tuple[str, str]) -> list[Counted]:
        known = (self._agents.get(pair[0]), self._links.get(pair))
        return [one for one in known if one is not None]
