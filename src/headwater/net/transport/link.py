"""A link with one neighbour: a control and a bulk connection that live and die together.

Control messages have a connection of their own, so a heartbeat never waits behind a summary,
neither in our queue nor in the kernel's nor for a lost packet. Whichever connection ends, the link
ends, and what was not written is handed back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from headwater.algebra.capacity.delivery import Delivery
from headwater.errors import WireError
from headwater.net.identity.identity import Identity
from headwater.net.identity.keyring import Keyring
from headwater.net.network import (
    LinkCounters,
    LinkStats,
    NetLimits,
    NetworkHandler,
    RefusalCounts,
    class_of,
    stream_of,
)
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import Frame, Kind, MessageAssembler, Stream
from headwater.net.transport.load_meter import LoadMeter
from headwater.net.transport.pacer import Pacer
from headwater.net.transport.send_queue import BACKLOG_SHARE, TRAFFIC, SendQueue
from headwater.net.transport.tcp import tcp_info
from headwater.net.values.codec import Codec
from headwater.net.values.wire import CertificateTold
from headwater.overlay.links.query_spending import QuerySpending, query_of
from headwater.overlay.messages import AckMessage, Message, StatesMessage, SummaryMessage, aged


class Link:
    """Made when both connections have greeted each other; ``run`` until it has ended."""

    def __init__(
        self,
        identity: Identity,
        control: Connection,
        bulk: Connection,
        *,
        codec: Codec,
        limits: NetLimits,
        counters: LinkCounters,
        refused: RefusalCounts,
        handler: NetworkHandler,
        keyring: Keyring,
        pacer: Pacer | None = None,
    ) -> None:
        self.identity = identity
        self.site = identity.name
        self.is_open = True
        self.info: Delivery | None = None
        self._codec = codec
        self._counters = counters
        self._refused = refused
        self._deliver = handler.message
        self._keyring = keyring
        pacer = pacer or Pacer()
        self._spending = pacer.spending
        self._told: dict[Stream, set[bytes]] = {stream: set() for stream in Stream}
        """Keys whose certificates have gone over this link, by stream: nothing else keeps its order
        with what is signed."""
        self._sides = (
            _Side(
                control,
                (Stream.HEARTBEAT, Stream.CONTROL),
                limits.control_queue_bytes_max,
                limits.control_message_bytes_max,
                pacer.spending,
            ),
            _Side(
                bulk,
                (Stream.LIVE, Stream.BACKLOG),
                limits.bulk_queue_bytes_max,
                limits.bulk_message_bytes_max,
                pacer.spending,
            ),
        )
        for connection in (control, bulk):
            connection.count_into(counters)
        sides, site = self._sides, self.site  # not self: nothing of a link refers back to it
        self._gates = tuple(pacer.gate(site, counters) for _ in sides)
        self._load = LoadMeter(
            lambda: _queued_bytes(sides),
            lambda load: handler.link_load(site, load),
            queue_s_max=limits.queue_s_max,
            budget=pacer.budgets.of(site),
            queued_by=lambda: sides[1].queue.queued_by,
            control_bytes=lambda: sides[0].queue.queued_bytes,
            held_bytes=lambda: sides[1].queue.held_bytes(now_s=_now_s()),
            known=counters.rate,
        )

    def use_gates(self, pacer: Pacer) -> None:
        """Other budgets count from now on, or none."""
        self._gates = tuple(pacer.gate(self.site, self._counters) for _ in self._sides)
        for side, gate in zip(self._sides, self._gates, strict=True):
            side.connection.use_gate(gate)
        self._load.budget = pacer.budgets.of(self.site)

    async def run(self) -> BaseException | None:
        """Carries messages until either connection ends; says why it did, if there is a reason."""
        for side, gate in zip(self._sides, self._gates, strict=True):
            side.connection.attach(self._receiver(side), side.queue, self._load.changed, gate)
        lost = [side.connection.lost for side in self._sides]
        done, _ = await asyncio.wait(lost, return_when=asyncio.FIRST_COMPLETED)
        self.close()
        await asyncio.wait(lost)
        return next((future.result() for future in lost if future in done), None)

    def send(self, message: Message, priority: int) -> bool:
        """False: the queue is full. Raises ``WireError`` for what nobody would accept."""
        stream = stream_of(message, priority)
        if not all(self._tell(key, stream) for key in signers(message) - self._told[stream]):
            return False
        return self._queue(message, stream)

    def _tell(self, key: bytes, stream: Stream) -> bool:
        """Its certificate goes before the first word that was signed with this key."""
        der = self._keyring.certificate(key)
        if der is not None and not self._queue(CertificateTold(der), stream):
            return False
        self._told[stream].add(key)
        return True

    def _queue(self, message: Message | CertificateTold, stream: Stream) -> bool:
        side = self._sides[0 if stream <= Stream.CONTROL else 1]
        body = self._codec.encode(message)
        if len(body) > side.message_bytes_max:
            raise WireError(
                f"link: a message has {len(body)} bytes, at most {side.message_bytes_max}"
            )
        self._spending.passes(message)
        if not side.queue.put(stream, body, message, now_s=_now_s(), query=query_of(message)):
            return False
        self._counters.sent_messages += 1
        side.connection.pump_soon()
        self._load.changed(put_bytes=len(body))
        return True

    def close(self, reason: Refused | None = None) -> None:
        self.is_open = False
        self._counters.rate = self._load.rate.emptied()
        for side in self._sides:
            side.connection.end(reason)

    def unsent(self) -> list[Message]:
        """What surely was not taken; asked once, when the link has ended."""
        now_s = _now_s()
        return [
            aged(message, waited_s)
            for side in self._sides
            for message, waited_s in side.queue.unsent(now_s=now_s)
            if not isinstance(message, CertificateTold)
        ]

    @property
    def queued_bytes(self) -> int:
        return _queued_bytes(self._sides)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """By the certificates of both connections: one may have been replaced between the two."""
        found = (side.connection.identity for side in self._sides)
        return tuple(one for one in found if one is not None) or (self.identity,)

    @property
    def heard_s(self) -> float:
        return max(side.connection.heard_s for side in self._sides)

    def sample(self) -> None:
        """Called now and then: asks the kernel."""
        delivery = tcp_info(self._sides[1].connection.extra("socket"))
        self.info = delivery or self.info
        for gate in self._gates:
            if gate is not None:
                gate.settle()
        for side in self._sides:
            for stream, count in side.queue.take_counts().items():
                self._counters.sent_by[class_of(TRAFFIC[stream])] += count
        self._load.sampled(delivery)

    @property
    def live_waits_s(self) -> float:
        """How long the oldest live pane waits for the budget; 0 where none counts here."""
        if self._gates[1] is None:
            return 0.0
        return self._sides[1].queue.waits_s(Stream.LIVE, now_s=_now_s())

    def stats(self, so_far: LinkStats) -> LinkStats:
        rtt_s, rtt_min_s, rate, _ = self.info or (None, None, None, None)
        return msgspec.structs.replace(
            so_far,
            is_up=self.is_open,
            queued_bytes=self.queued_bytes,
            rtt_s=rtt_s,
            rtt_min_s=rtt_min_s,
            delivery_bytes_per_s=rate,
        )

    def _receiver(self, side: _Side) -> Callable[[Frame], None]:
        def receive(frame: Frame) -> None:
            message = self._assembled(side, frame)
            if message is None or not self.is_open:
                return
            self._counters.received_messages += 1
            if isinstance(message, CertificateTold):
                self._learn(message)
            else:
                self._deliver(self.site, message)

        return receive

    def _learn(self, told: CertificateTold) -> None:
        try:
            self._keyring.learn(told.der)
        except Refused as refused:
            self._refused[refused.reason] += 1

    def _assembled(self, side: _Side, frame: Frame) -> Message | CertificateTold | None:
        """A broken frame format raises and ends the link; a bad message is counted and dropped."""
        if frame.kind is Kind.GOODBYE:
            raise Refused(Refusal.REFUSED_US, f"{self.site} ended the link")
        if frame.kind is Kind.HELLO or frame.stream not in side.streams:
            raise Refused(Refusal.FRAME_KIND, f"{frame.kind.name} on stream {frame.stream.name}")
        arrived = side.assembler.add(frame, now_s=_now_s())
        if arrived is None:
            return None
        try:
            return self._codec.decode(arrived.body, delay_s=arrived.delay_s)
        except Refused as refused:
            self._refused[refused.reason] += 1
            return None


class _Side:
    """One of the two connections with its queue and its half-received messages."""

    def __init__(
        self,
        connection: Connection,
        streams: tuple[Stream, Stream],
        queue_bytes_max: int,
        message_bytes_max: int,
        spending: QuerySpending,
    ) -> None:
        self.connection = connection
        self.message_bytes_max = message_bytes_max
        self.streams = streams
        self.queue: SendQueue[Message | CertificateTold] = SendQueue(
            bytes_max=queue_bytes_max,
            streams=streams,
            shares={streams[1]: BACKLOG_SHARE},
            spending=spending,
        )
        self.assembler = MessageAssembler(message_bytes_max=message_bytes_max)


def signers(message: Message) -> set[bytes]:
    """The keys by which words in this message are signed."""
    if isinstance(message, StatesMessage):
        return {state.proof.key for state in message.states if state.proof is not None}
    if isinstance(message, AckMessage) and message.ack.proof is not None:
        return {message.ack.proof.key}
    if isinstance(message, SummaryMessage) and message.summary.proof is not None:
        return {message.summary.proof.key}
    return set()


def _queued_bytes(sides: Iterable[_Side]) -> int:
    return sum(side.queue.queued_bytes for side in sides)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
