"""Writes wait here for the agent's budget and their link's, and have their turns.

The decisions are ``ByteBudget``'s; here are the clock and the timer. Each connection of a link has
a gate. It asks how much it may write, says what it wrote, and where it may not write it waits:
control before data, and within these whoever has waited longest. A connection whose turn has not
come does not overtake those who wait for the same budget.

What goes over the interface is estimated when it is written (``wire_cost``), and corrected by what
the kernel counts: bytes and segments sent, with what TCP acknowledged and sent again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from headwater.net.network import (
    CLASS_OF,
    NO_BUDGET,
    BudgetStats,
    LinkCounters,
    LinkStats,
    by_class,
)
from headwater.net.transport.frames import Stream
from headwater.net.transport.send_queue import TRAFFIC
from headwater.net.transport.tcp import SentByTcp, sent_by_tcp
from headwater.net.transport.wire_cost import (
    FAILED_BYTES,
    HEADER_BYTES,
    HEADER_BYTES_V6,
    RECORD_PAYLOAD_BYTES,
    ack_bytes,
    payload_within,
    segments,
    tls_bytes,
    wire_bytes,
)
from headwater.overlay.links.byte_budget import PACKET_BYTES, ByteBudget, Traffic
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.query_spending import QuerySpending, QuerySpent

SETTLE_S_MIN = 0.1
"""How often the kernel is asked at most, beside the samples of every second."""
EARLY_S_MAX = 1e-6
"""By which a timer of the loop may be early."""
WRITE_BYTES_MAX = wire_bytes(RECORD_PAYLOAD_BYTES, header_bytes=HEADER_BYTES_V6)
FRAMING_BYTES = 64
"""What waits takes beside its bodies, about: frames of a few messages."""


class _Wait(msgspec.Struct):
    traffic: Traffic
    byte_count: float
    pump: Callable[[], None]
    since_s: float


class Pacer:
    """Of one agent."""

    def __init__(self, budgets: LinkBudgets = NO_BUDGETS) -> None:
        self.agent: ByteBudget | None = None
        self._links: dict[str, ByteBudget] = {}
        self.spending = QuerySpending()
        """Of queries, whether there is a budget or none."""
        self._waiting: dict[Gate, _Wait] = {}
        self._turn: Gate | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.use(budgets)

    def use(self, budgets: LinkBudgets) -> None:
        """From now on; whoever has gates needs others. What stays as it was keeps what it has
        spent."""
        self.budgets, share = budgets, budgets.control_share_max
        agent = None if budgets.agent is None else _byte_budget(self.agent, budgets.agent, share)
        self.agent = agent
        self._links = {
            site: _byte_budget(self._links.get(site), rate, share)
            for site, rate in budgets.to.items()
        }

    def gate(self, site: str, counters: LinkCounters) -> Gate | None:
        """For one connection; None: no budget counts there."""
        known = [one for one in (self.agent, self._links.get(site)) if one is not None]
        return Gate(self, known, counters) if known else None

    def told_of(self, site: str, stats: LinkStats) -> LinkStats:
        """With the link's own budget."""
        link = self._links.get(site)
        if link is None:
            return stats
        used = link.used_bytes_per_s(now_s=_now_s())
        budget = msgspec.structs.replace(
            stats.budget, bytes_per_s=link.bytes_per_s, used_bytes_per_s=used
        )
        return msgspec.structs.replace(stats, budget=budget)

    def stats(self, links: Iterable[LinkStats]) -> BudgetStats:
        """Of the agent's own budget; what its links spent is in it."""
        if self.agent is None:
            return NO_BUDGET
        waited: Counter[str] = Counter()
        for one in links:
            waited.update(one.budget.waited_s)
        return BudgetStats(
            self.agent.bytes_per_s,
            self.agent.used_bytes_per_s(now_s=_now_s()),
            {name: round(spent) for name, spent in by_class(self.agent.spent_bytes).items()},
            dict(waited),
        )

    def spent(self) -> dict[str, QuerySpent]:
        """By query."""
        return self.spending.spent(CLASS_OF, now_s=_now_s())

    def failed(self) -> None:
        """A connection has come to nothing, and took something all the same."""
        if self.agent is not None:
            self.agent.spend(Traffic.TRANSPORT, FAILED_BYTES, now_s=_now_s())

    def is_spare(self) -> bool:
        """Nothing but control waits."""
        if not self._waiting:
            return True
        return all(one.traffic <= Traffic.CONTROL for one in self._waiting.values())

    def must_queue(self, gate: Gate, traffic: Traffic) -> bool:
        """Others wait for the agent's budget, who come first. Who waits for a narrower link of its
        own is in nobody's way."""
        if not self._waiting or self.agent is None or self._turn is gate:
            return False
        return any(
            one.traffic <= traffic and other.is_held_by(self.agent, one.traffic, one.byte_count)
            for other, one in self._waiting.items()
            if other is not gate
        )

    def wait(
        self, gate: Gate, traffic: Traffic, byte_count: float, pump: Callable[[], None]
    ) -> None:
        one = self._waiting.get(gate)
        if one is None:
            self._waiting[gate] = _Wait(traffic, byte_count, pump, _now_s())
        else:
            one.traffic, one.byte_count = traffic, byte_count
        self._set_timer()

    def leave(self, gate: Gate) -> None:
        """It has written, or its connection has ended."""
        if (one := self._waiting.pop(gate, None)) is not None:
            gate.waited(one.traffic, _now_s() - one.since_s)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            spare = self.is_spare()
            at_s = min(
                gate.ready_s(one.traffic, one.byte_count, is_spare=spare)
                for gate, one in self._waiting.items()
            )
            self._timer = asyncio.get_running_loop().call_at(at_s, self._give_turns)

    def _give_turns(self) -> None:
        self._timer = None
        now_s, spare = _now_s(), self.is_spare()
        control_first = sorted(
            self._waiting.items(), key=lambda entry: entry[1].traffic > Traffic.CONTROL
        )
        try:
            for gate, one in control_first:
                if gate.ready_s(one.traffic, one.byte_count, is_spare=spare) > now_s + EARLY_S_MAX:
                    continue
                self.leave(gate)
                self._turn = gate
                one.pump()
        finally:  # where one connection fails, others have their turns all the same
            self._turn = None
            self._set_timer()


def _byte_budget(former: ByteBudget | None, rate: float, share: float) -> ByteBudget:
    if former is not None and former.bytes_per_s == rate:
        return former
    return ByteBudget(rate, control_share_max=share)


class Gate:
    """What one connection asks before it writes."""

    def __init__(self, pacer: Pacer, budgets: Sequence[ByteBudget], counters: LinkCounters) -> None:
        self._pacer = pacer
        self._budgets = budgets
        self._counters = counters
        self._header_bytes = HEADER_BYTES
        self._socket: Any = None
        self._charged_bytes = 0.0
        """For this connection, so far."""
        self._tls_bytes = 0
        self._settled_s = 0.0
        self._prepaid_bytes = 0.0
        """What may still be written in this turn of the loop without asking the budgets again."""
        self._unsaid = [0] * len(TRAFFIC)
        """By stream, what was written in it and not yet said to them."""
        self._before = SentByTcp(0, 0)

    def begin(self, sock: Any, *, is_new: bool = True) -> None:
        """The connection is a link's from now on: its handshake is known, and counts. One that is
        not new has sent what it has sent under other budgets."""
        sent = sent_by_tcp(sock)
        if sent is None:
            return
        self._socket, self._before = sock, sent
        if getattr(sock, "family", None) is not None and sock.family.name == "AF_INET6":
            self._header_bytes = HEADER_BYTES_V6
        spent = sent.new_bytes + sent.again_bytes + self._header_bytes * sent.segments
        if is_new:
            self._charge(Traffic.TRANSPORT, spent)
        else:
            self._charged_bytes = spent

    def limit(self, stream: Stream, queued_bytes: int) -> int:
        """The longest write that may be made now; 0: none. ``wait`` then."""
        if self._prepaid_bytes >= WRITE_BYTES_MAX:
            return RECORD_PAYLOAD_BYTES
        self.flush()
        traffic, now_s = TRAFFIC[stream], _now_s()
        if traffic is not Traffic.BEAT and self._pacer.must_queue(self, traffic):
            return 0
        spare = self._pacer.is_spare()
        room = min(one.room(traffic, is_spare=spare, now_s=now_s) for one in self._budgets)
        if room < self._wanted(traffic, queued_bytes) - 1.0:
            return 0
        if traffic > Traffic.CONTROL:
            self._prepaid_bytes = room
        return payload_within(max(room, PACKET_BYTES), header_bytes=self._header_bytes)

    def wait(self, stream: Stream, queued_bytes: int, pump: Callable[[], None]) -> None:
        traffic = TRAFFIC[stream]
        self._pacer.wait(self, traffic, self._wanted(traffic, queued_bytes), pump)

    def wrote(self, payload_bytes: int, stream: Stream) -> None:
        """As one write; ``stream`` is what most of it is."""
        sent_bytes = tls_bytes(payload_bytes)
        spent = sent_bytes + self._header_bytes * segments(sent_bytes)
        self._tls_bytes += sent_bytes
        self._prepaid_bytes -= spent
        self._unsaid[stream] += spent

    def flush(self) -> None:
        """Says what was written in this turn of the loop, in which nobody else had one; called at
        its end at the latest."""
        self._prepaid_bytes = 0.0
        if not any(self._unsaid):
            return
        self._pacer.leave(self)
        for traffic, spent in zip(TRAFFIC, self._unsaid, strict=True):
            if spent:
                self._charge(traffic, spent)
        self._unsaid = [0] * len(TRAFFIC)
        if self._socket is not None and _now_s() - self._settled_s >= SETTLE_S_MIN:
            self.settle()

    def received(self, byte_count: int) -> None:
        self._charge(Traffic.TRANSPORT, ack_bytes(byte_count, header_bytes=self._header_bytes))

    def settle(self) -> None:
        """By what the kernel has counted: what it has sent, and what it still has to."""
        sent = None if self._socket is None else sent_by_tcp(self._socket)
        if sent is None:
            return
        self._settled_s = _now_s()
        pending = max(0, self._before.new_bytes + self._tls_bytes - sent.new_bytes)
        headers = self._header_bytes * (sent.segments + segments(pending))
        known = sent.new_bytes + sent.again_bytes + pending + headers
        self._charge(Traffic.TRANSPORT, known - self._charged_bytes)

    def leave(self) -> None:
        self._pacer.leave(self)
        self._socket = None

    # For the pacer.

    def ready_s(self, traffic: Traffic, byte_count: float, *, is_spare: bool) -> float:
        return max(one.ready_s(traffic, byte_count, is_spare=is_spare) for one in self._budgets)

    def is_held_by(self, budget: ByteBudget, traffic: Traffic, byte_count: float) -> bool:
        held_s = budget.ready_s(traffic, byte_count)
        return all(one.ready_s(traffic, byte_count) <= held_s for one in self._budgets)

    def waited(self, traffic: Traffic, waited_s: float) -> None:
        self._counters.waited_s[traffic] += waited_s

    def _wanted(self, traffic: Traffic, queued_bytes: int) -> float:
        """Not a part of what is there, unless there is more than is written at once."""
        all_bytes = wire_bytes(queued_bytes + FRAMING_BYTES, header_bytes=self._header_bytes)
        return min(all_bytes, *(one.most_bytes(traffic) for one in self._budgets))

    def _charge(self, traffic: Traffic, byte_count: float) -> None:
        now_s = _now_s()
        self._charged_bytes += byte_count
        self._counters.spent_bytes[traffic] += byte_count
        for one in self._budgets:
            one.spend(traffic, byte_count, now_s=now_s)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
