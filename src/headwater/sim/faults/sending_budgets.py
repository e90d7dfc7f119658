"""Budgets of members in a simulated world: what waits for them, and that they are kept.

The same ``ByteBudget`` as in an agent decides when a message may leave. Whether it was right is not
asked of it: all that has left a member in the last ten seconds is added up here, and may not be
more than its budget allows, with what a burst and the largest message add.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from headwater.algebra.drain_rate import DrainRate
from headwater.overlay.links.byte_budget import ByteBudget, Traffic
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.queue_limit import queue_bytes_max
from headwater.sim.outcome import Violation

STRETCH_S = 10.0
OVER = 1.02
Counted = tuple[ByteBudget, deque[tuple[float, int]]]


class SendingBudgets:
    """Of all members of a world."""

    def __init__(self, budgets: Mapping[str, LinkBudgets]) -> None:
        self._budgets = budgets
        self._agents: dict[str, Counted] = {}
        self._links: dict[tuple[str, str], Counted] = {}
        for site, one in budgets.items():
            share = one.control_share_max
            if one.agent is not None:
                self._agents[site] = (ByteBudget(one.agent, control_share_max=share), deque())
            for peer, rate in one.to.items():
                self._links[site, peer] = (ByteBudget(rate, control_share_max=share), deque())
        self._largest_bytes = 0

    def counts_on(self, sender: str, receiver: str) -> bool:
        return self._budgets.get(sender, NO_BUDGETS).of(receiver) is not None

    def wait_s(
        self,
        pair: tuple[str, str],
        traffic: Traffic,
        size_bytes: int,
        *,
        is_spare: bool,
        now_s: float,
    ) -> float:
        """Until it may leave, if nothing else does; 0: now. ``is_spare``: nothing but control
        waits."""
        wait_s = 0.0
        for budget, _ in self._of(pair):
            wanted = min(size_bytes, budget.most_bytes(traffic))
            if budget.room(traffic, is_spare=is_spare, now_s=now_s) < wanted - 1.0:
                ready_s = budget.ready_s(traffic, wanted, is_spare=is_spare)
                wait_s = max(wait_s, ready_s - now_s, 1e-3)
        return wait_s

    def left(
        self, pair: tuple[str, str], traffic: Traffic, size_bytes: int, *, now_s: float
    ) -> None:
        """Raises ``Violation`` where that was more than its sender may send."""
        self._largest_bytes = max(self._largest_bytes, size_bytes)
        for budget, lately in self._of(pair):
            budget.spend(traffic, size_bytes, now_s=now_s)
            lately.append((now_s, size_bytes))
            while lately[0][0] < now_s - STRETCH_S:
                lately.popleft()
            spent = sum(count for _, count in lately)
            allowed = OVER * budget.bytes_per_s * STRETCH_S + budget.burst_bytes
            if spent > allowed + self._largest_bytes:
                raise Violation(
                    "budget kept",
                    f"{pair[0]} has sent {spent} bytes in {STRETCH_S:g} s, and may send "
                    f"{budget.bytes_per_s:g} a second",
                )

    def queued_bytes_max(self, sender: str, receiver: str, *, queue_s_max: float) -> int | None:
        """What may wait; None: no budget says so."""
        budget = self._budgets.get(sender, NO_BUDGETS).of(receiver)
        if budget is None:
            return None
        return queue_bytes_max(DrainRate(), queue_s_max=queue_s_max, budget=budget, now_s=0.0)

    def _of(self, pair: tuple[str, str]) -> list[Counted]:
        known = (self._agents.get(pair[0]), self._links.get(pair))
        return [one for one in known if one is not None]
