"""One end of a link in memory: a queue, a wire towards the other end, and what comes back."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable

import msgspec

from headwater.net.network import LinkCounters, NetLimits, RefusalCounts, stream_of
from headwater.net.refusal import Refused
from headwater.net.transport.connection import PAUSE_S_MIN
from headwater.net.transport.frames import CHUNK_BYTES, FrameSplitter, MessageAssembler, Stream
from headwater.net.transport.load_meter import LoadMeter
from headwater.net.transport.pacer import Gate
from headwater.net.transport.send_queue import BACKLOG_SHARE, PIECE_BYTES_MIN, SendQueue
from headwater.net.values.codec import Codec
from headwater.net.values.wire import CertificateTold
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.links.query_spending import QuerySpending, query_of
from headwater.overlay.messages import Message, aged

IN_FLIGHT_BYTES_MAX = 64 * 1024
"""What a wire takes while it is cut, as a socket would; the rest stays in the queue."""
BURST_BYTES = 64 * 1024
"""What a wire without a rate carries at once."""
CHUNK_S = 0.25
"""A frame holds a slow wire no longer: sixteen KiB are four seconds of 32 kbit/s, after which a
neighbour whose heartbeat waits behind them counts as silent."""


class Wire(msgspec.Struct, frozen=True):
    """One direction between two sites."""

    delay_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float | None = None

    @property
    def chunk_bytes(self) -> int:
        """What it carries in ``CHUNK_S``, so that a heartbeat never waits longer for its turn."""
        if self.bytes_per_s is None:
            return CHUNK_BYTES
        return min(CHUNK_BYTES, max(PIECE_BYTES_MIN, int(self.bytes_per_s * CHUNK_S)))


class MemoryLink:
    def __init__(
        self,
        wire: Wire,
        pair: object,
        *,
        codec: Codec,
        limits: NetLimits,
        counters: LinkCounters,
        refused: RefusalCounts,
        chance: random.Random,
        deliver: Callable[[bytes], None],
        tell_load: Callable[[LinkLoad], None],
        kinds: Counter[str] | None = None,
        gate: Gate | None = None,
        budget: float | None = None,
        spending: QuerySpending | None = None,
    ) -> None:
        """``deliver`` hands bytes to the other end; ``pair`` is the same object at both ends. What
        is sent is added to ``kinds``, bytes by the names of messages. ``gate`` is where a budget
        counts, which is ``budget`` bytes a second at most."""
        self.wire = wire
        self.pair = pair
        self.is_severed = False
        self.queue: SendQueue[Message] = SendQueue(
            bytes_max=limits.bulk_queue_bytes_max,
            streams=tuple(Stream),
            shares={Stream.BACKLOG: BACKLOG_SHARE},
            spending=spending,
        )
        self._spending = spending or QuerySpending()
        self._again: asyncio.TimerHandle | None = None
        """When something of a query that waits for its own budget may leave."""
        self._gate = gate
        self._load = LoadMeter(
            lambda: self.queue.queued_bytes,
            tell_load,
            queue_s_max=limits.queue_s_max,
            budget=budget,
            queued_by=lambda: self.queue.queued_by,
            held_bytes=lambda: self.queue.held_bytes(now_s=self._loop.time()),
            control_bytes=lambda: self.queue.queued_bytes - self.queue.queued_by.total(),
            known=counters.rate,
        )
        self._codec = codec
        self._counters = counters
        self._refused = refused
        self._chance = chance
        self._deliver = deliver
        self._kinds: Counter[str] = Counter() if kinds is None else kinds
        self._splitter = FrameSplitter()
        self._assembler = MessageAssembler(message_bytes_max=limits.bulk_message_bytes_max)
        self._in_flight: deque[tuple[float, bytes]] = deque()
        self._arrival: asyncio.TimerHandle | None = None
        self._is_open = True
        self._is_writing = False
        self._loop = asyncio.get_running_loop()

    def send(self, message: Message, priority: int) -> bool:
        """False: the queue is full. Raises ``WireError`` for what nobody would accept."""
        body = self._codec.encode(message)
        stream, query = stream_of(message, priority), query_of(message)
        self._spending.passes(message)
        if not self.queue.put(stream, body, message, now_s=self._loop.time(), query=query):
            return False
        self._counters.sent_messages += 1
        self._kinds[type(message).__name__] += len(body)
        self._write_soon()
        self._load.changed(put_bytes=len(body))
        return True

    @property
    def queued_bytes(self) -> int:
        return self.queue.queued_bytes

    def receive(self, data: bytes | Message) -> list[Message]:
        """Bytes have come from the other end: the messages that they complete."""
        assert isinstance(data, bytes), "wires carry bytes"
        self._counters.received_bytes += len(data)
        self._splitter.feed(data)
        messages: list[Message] = []
        for frame in self._splitter.frames():
            arrived = self._assembler.add(frame, now_s=self._loop.time())
            if arrived is None:
                continue
            try:
                message = self._codec.decode(arrived.body, delay_s=arrived.delay_s)
            except Refused as refused:
                self._refused[refused.reason] += 1
                continue
            if not isinstance(message, CertificateTold):
                messages.append(message)
        self._counters.received_messages += len(messages)
        return messages

    def sever(self) -> None:
        self.is_severed = True

    def heal(self) -> None:
        self.is_severed = False
        self._await_arrival()
        self._write_soon()

    def use_gate(self, gate: Gate | None, budget: float | None) -> None:
        """Another budget counts from now on, or none."""
        if self._gate is not None:
            self._gate.leave()
        self._gate, self._load.budget = gate, budget
        self._write_soon()

    def close(self) -> list[Message]:
        """What surely was not taken; what is on the wire is lost."""
        self._is_open = False
        self._counters.rate = self._load.rate.emptied()
        self._in_flight.clear()
        if self._again is not None:
            self._again.cancel()
        if self._gate is not None:
            self._gate.leave()
        return [aged(message, s) for message, s in self.queue.unsent(now_s=self._loop.time())]

    def _write_soon(self) -> None:
        if not self._is_writing:
            self._is_writing = True
            self._loop.call_soon(self._write)

    def _write(self) -> None:
        """Puts the next frames on the wire, and comes back when they are on it."""
        in_flight_bytes = sum(len(data) for _, data in self._in_flight)
        is_stuck = self.is_severed and in_flight_bytes >= IN_FLIGHT_BYTES_MAX
        # One frame on a wire with a rate, so that the next may be a more urgent one.
        burst_bytes = 1 if self.wire.bytes_per_s else BURST_BYTES
        data = b""
        if self._is_open and not is_stuck:
            data = self._take(burst_bytes)
        self._load.changed()
        if not data:
            self._is_writing = False
            self._look_again()
            return
        rate = self.wire.bytes_per_s
        takes_s = len(data) / rate if rate else 0.0
        self._loop.call_later(takes_s, self._written, data)

    def _look_again(self) -> None:
        """Where all that waits is held back by budgets of queries."""
        now_s = self._loop.time()
        if self._is_open and self.queue and self.queue.next_stream(now_s=now_s) is None:
            at_s = max(self.queue.ready_s(), now_s + PAUSE_S_MIN)
            self._again = self._loop.call_at(at_s, self._write_soon)

    def _take(self, burst_bytes: int) -> bytes:
        """Nothing as well where the budget has to be waited for, which ``_write_soon`` ends."""
        gate, now_s = self._gate, self._loop.time()
        if gate is None:
            chunk_bytes = self.wire.chunk_bytes
            return self.queue.take_frames(burst_bytes, now_s=now_s, chunk_bytes=chunk_bytes)
        stream = self.queue.next_stream(now_s=now_s)
        if stream is None:
            return b""
        limit_bytes = gate.limit(stream, self.queue.queued_bytes)
        if not limit_bytes:
            gate.wait(stream, self.queue.queued_bytes, self._write_soon)
            return b""
        is_beat = stream is Stream.HEARTBEAT
        taken = self.queue.take_frame(now_s=now_s) if is_beat else None
        data = taken or self.queue.take_within(limit_bytes, now_s=now_s)
        gate.wrote(len(data), stream)
        gate.flush()
        return data

    def _written(self, data: bytes) -> None:
        """Nothing overtakes what was written before, however the jitter falls."""
        self._counters.sent_bytes += len(data)
        delay_s = self.wire.delay_s + self.wire.jitter_s * self._chance.random()
        before_s = self._in_flight[-1][0] if self._in_flight else 0.0
        self._in_flight.append((max(before_s, self._loop.time() + delay_s), data))
        self._await_arrival()
        self._write()

    def _await_arrival(self) -> None:
        if self._arrival is None and self._in_flight and not self.is_severed:
            self._arrival = self._loop.call_at(self._in_flight[0][0], self._arrive)

    def _arrive(self) -> None:
        self._arrival = None
        if not self.is_severed and self._in_flight:
            _, data = self._in_flight.popleft()
            self._deliver(data)
        self._await_arrival()
