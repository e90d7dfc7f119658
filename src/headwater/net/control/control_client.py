"""The operators' side of the control channel, for the command line and for programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import msgspec

from headwater import errors
from headwater.errors import HeadwaterError, NotAuthorised, Unreachable, WireError
from headwater.net.control.control import (
    ANSWER_BYTES_MAX,
    REQUEST_BYTES_MAX,
    Answer,
    Cancel,
    End,
    Event,
    Failure,
    Reply,
    Request,
    decode_message,
)
from headwater.net.identity.certs import CertFiles
from headwater.net.identity.identity import AGENTS, Role
from headwater.net.identity.signing import OperatorSignature
from headwater.net.identity.tls import Credentials
from headwater.net.network import DEFAULT_LIMITS, NetLimits
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import Frame, MessageAssembler, Stream
from headwater.net.transport.greeting import admit, dial_tls, hear_hello
from headwater.net.transport.hello import Channel, Hello
from headwater.net.transport.send_queue import SendQueue
from headwater.plan.questions.viewer import signer_name

REPLY_TIMEOUT_S = 30.0
ANSWERS_WAITING_MAX = 10_000
"""Events that the caller has not taken yet; beyond, the connection is given up."""
START_IT = "; start it (headwater up DIR or headwater agent --config FILE) or give --federation DIR"

_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


class ControlClient:
    """``async with ControlClient(host, port, certs) as agent: await agent.request("status")``.

    It connects with the first request. ``site`` is who must answer; without it any site of the
    federation will do.
    """

    def __init__(
        self,
        host: str,
        port: int,
        certs: CertFiles,
        *,
        site: str = "",
        limits: NetLimits = DEFAULT_LIMITS,
    ) -> None:
        self._host, self._port = host, port
        self._credentials = Credentials(certs)
        self._site = site
        self._limits = limits
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Queue[Answer | None]] = {}
        self._under_way: set[int] = set()
        self._last_id = 0

    @property
    def signature(self) -> OperatorSignature:
        """What commands are signed with: the key of the certificate that is shown."""
        identity = self._credentials.identity
        name = signer_name(identity.name, is_viewer=identity.role is Role.VIEWER)
        return OperatorSignature(identity.federation, name, self._credentials.own)

    async def __aenter__(self) -> ControlClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Raises ``WireError`` that says why, ``NotAuthorised`` when it is our certificate."""
        try:
            self._connection = await dial_tls(
                self._host, self._port, self._credentials, self._limits
            )
            await self._greet(self._connection)
        except Refused as refused:
            await self.close()
            where = f"agent at {self._host}:{self._port}"
            if refused.reason is Refusal.UNREACHABLE:
                raise Unreachable(f"{where}: {refused}{START_IT}") from None
            kind = NotAuthorised if refused.reason is Refusal.REFUSED_US else WireError
            raise kind(f"{where}: {refused}") from None
        self._assembler = MessageAssembler(message_bytes_max=ANSWER_BYTES_MAX)
        self._queue: SendQueue[None] = SendQueue(
            bytes_max=2 * REQUEST_BYTES_MAX, streams=(Stream.CONTROL,), shares={}
        )
        self._connection.attach(self._receive, self._queue)
        self._connection.lost.add_done_callback(self._wake_all)

    async def request(
        self,
        name: str,
        payload: dict[str, Any] | None = None,
        *,
        timeout_s: float = REPLY_TIMEOUT_S,
    ) -> Any:
        """The reply. Raises the error that the agent's handler raised."""
        id_, answers = await self._ask(name, payload)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await answers.get()
        except TimeoutError:
            raise WireError(f"{name}: no reply within {timeout_s:g} s") from None
        finally:
            self._forget(id_)
        if isinstance(answer, Reply):
            return answer.payload
        raise self._error(name, answer)

    async def stream(self, name: str, payload: dict[str, Any] | None = None) -> AsyncIterator[Any]:
        """The events, until the agent ends them or the caller stops."""
        id_, answers = await self._ask(name, payload)
        try:
            while not isinstance(answer := await answers.get(), End):
                if not isinstance(answer, Event):
                    raise self._error(name, answer)
                yield answer.payload
        finally:
            self._forget(id_)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.end(flush=True)
            await asyncio.shield(self._connection.lost)

    async def _greet(self, connection: Connection) -> None:
        identity = admit(connection, self._credentials)
        if identity.role not in AGENTS or self._site not in ("", identity.name):
            raise Refused(
                Refusal.WRONG_NAME, f"wanted site {self._site or 'of any name'}, got {identity.uri}"
            )
        me = self._credentials.identity.name
        connection.say(Hello(me, self._site, Channel.OPERATOR, life=0, dial=0))
        await hear_hello(connection, identity, self._limits)

    async def _ask(
        self, name: str, payload: dict[str, Any] | None
    ) -> tuple[int, asyncio.Queue[Answer | None]]:
        async with self._connecting:
            if self._connection is None or self._connection.lost.done():
                await self.connect()
        self._last_id += 1
        id_ = self._last_id
        self._send(Request(id_, name, payload or {}))
        answers = self._waiting[id_] = asyncio.Queue()
        self._under_way.add(id_)
        return id_, answers

    def _send(self, asked: Request | Cancel) -> None:
        assert self._connection is not None
        body = msgspec.msgpack.encode(asked)
        now_s = asyncio.get_running_loop().time()
        if len(body) > REQUEST_BYTES_MAX or not self._queue.put(
            Stream.CONTROL, body, None, now_s=now_s
        ):
            raise WireError(f"a request of {len(body)} bytes: the limit is {REQUEST_BYTES_MAX}")
        self._connection.pump_soon()

    def _receive(self, frame: Frame) -> None:
        answer = decode_message(frame, self._assembler, _ANSWERS)
        if answer is None:
            return
        if not isinstance(answer, Event):
            self._under_way.discard(answer.id)
        waiting = self._waiting.get(answer.id)
        if waiting is not None and waiting.qsize() >= ANSWERS_WAITING_MAX:
            raise Refused(Refusal.QUEUE_FULL, f"{ANSWERS_WAITING_MAX} events wait to be read")
        if waiting is not None:
            waiting.put_nowait(answer)

    def _forget(self, id_: int) -> None:
        """What is under way and not awaited any more is cancelled at the agent, too."""
        del self._waiting[id_]
        if id_ in self._under_way:
            self._under_way.discard(id_)
            self._send(Cancel(id_))

    def _wake_all(self, _: object) -> None:
        self._under_way.clear()
        for waiting in self._waiting.values():
            waiting.put_nowait(None)

    def _error(self, name: str, answer: Answer | None) -> HeadwaterError:
        if isinstance(answer, Failure):
            kind = getattr(errors, answer.kind, None)
            is_ours = isinstance(kind, type) and issubclass(kind, HeadwaterError)
            return (
                kind(answer.text) if is_ours and kind is not None else HeadwaterError(answer.text)
            )
        if answer is None:
            return WireError(f"{name}: the connection with {self._host}:{self._port} has ended")
        return WireError(f"{name}: wanted another kind of answer, got {type(answer).__name__}")
