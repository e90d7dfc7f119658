"""The wide area within one process, in real time: delay, jitter, rate, cuts; the same bytes.

``MemoryWorld`` holds the wires, one ``MemoryNetwork`` for each site keeps the contract of
``Network``. Messages are encoded, queued, cut into frames, put together and decoded by exactly
the code that the sockets use, so byte counts are what would travel, and a message that would be
refused there is refused here. A dozen agents fit into one process this way, each behind its own
slow line.

A wire carries one frame after the other at its rate, most urgent first, and delivers it after its
delay. A cut wire is silent: what is on it waits as TCP would retransmit it, and if the wire
stays cut for ``notice_s``, both ends report the link down and what was on the wire is lost.

A world that hands over values has no wires: sites of one process that only share it (``headwater
try``) pass messages as they are (``value_link.py``), and everything else is the same.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from headwater.errors import WireError
from headwater.net.identity.signing import KeySignatures, MemoryKeys, OperatorSignature
from headwater.net.memory.memory_link import MemoryLink, Wire
from headwater.net.memory.value_link import ValueLink
from headwater.net.network import (
    DEFAULT_LIMITS,
    LinkCounters,
    NetLimits,
    NetworkHandler,
    NetworkStats,
    RefusalCounts,
)
from headwater.net.refusal import Refusal
from headwater.net.transport.pacer import Pacer
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import Message
from headwater.overlay.signatures import UNSIGNED, Signatures

HANDSHAKE_ROUND_TRIPS = 3
"""TCP, TLS 1.3, hello."""


FEDERATION = "memory"
OPERATOR = "here"


class MemoryWorld:
    def __init__(
        self,
        wire_of: Callable[[str, str], Wire] = lambda _from, _to: Wire(),
        *,
        notice_s: float = 1.0,
        seed: int = 0,
        hands_over_values: bool = False,
    ) -> None:
        """``notice_s`` is how long a cut lasts before the ends of a link believe it. Where values
        are handed over, wires have no delay and no rate, and can't be cut."""
        self.hands_over_values = hands_over_values
        self.sent_kinds: Counter[str] = Counter()
        """Bytes that all sites gave to wires, by the names of messages."""
        self.wire_of = wire_of
        self.notice_s = notice_s
        self.random = random.Random(seed)
        self.keys = MemoryKeys()
        own = self.keys.make_operator(OPERATOR)
        self.operator = OperatorSignature(FEDERATION, OPERATOR, own)
        """A federation in one process is its own operator."""
        self._networks: dict[str, MemoryNetwork] = {}
        self._severed: set[frozenset[str]] = set()

    def network(
        self,
        site: str,
        codec: Codec,
        limits: NetLimits = DEFAULT_LIMITS,
        budgets: LinkBudgets = NO_BUDGETS,
    ) -> MemoryNetwork:
        network = self._networks[site] = MemoryNetwork(self, site, codec, limits, budgets)
        return network

    def signatures(self, site: str, codec: Codec) -> Signatures:
        """Where values are handed over nobody is outside, and nobody signs."""
        if self.hands_over_values:
            return UNSIGNED
        own = self.keys.make(site)
        return KeySignatures(FEDERATION, own=lambda: own, others=self.keys, pack=codec.rows.encode)

    def find(self, site: str) -> MemoryNetwork | None:
        network = self._networks.get(site)
        return network if network is not None and network.is_started else None

    def is_severed(self, left: str, right: str) -> bool:
        return frozenset((left, right)) in self._severed

    def sever(self, left: str, right: str) -> None:
        assert not self.hands_over_values, "there is no wire to cut"
        self._severed.add(frozenset((left, right)))
        for one, other in ((left, right), (right, left)):
            if (network := self._networks.get(one)) is not None:
                network.wire_severed(other)

    def heal(self, left: str, right: str) -> None:
        self._severed.discard(frozenset((left, right)))
        for one, other in ((left, right), (right, left)):
            if (network := self._networks.get(one)) is not None:
                network.wire_healed(other)

    def isolate(self, sites: Iterable[str]) -> None:
        """Cuts every wire between these sites and all others."""
        for left, right in self._border(sites):
            self.sever(left, right)

    def heal_off(self, sites: Iterable[str]) -> None:
        for left, right in self._border(sites):
            self.heal(left, right)

    def deliver(self, sender: str, to: str, pair: object, data: bytes | Message) -> None:
        self._networks[to].deliver(sender, pair, data)

    def end(self) -> None:
        """All leave at one moment: nobody is told that the others have left."""
        for network in self._networks.values():
            network.is_started = False

    def _border(self, sites: Iterable[str]) -> list[tuple[str, str]]:
        inside = set(sites)
        outside = set(self._networks) - inside
        return [(left, right) for left in sorted(inside) for right in sorted(outside)]


class MemoryNetwork:
    """One site's end of the world; made by ``MemoryWorld.network``."""

    def __init__(
        self,
        world: MemoryWorld,
        site: str,
        codec: Codec,
        limits: NetLimits,
        budgets: LinkBudgets = NO_BUDGETS,
    ) -> None:
        self.site = site
        self.codec = codec
        self.limits = limits
        self.is_started = False
        self.refused: RefusalCounts = Counter()
        self._world = world
        self._pacer = Pacer(budgets)
        self._counters: dict[str, LinkCounters] = {}
        self._links: dict[str, MemoryLink | ValueLink] = {}
        self._dialling: set[str] = set()
        self.operator: OperatorSignature | None = world.operator
        self.signatures = world.signatures(site, codec)

    # The contract of ``Network``.

    async def start(self, handler: NetworkHandler) -> None:
        self._handler = handler
        self.is_started = True

    def share_by(self, shares: QueryShares) -> None:
        self._pacer.spending.shares = shares

    def use_budgets(self, budgets: LinkBudgets) -> None:
        if budgets != self._pacer.budgets:
            self._pacer.use(budgets)
            for site, link in self._links.items():
                if isinstance(link, MemoryLink):
                    gate = self._pacer.gate(site, self._counters[site])
                    link.use_gate(gate, budgets.of(site))

    def dial(self, site: str) -> None:
        if site in self._links or site in self._dialling:
            return
        self._dialling.add(site)
        there, back = self._world.wire_of(self.site, site), self._world.wire_of(site, self.site)
        after_s = HANDSHAKE_ROUND_TRIPS * (there.delay_s + back.delay_s)
        _loop().call_later(after_s, self._dialled, site)

    def send(self, to: str, message: Message, priority: int) -> bool:
        link = self._links.get(to)
        if link is None:
            self.refused[Refusal.NO_LINK] += 1
            _loop().call_soon(self._report_unsent, to, message, priority)
            return False
        try:
            if link.send(message, priority):
                return True
            self.refused[Refusal.QUEUE_FULL] += 1
        except WireError:
            self.refused[Refusal.UNSENDABLE] += 1
        return False

    def queued_bytes(self, to: str) -> int:
        link = self._links.get(to)
        return 0 if link is None else link.queued_bytes

    def close_link(self, site: str) -> None:
        """The other end learns of it one delay later, if the wire is not cut."""
        if (link := self._links.pop(site, None)) is None:
            self._dialling.discard(site)
            return
        _loop().call_soon(self._report_down, site, link.close())
        if (other := self._world.find(site)) is not None:
            wire = self._world.wire_of(self.site, site)
            _loop().call_later(wire.delay_s, other.link_lost, self.site, link.pair)

    def stats(self) -> NetworkStats:
        links = {site: counters.stats() for site, counters in list(self._counters.items())}
        for site, link in list(self._links.items()):
            links[site] = msgspec.structs.replace(
                links[site],
                is_up=True,
                queued_bytes=link.queued_bytes,
                rtt_s=self._round_trip_s(site),
                rtt_min_s=self._round_trip_s(site),
                delivery_bytes_per_s=link.wire.bytes_per_s,
            )
            links[site] = self._pacer.told_of(site, links[site])
        refused = {str(reason): n for reason, n in list(self.refused.items())}
        own = self._pacer.stats(links.values())
        return NetworkStats(links, refused, own, self._pacer.spent())

    async def stop(self) -> None:
        """Nothing more is reported here; the others see their links end."""
        self.is_started = False
        for site in list(self._links):
            self.close_link(site)

    # What the world and the other end call.

    def wire_severed(self, site: str) -> None:
        link = self._links.get(site)
        if isinstance(link, MemoryLink):
            link.sever()
            _loop().call_later(self._world.notice_s, self._give_up, site, link)

    def wire_healed(self, site: str) -> None:
        link = self._links.get(site)
        if isinstance(link, MemoryLink):
            link.heal()

    def link_lost(self, site: str, pair: object) -> None:
        link = self._links.get(site)
        if link is not None and link.pair is pair:
            del self._links[site]
            self._report_down(site, link.close())

    def link_formed(self, site: str, pair: object) -> None:
        self._dialling.discard(site)
        counters = self._counters.setdefault(site, LinkCounters())
        counters.links += 1
        self._links[site] = self._new_link(site, pair, counters)
        self._handler.link_up(site)

    def deliver(self, sender: str, pair: object, data: bytes | Message) -> None:
        """Something has come from the other end."""
        link = self._links.get(sender)
        if not self.is_started or link is None or link.pair is not pair:
            return
        for message in link.receive(data):
            self._handler.message(sender, message)

    # How it works.

    def _new_link(self, site: str, pair: object, counters: LinkCounters) -> MemoryLink | ValueLink:
        world = self._world
        deliver = partial(world.deliver, self.site, site, pair)
        if world.hands_over_values:
            return ValueLink(pair, counters=counters, deliver=deliver)
        return MemoryLink(
            world.wire_of(self.site, site),
            pair,
            codec=self.codec,
            limits=self.limits,
            counters=counters,
            refused=self.refused,
            chance=world.random,
            tell_load=lambda load: self._handler.link_load(site, load),
            deliver=deliver,
            kinds=world.sent_kinds,
            gate=self._pacer.gate(site, counters),
            budget=self._pacer.budgets.of(site),
            spending=self._pacer.spending,
        )

    def _dialled(self, site: str) -> None:
        other = self._world.find(site)
        if site not in self._dialling:
            return
        self._dialling.discard(site)
        if other is None or not self.is_started or self._world.is_severed(self.site, site):
            self.refused[Refusal.UNREACHABLE] += 1
        elif site not in self._links and self.site not in other._links:
            pair = object()
            other.link_formed(self.site, pair)
            self.link_formed(site, pair)

    def _give_up(self, site: str, link: MemoryLink) -> None:
        if link.is_severed and self._links.get(site) is link:
            del self._links[site]
            self._report_down(site, link.close())

    def _report_unsent(self, to: str, message: Message, priority: int) -> None:
        """Unless there is a link again by now: a link that is up is not reported down."""
        if to in self._links:
            self.send(to, message, priority)
        else:
            self._report_down(to, [message])

    def _report_down(self, site: str, unsent: list[Message]) -> None:
        if self.is_started:
            self._handler.link_down(site, unsent)

    def _round_trip_s(self, site: str) -> float:
        there, back = self._world.wire_of(self.site, site), self._world.wire_of(site, self.site)
        return there.delay_s + back.delay_s


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
