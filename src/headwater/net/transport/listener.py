"""The one open port: accepts connections and keeps strangers from using up what members need.

Who may stay until it is known who they are, and in which order their handshakes begin, is for
``waiting_room`` to say; here are the sockets. A connection that has said nothing costs no more than
its socket: TLS begins with its first byte.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any

from headwater.errors import ConfigurationError
from headwater.net.network import NetLimits, Notify, RefusalCounts
from headwater.net.refusal import Refusal
from headwater.net.transport.waiting_room import KnownAddresses, WaitingRoom, shared_address

BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted; it may keep fewer (somaxconn)."""
ACCEPTS_MAX = 16
"""Accepted in one turn of the loop: a port with a thousand waiting must not hold up the links."""
ACCEPT_PAUSE_S = 0.1
"""After the system has run out of file descriptors, before the next try."""

Greet = Callable[[socket.socket, Callable[[], None]], Coroutine[Any, Any, None]]
"""Serves one connection; calls the second argument when it knows whom it serves."""


class Guest:
    """One accepted connection, until it is known who it is."""

    def __init__(self, accepted: socket.socket, address: str, room: WaitingRoom) -> None:
        self.socket = accepted
        self.address = address
        self.room = room
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when its handshake may begin."""
        self.task: asyncio.Task[None] | None = None


class Listener:
    def __init__(
        self,
        greet: Greet,
        *,
        limits: NetLimits,
        refused: RefusalCounts,
        notify: Notify,
        known: frozenset[str] = frozenset(),
    ) -> None:
        """``known``: addresses of members that are known from the beginning."""
        self._greet = greet
        self._limits = limits
        self._refused = refused
        self._notify = notify
        self._known = KnownAddresses(
            frozenset(map(shared_address, known)),
            count_max=limits.known_addresses_max,
            for_s=limits.known_for_s,
        )
        self._members_room = WaitingRoom(
            places_max=limits.greetings_max,
            per_address_max=limits.greetings_max,
            per_s_max=limits.known_greetings_per_s_max,
            burst_max=limits.greetings_max,
        )
        self._strangers_room = WaitingRoom(
            places_max=limits.greetings_max,
            per_address_max=limits.greetings_per_address_max,
            per_s_max=limits.greetings_per_s_max,
            burst_max=limits.greetings_max,
        )
        self._alarms: dict[WaitingRoom, asyncio.TimerHandle] = {}
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()

    def open(self, host: str, port: int) -> None:
        try:
            self._socket = socket.create_server((host, port), backlog=BACKLOG)
        except OSError as error:
            raise ConfigurationError(
                f"listen on {host}:{port}: {error.strerror}; free that port, or change [listen]"
            ) from None
        self._socket.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(self._socket))

    @property
    def port(self) -> int:
        assert self._socket is not None, "a port is known once the listener is open"
        return int(self._socket.getsockname()[1])

    def know(self, address: str) -> None:
        """A member was met there: it has places of its own from now on, for a while."""
        self._known.add(shared_address(address), now_s=_now_s())

    async def close(self) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        tasks = list(self._serving)
        if self._accepting is not None:
            tasks.append(self._accepting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._socket is not None:
            self._socket.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for number in count():
            if number % ACCEPTS_MAX == 0:
                await asyncio.sleep(0)  # accepting gives way to nobody while somebody waits
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError as error:
                self._notify("listen", f"accept: {error.strerror}")
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            self._admit(accepted, shared_address(str(peer[0])))

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if len(self._serving) >= self._limits.connections_max:
            self._refused[Refusal.TOO_MANY_CONNECTIONS] += 1
            accepted.close()
            return
        is_known = self._known.has(address, now_s=_now_s())
        guest = Guest(accepted, address, self._members_room if is_known else self._strangers_room)
        pushed_out = guest.room.enter(guest, address)
        if isinstance(pushed_out, Guest):
            self._refused[Refusal.TOO_MANY_CONNECTIONS] += 1
            assert pushed_out.task is not None, "it has one since it entered"
            pushed_out.task.cancel()
        guest.task = asyncio.create_task(self._serve(guest))
        self._serving.add(guest.task)
        guest.task.add_done_callback(partial(self._forget, guest))

    async def _serve(self, guest: Guest) -> None:
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(guest.socket, self._hear, guest)
            async with asyncio.timeout(self._limits.handshake_timeout_s):
                await guest.turn
        except TimeoutError:
            self._refused[Refusal.HANDSHAKE_TIMEOUT] += 1
            return
        finally:
            loop.remove_reader(guest.socket)
        await self._greet(guest.socket, partial(self._is_known, guest))

    def _hear(self, guest: Guest) -> None:
        """Its first byte has come, or its end; TLS reads it and tells which."""
        asyncio.get_running_loop().remove_reader(guest.socket)
        guest.room.spoke(guest)
        self._call_in(guest.room)

    def _call_in(self, room: WaitingRoom) -> None:
        """Those whose turn it is; and again when it is the next one's."""
        if (alarm := self._alarms.pop(room, None)) is not None:
            alarm.cancel()
        for guest in room.due(now_s=_now_s()):
            if isinstance(guest, Guest) and not guest.turn.done():
                guest.turn.set_result(None)
        at_s = room.next_due_s()
        if at_s is not None:
            loop = asyncio.get_running_loop()
            self._alarms[room] = loop.call_at(at_s, self._call_in, room)

    def _is_known(self, guest: Guest) -> None:
        self._known.add(guest.address, now_s=_now_s())
        guest.room.leave(guest)

    def _forget(self, guest: Guest, task: asyncio.Task[None]) -> None:
        """Also for a task that was pushed out before it could begin.

        It forgets the task: one that is cancelled keeps the frames it was in, and these know the
        guest, so that both would wait for a full collection with all they hold.
        """
        guest.socket.close()
        guest.task = None
        self._serving.discard(task)
        guest.room.leave(guest)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._notify("listen", f"a connection failed: {type(error).__name__}: {error}")


def _now_s() -> float:
    return asyncio.get_running_loop().time()
