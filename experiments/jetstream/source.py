"""One source, one link: panes of a second close, are cut as the step says, and wait for the link.

When to change the step is the product's own rule (``edge/degrade/policy.py``), what each step saves
its own estimate (``savings.py``), how fast the link is what its own measure makes
(``algebra/capacity/link_capacity.py``) of its queue and of TCP, asked once a second. (There
are no markers: the model has no neighbour.) The rest is a model: there is no overlay and no Spark,
a pane takes what packed rows were measured to take, with what a close takes beside them, and the
link carries its bytes one after the other, in steps of a tenth of a second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.jetstream.requests import URLS, Counts, Requests, bytes_per_row
from headwater.algebra.capacity.delivery import Delivery
from headwater.algebra.capacity.link_capacity import LinkCapacity
from headwater.algebra.drain_rate import DrainRate
from headwater.edge.degrade.policy import Period, Policy
from headwater.edge.degrade.savings import Savings
from headwater.plan.altered.link_share import CLOSE_BYTES
from headwater.plan.degrading.degradation import Degradation, Level, OperatorKind

TICK_S = 0.1
TICKS = 10
ONE_WAY_S = 0.05
QUEUE_S_MAX = 2.0
"""As in an agent: what waits behind the link. What is beyond waits at the site."""
HASHES = np.random.default_rng(7).random(URLS)
"""By URL: a sample has those below its share."""


class Sent:
    """What one pane, or several put together, came to."""

    def __init__(
        self, end_s: float, byte_count: float, step: int, lost: Counts, asked: int
    ) -> None:
        self.end_s = end_s
        self.bytes = byte_count
        self.left = byte_count
        self.step = step
        self.lost_urls = np.flatnonzero(lost).astype(np.int32)
        self.lost_counts = lost[self.lost_urls].astype(np.int32)
        """Requests for these URLs that are not in it."""
        self.asked = asked
        self.arrived_s: float | None = None

    @property
    def latency_s(self) -> float:
        return float("inf") if self.arrived_s is None else self.arrived_s - self.end_s


class Source:
    def __init__(
        self,
        requests: Requests,
        plan: Degradation | None,
        limit: float,
        rate: Callable[[float], float],
        *,
        budget: float | None = None,
        is_known: bool = False,
    ) -> None:
        """``limit``: of a threshold, a share of the pane's total. ``rate``: bytes a second that the
        link carries at a time. ``budget``: what the stream may take of it. ``is_known``: the rate
        need not be measured."""
        self._requests, self._plan, self._limit = requests, plan, limit
        self._rate_at, self._budget, self._is_known = rate, budget, is_known
        self.policy, self._savings = Policy(), Savings()
        self._drain = DrainRate()
        self._capacity = LinkCapacity()
        self._queue: deque[Sent] = deque()
        self._held: list[Counts] = []
        """Panes of a coarse one that is not over."""
        self.sent: list[Sent] = []
        self.steps: list[int] = []
        self.carried: list[float] = []
        """By second."""

    def run(self, seconds: int) -> Source:
        for second in range(seconds):
            self._close(self._requests.of(second), second + 1.0)
            ticks = [self._tick(second + 1.0 + n * TICK_S) for n in range(TICKS)]
            self.carried.append(sum(ticks))
            self._ask_tcp(ticks[-1], second + 2.0)
            self.steps.append(self.policy.step)
        return self

    def _tick(self, now_s: float) -> float:
        """What was carried; the queue is told of while something waits."""
        waited, carried = bool(self._queue), self._carry(now_s)
        if waited:
            now_s += TICK_S
            shown = self._drain.shown_bytes_per_s(now_s=now_s)
            queued_bytes = self._drain.queued_bytes if self._queue else 0
            self._capacity.drained(shown, queued_bytes=queued_bytes, now_s=now_s)
        return carried

    def _ask_tcp(self, carried: float, now_s: float) -> None:
        """It was limited by its sender where nothing waits."""
        rtt_s, rate = 2.0 * ONE_WAY_S, carried / TICK_S
        told = Delivery(rtt_s, rtt_s, rate, is_limited=not self._queue)
        self._capacity.delivered(told, now_s=now_s)

    # A pane closes

    def _close(self, counts: Counts, now_s: float) -> None:
        self._held.append(counts)
        length = self._size(OperatorKind.COARSEN_TIME)
        panes = 1 if length is None else round(length / 1e6)
        if now_s % panes and len(self._held) < panes:
            return
        counts, count = np.sum(self._held, axis=0), len(self._held)
        self._held = []
        kept = self._kept(counts, self.policy.step)
        byte_count = bytes_of(int(np.count_nonzero(kept)))
        lost = np.where(kept, 0, counts)
        sent = Sent(now_s, byte_count, self.policy.step, lost, int(counts.sum()))
        self.sent.append(sent)
        self._queue.append(sent)
        self._drain = self._drain.changed(round(byte_count), now_s=now_s)
        self._capacity.used(round(byte_count))
        if self._plan is not None:
            self._look(self._plan, counts, byte_count, count, now_s)

    def _look(
        self, plan: Degradation, counts: Counts, byte_count: float, panes: int, now_s: float
    ) -> None:
        step, need = self.policy.step, byte_count / panes
        rows = [int(np.count_nonzero(self._kept(counts, one))) for one in range(plan.last_step + 1)]
        for one in range(1, plan.last_step + 1):
            if _is_seen(plan, one) and rows[one - 1]:
                self._savings = self._savings.saw(one, rows[one] / rows[one - 1])
        beside = min(need, bytes_of(1) / panes)
        finer = beside + (need - beside) / self._savings.left(plan, step) if step else need
        measured = self._capacity.bytes_per_s
        measured = self._rate_at(now_s) if self._is_known else measured
        known = [one for one in (measured, self._budget) if one is not None]
        waited_s = self._waited_s(now_s, measured)
        seen = Period(need, finer, min(known, default=None), waited_s)
        self.policy = self.policy.after(
            seen, last_step=plan.last_step, same=self._savings.same(), now_s=now_s
        )

    def _waited_s(self, now_s: float, rate: float | None) -> float:
        """Of what does not fit behind the link any more."""
        ahead, room = 0.0, QUEUE_S_MAX * (rate or 0.0)
        for one in self._queue:
            ahead += one.left
            if ahead > max(room, one.bytes):
                return now_s - one.end_s
        return 0.0

    def _kept(self, counts: Counts, step: int) -> NDArray[np.bool_]:
        """Which URLs leave at a step."""
        kept = counts > 0
        part = self._size(OperatorKind.THRESHOLD, step)
        if part is not None:
            kept &= counts > self._limit * part * counts.sum()
        share = self._size(OperatorKind.SAMPLE, step)
        return kept if share is None else kept & (share > HASHES)

    def _size(self, kind: OperatorKind, step: int | None = None) -> float | None:
        if self._plan is None:
            return None
        return self._plan.size_at(kind, self.policy.step if step is None else step)

    # The link

    def _carry(self, now_s: float) -> float:
        rate, carried = self._rate_at(now_s), 0.0
        while self._queue and carried < rate * TICK_S - 1e-6:
            head = self._queue[0]
            taken = min(rate * TICK_S - carried, head.left)
            head.left, carried = head.left - taken, carried + taken
            at_s = now_s + carried / rate
            if head.left <= 1e-6:
                head.arrived_s = at_s + ONE_WAY_S
                self._queue.popleft()
            left_bytes = round(taken) if self._queue else self._drain.queued_bytes
            self._drain = self._drain.changed(-left_bytes, now_s=at_s)
        return carried


def bytes_of(rows: int) -> float:
    base, slope = bytes_per_row()
    return CLOSE_BYTES + (base + slope * rows if rows else 0.0)


def _is_seen(plan: Degradation, step: int) -> bool:
    newest: Level | None = plan.newest_at(step)
    return newest is not None and newest.operator.kind is OperatorKind.THRESHOLD
