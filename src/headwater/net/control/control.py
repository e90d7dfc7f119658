"""What operators ask of an agent: requests, replies and streams of events, on the agents' port.

An operator connects with a certificate of that role and speaks on the operator channel. A request
has a name and a payload, a map of plain values. The agent's handler answers with a value, or with
an asynchronous iterator whose items become events until it ends or the client has seen enough.
Several requests may be under way on one connection; their numbers tell them apart.

Requests are decoded strictly: an unknown field is a mistake of whoever wrote the client, and a
command that is half understood is worse than one that is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name, Number
from headwater.errors import HeadwaterError
from headwater.net.identity.identity import Identity
from headwater.net.network import MEBIBYTE, Notify
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import Frame, Kind, MessageAssembler, Stream
from headwater.net.transport.send_queue import SendQueue

REQUEST_BYTES_MAX = 4 * MEBIBYTE
ANSWER_BYTES_MAX = 32 * MEBIBYTE
ANSWERS_QUEUED_BYTES_MAX = 2 * ANSWER_BYTES_MAX
EVENTS_AHEAD_BYTES = 256 * 1024
"""A stream waits for a slow client once so much is unread, and so slows what it reads from."""
REQUESTS_MAX = 16
"""Under way at once on one connection."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, by the certificate, and from where."""

    identity: Identity
    address: str = ""


ControlHandler = Callable[[str, dict[str, Any], Caller], Awaitable[Any]]
"""``await handler(name, payload, caller)`` gives the reply, or an asynchronous iterator of events.
A ``HeadwaterError`` goes to the operator as it is."""


class Request(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    id: Number
    name: Name
    payload: Annotated[dict[str, Any], Meta(max_length=10_000)]


class Cancel(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The client wants no more of this request."""

    id: Number


class Reply(msgspec.Struct, frozen=True, tag=True):
    id: Number
    payload: Any


class Event(msgspec.Struct, frozen=True, tag=True):
    id: Number
    payload: Any


class End(msgspec.Struct, frozen=True, tag=True):
    """No more events will come."""

    id: Number


class Failure(msgspec.Struct, frozen=True, tag=True):
    """``kind`` is the class of the error, so that a client can raise the same one."""

    id: Number
    kind: Name
    text: str


Answer = Reply | Event | End | Failure


async def serve_operator(
    connection: Connection,
    operator: Identity,
    handler: ControlHandler,
    *,
    notify: Notify,
    idle_s_max: float,
) -> None:
    """Answers one operator's requests until the connection ends, or nothing is asked for long."""
    desk = _Desk(connection, operator, handler, notify)
    connection.attach(desk.receive, desk.queue)
    try:
        error = await _ended(connection, desk, idle_s_max=idle_s_max)
    finally:
        await desk.close()
    if isinstance(error, Refused):
        raise error


async def _ended(connection: Connection, desk: _Desk, *, idle_s_max: float) -> BaseException | None:
    """What ended it. A request under way, such as ``watch``, is no idleness, however long it is."""
    loop = asyncio.get_running_loop()
    since_s = loop.time()
    while True:
        try:
            async with asyncio.timeout(max(0.0, since_s + idle_s_max - loop.time())):
                return await asyncio.shield(connection.lost)
        except TimeoutError:
            since_s = loop.time() if desk.is_busy else max(connection.heard_s, desk.answered_s)
            if since_s + idle_s_max <= loop.time():
                connection.end(Refused(Refusal.IDLE, f"nothing asked for {idle_s_max:g} s"))
                return await asyncio.shield(connection.lost)


class _Desk:
    """The requests under way on one connection."""

    def __init__(
        self, connection: Connection, operator: Identity, handler: ControlHandler, notify: Notify
    ) -> None:
        self.queue: SendQueue[None] = SendQueue(
            bytes_max=ANSWERS_QUEUED_BYTES_MAX, streams=(Stream.CONTROL,), shares={}
        )
        self._connection = connection
        self._operator = operator
        self._handler = handler
        self._notify = notify
        self._assembler = MessageAssembler(message_bytes_max=REQUEST_BYTES_MAX)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._caller = Caller(operator, _address(connection))
        self.answered_s = 0.0
        """When something was last sent."""

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def receive(self, frame: Frame) -> None:
        """Called with each frame; ``Refused`` ends the connection."""
        asked = decode_message(frame, self._assembler, REQUESTS)
        if asked is None:
            return
        if isinstance(asked, Cancel):
            if (task := self._running.get(asked.id)) is not None:
                task.cancel()
            return
        if asked.id in self._running or len(self._running) >= REQUESTS_MAX:
            text = f"wanted at most {REQUESTS_MAX} requests at once, each with its own id"
            self._send(Failure(asked.id, "HeadwaterError", text))
            return
        task = asyncio.create_task(self._answer(asked))
        self._running[asked.id] = task
        task.add_done_callback(lambda _: self._running.pop(asked.id, None))

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, asked: Request) -> None:
        try:
            found = await self._handler(asked.name, asked.payload, self._caller)
            if hasattr(found, "__aiter__"):
                await self._stream(asked.id, found)
            else:
                self._send(Reply(asked.id, found))
        except HeadwaterError as error:
            self._send(Failure(asked.id, type(error).__name__, str(error)))
        except Exception as error:
            self._notify("control", f"{asked.name} of {self._operator.name} failed: {error!r}")
            self._send(Failure(asked.id, "HeadwaterError", f"{asked.name} failed: {error!r}"))

    async def _stream(self, id_: int, events: AsyncIterator[Any]) -> None:
        try:
            async for event in events:
                self._send(Event(id_, event))
                if self.queue.queued_bytes > EVENTS_AHEAD_BYTES:
                    await self._connection.drained()
        finally:
            if (close := getattr(events, "aclose", None)) is not None:
                await close()
        self._send(End(id_))

    def _send(self, answer: Answer) -> None:
        self.answered_s = asyncio.get_running_loop().time()
        body = msgspec.msgpack.encode(answer)
        if len(body) > ANSWER_BYTES_MAX or not self.queue.put(
            Stream.CONTROL, body, None, now_s=asyncio.get_running_loop().time()
        ):
            text = f"wanted an answer of at most {ANSWER_BYTES_MAX} bytes, it has {len(body)}"
            body = msgspec.msgpack.encode(Failure(answer.id, "HeadwaterError", text))
            self.queue.put(Stream.CONTROL, body, None, now_s=asyncio.get_running_loop().time())
        self._connection.pump_soon()


def _address(connection: Connection) -> str:
    found = connection.extra("peername")
    return str(found[0]) if found else ""


REQUESTS: msgspec.msgpack.Decoder[Request | Cancel] = msgspec.msgpack.Decoder(Request | Cancel)


def decode_message(
    frame: Frame, assembler: MessageAssembler, decoder: msgspec.msgpack.Decoder[Any]
) -> Any:
    """The message that this frame completes, or None."""
    if frame.kind not in (Kind.PART, Kind.LAST):
        raise Refused(Refusal.FRAME_KIND, f"{frame.kind.name} on the operator channel")
    arrived = assembler.add(frame, now_s=0.0)
    if arrived is None:
        return None
    try:
        return decoder.decode(arrived.body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(Refusal.MALFORMED, f"operator channel: {str(error)[:200]}") from None
