"""One TLS connection as asyncio drives it: bytes to frames and frames to bytes, no decisions.

A connection lives in two phases. First its owner awaits one frame, the hello, and reading stops
behind it. Then the owner attaches what receives all further frames, and a queue to write from.
Between the two nothing is lost: bytes that have come wait in the splitter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.net.identity.identity import Identity
from headwater.net.network import LinkCounters
from headwater.net.refusal import Refused
from headwater.net.transport.frames import (
    CHUNK_BYTES,
    Frame,
    FrameSplitter,
    Kind,
    Stream,
    encode_frame,
)
from headwater.net.transport.hello import Goodbye, Hello
from headwater.net.transport.pacer import Gate
from headwater.net.transport.send_queue import SendQueue

TURN_S_MAX = 0.01
"""For which one connection holds the loop at a time: hundreds of signatures may come at once."""
PAUSE_S_MIN = 0.001
"""Before what waits for a query's budget is looked at again."""
WRITE_BUFFER_BYTES = CHUNK_BYTES
"""What may wait in the transport; whatever is beyond waits in the queue, where it can be
overtaken and taken back."""


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.heard_s = 0.0
        self.identity: Identity | None = None
        """Who is at the other end, once that is known: each connection shows a certificate."""
        self.lost: asyncio.Future[BaseException | None] = _loop().create_future()
        """Done when the connection has ended, with the error that ended it, if there was one."""
        self._counters = LinkCounters()
        self._transport: Any = None
        self._splitter = FrameSplitter()
        self._first: asyncio.Future[Frame] = _loop().create_future()
        self._receive: Callable[[Frame], None] | None = None
        self._queue: SendQueue[Any] | None = None
        self._on_written: Callable[[], None] = lambda: None
        self._gate: Gate | None = None
        self._again: asyncio.TimerHandle | None = None
        """When something of a query that waits for its own budget may leave."""
        self._is_paused = False
        self._is_pump_due = False
        self._is_over = False
        self._drained = asyncio.Event()
        self._error: BaseException | None = None

    # What its owner calls.

    async def first_frame(self, *, timeout_s: float) -> Frame:
        """The hello. Raises ``TimeoutError``, ``Refused``, or what ended the connection."""
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self._first)

    def attach(
        self,
        receive: Callable[[Frame], None],
        queue: SendQueue[Any],
        on_written: Callable[[], None] = lambda: None,
        gate: Gate | None = None,
    ) -> None:
        """From here on every frame goes to ``receive``, which may raise ``Refused`` to end it; on a
        connection that has ended, nothing does. Without a ``gate`` no budget counts."""
        if self._transport is None:
            return  # it has ended meanwhile, as ``lost`` says
        self._receive, self._queue, self._on_written = receive, queue, on_written
        if gate is not None:
            self._gate = gate
            gate.begin(self.extra("socket"))
        self._transport.resume_reading()
        _loop().call_soon(self._deliver)
        self.pump_soon()

    def use_gate(self, gate: Gate | None) -> None:
        """On a connection that is a link's already."""
        if self._transport is None:
            return
        if self._gate is not None:
            self._gate.flush()
            self._gate.leave()
        self._gate = gate
        if gate is not None:
            gate.begin(self.extra("socket"), is_new=False)
        self.pump_soon()

    def count_into(self, counters: LinkCounters) -> None:
        """From here on bytes are counted there, and so are those that have passed before."""
        counters.sent_bytes += self._counters.sent_bytes
        counters.received_bytes += self._counters.received_bytes
        self._counters = counters

    def say(self, word: Hello | Goodbye) -> None:
        kind = Kind.HELLO if isinstance(word, Hello) else Kind.GOODBYE
        self._write(encode_frame(kind, Stream.CONTROL, msgspec.msgpack.encode(word)))

    def pump_soon(self) -> None:
        """Writes what the queue has, once all that is sent in this turn of the loop is in it."""
        self._drained.clear()
        if not (self._is_pump_due or self._is_paused or self._is_over):
            self._is_pump_due = True
            _loop().call_soon(self._pump)

    async def drained(self) -> None:
        """Returns when all that was queued has been written, or the connection has ended."""
        await self._drained.wait()

    def end(self, error: BaseException | None = None, *, flush: bool = False) -> None:
        """Closes at once, or after what was said has left. ``lost`` tells when it is done."""
        if self._is_over:
            return
        self._is_over = True
        self._error = error
        if self._transport is not None:
            self._transport.close() if flush else self._transport.abort()

    def extra(self, name: str) -> Any:
        return None if self._transport is None else self._transport.get_extra_info(name)

    # What asyncio calls.

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self.heard_s = _loop().time()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._counters.received_bytes += len(data)
        if self._gate is not None:
            self._gate.received(len(data))
        self.heard_s = _loop().time()
        self._splitter.feed(data)
        self._deliver()

    def connection_lost(self, exc: Exception | None) -> None:
        error = self._error or exc
        self._is_over = True
        self._drained.set()
        if not self._first.done():
            self._first.set_exception(error or ConnectionResetError("closed"))
            self._first.exception()  # Seen: whoever awaits it gets it, and nobody must.
        if not self.lost.done():
            self.lost.set_result(error)
        self._let_go()

    def _let_go(self) -> None:
        """Of the transport, whose buffers are a quarter of a megabyte, and of the link, which knows
        this connection in its turn. Whatever is in such a ring is freed by a full collection only,
        of which a large process has few: links that come and go would fill its memory."""
        self._transport, self._receive, self._queue = None, None, None
        self._on_written = lambda: None
        if self._again is not None:
            self._again.cancel()
        if self._gate is not None:
            self._gate.leave()
            self._gate = None

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._pump()

    # How it works.

    def _deliver(self) -> None:
        if self._receive is None and self._first.done():
            return  # The hello is out, nobody is attached yet: what follows waits.
        until_s = _loop().time() + TURN_S_MAX
        try:
            for frame in self._splitter.frames():
                if self._is_over:
                    return
                if self._receive is not None:
                    self._receive(frame)
                    if _loop().time() >= until_s:
                        self._go_on_soon()
                        return
                    continue
                self._transport.pause_reading()
                self._first.set_result(frame)
                return
        except Refused as refused:
            self.end(refused)

    def _go_on_soon(self) -> None:
        """Others have their turn; nothing more is read meanwhile."""
        self._transport.pause_reading()
        _loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._is_over:
            self._transport.resume_reading()
            self._deliver()

    def _pump(self) -> None:
        self._is_pump_due = False
        while self._queue and not (self._is_paused or self._is_over):
            if self._gate is not None:
                if not self._write_within(self._gate, self._queue):
                    break
                continue
            # About one TLS record.
            data = self._queue.take_frames(CHUNK_BYTES, now_s=_loop().time())
            if not data:
                self._pump_again(self._queue.ready_s())
                break
            self._write(data)
        if self._gate is not None:
            self._gate.flush()
        if not self._queue:
            self._drained.set()
        self._on_written()

    def _write_within(self, gate: Gate, queue: SendQueue[Any]) -> bool:
        """What the budget lets through now, as one write; False: nothing, it has to wait."""
        stream = queue.next_stream(now_s=_loop().time())
        if stream is None:
            self._pump_again(queue.ready_s())
            return False
        limit_bytes = gate.limit(stream, queue.queued_bytes)
        if not limit_bytes:
            gate.wait(stream, queue.queued_bytes, self._pump)
            return False
        if stream is Stream.HEARTBEAT:
            data = queue.take_frame(now_s=_loop().time()) or b""
        else:
            data = queue.take_within(limit_bytes, now_s=_loop().time())
        self._write(data)
        gate.wrote(len(data), stream)
        return True

    def _pump_again(self, at_s: float) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = _loop().call_at(max(at_s, _loop().time() + PAUSE_S_MIN), self.pump_soon)

    def _write(self, data: bytes) -> None:
        if not self._is_over:
            self._counters.sent_bytes += len(data)
            self._transport.write(data)


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
