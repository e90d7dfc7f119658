"""The one open port: accepts connections and keeps strangers from using up what members need.

Whoever has connected and not yet shown a certificate costs a socket and some memory, and nobody
can tell a member from a stranger by then. So at most ``greetings_max`` are in that state: one more
pushes out the one that has been in it longest. A member needs a few round trips to get through; a
stranger who only holds connections open loses them.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from headwater.errors import ConfigurationError
from headwater.net.network import NetLimits, Notify, RefusalCounts
from headwater.net.refusal import Refusal

BACKLOG = 256
ACCEPT_PAUSE_S = 0.1
"""After the system has run out of file descriptors, before the next try."""

Greet = Callable[[socket.socket, Callable[[], None]], Coroutine[Any, Any, None]]
"""Serves one connection; calls the second argument when it knows whom it serves."""


class Listener:
    def __init__(
        self, greet: Greet, *, limits: NetLimits, refused: RefusalCounts, notify: Notify
    ) -> None:
        self._greet = greet
        self._limits = limits
        self._refused = refused
        self._notify = notify
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._strangers: dict[socket.socket, asyncio.Task[None]] = {}
        self._serving: set[asyncio.Task[None]] = set()

    def open(self, host: str, port: int) -> None:
        try:
            self._socket = socket.create_server((host, port), backlog=BACKLOG)
        except OSError as error:
            raise ConfigurationError(f"listen on {host}:{port}: {error.strerror}") from None
        self._socket.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(self._socket))

    @property
    def port(self) -> int:
        assert self._socket is not None, "a port is known once the listener is open"
        return int(self._socket.getsockname()[1])

    async def close(self) -> None:
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
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                self._notify("listen", f"accept: {error.strerror}")
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            self._admit(accepted)

    def _admit(self, accepted: socket.socket) -> None:
        if len(self._serving) >= self._limits.connections_max:
            self._refused[Refusal.TOO_MANY_CONNECTIONS] += 1
            accepted.close()
            return
        if len(self._strangers) >= self._limits.greetings_max:
            self._refused[Refusal.TOO_MANY_CONNECTIONS] += 1
            self._strangers.pop(next(iter(self._strangers))).cancel()
        is_known = partial(self._is_known, accepted)
        task = asyncio.create_task(self._greet(accepted, is_known))
        self._strangers[accepted] = task
        self._serving.add(task)
        task.add_done_callback(partial(self._forget, accepted))

    def _is_known(self, accepted: socket.socket) -> None:
        """Told by socket, not by task: a task that is cancelled keeps the frames it was in, and one
        that held the task in its turn would be freed by a full collection only."""
        self._strangers.pop(accepted, None)

    def _forget(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        """Also for a task that was pushed out before it could begin."""
        accepted.close()
        self._serving.discard(task)
        self._strangers.pop(accepted, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._notify("listen", f"a connection failed: {type(error).__name__}: {error}")
