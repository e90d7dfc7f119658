"""A TCP proxy in front of each agent, so that links can be cut and stalled without privileges.

The roster names the proxy's port, the agent listens on its own. In a tree each agent has one
neighbour that dials it, so the proxy of an agent is the link below it. A *cut* link resets its
connections and refuses new ones, as when a process or a route is gone. A *stalled* one takes
connections and bytes and passes nothing on, in one direction or both, as when packets vanish.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from enum import StrEnum
from typing import Any, TypeVar

CHUNK_BYTES = 1 << 16
CALL_S_MAX = 10.0

T = TypeVar("T")


class Way(StrEnum):
    """A direction through a proxy."""

    IN = "in"
    """From who dialled to the agent behind the proxy."""
    OUT = "out"
    """From the agent to who dialled it."""


class Links:
    """All proxies of a run, on an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)
        self._proxies: dict[str, _Proxy] = {}
        self._thread.start()

    def open(self, name: str, *, target_port: int) -> int:
        """Put a proxy in front of an agent; returns the port to dial."""
        proxy = self._proxies[name] = _Proxy(target_port)
        return self._call(proxy.start())

    def cut(self, name: str) -> None:
        self._call(self._proxies[name].cut())

    def stall(self, name: str, *ways: Way) -> None:
        """Pass nothing on in these directions; without any: in both."""
        self._call(self._proxies[name].stall(ways or tuple(Way)))

    def heal(self, name: str) -> None:
        self._call(self._proxies[name].heal())

    def connection_count(self, name: str) -> int:
        return self._proxies[name].connection_count

    def close(self) -> None:
        for proxy in self._proxies.values():
            self._call(proxy.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S_MAX)
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S_MAX)


class _Proxy:
    """Touched on the loop only."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._is_cut = False
        self._passes = {way: asyncio.Event() for way in Way}
        for passes in self._passes.values():
            passes.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def connection_count(self) -> int:
        return len(self._tasks)

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._reset()

    async def cut(self) -> None:
        self._is_cut = True
        await self._reset()

    async def stall(self, ways: tuple[Way, ...]) -> None:
        for way in ways:
            self._passes[way].clear()

    async def heal(self) -> None:
        self._is_cut = False
        for passes in self._passes.values():
            passes.set()

    async def _reset(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "asyncio runs a server's callback as a task"
        if self._is_cut:
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            await self._join(reader, writer)
        except asyncio.CancelledError:
            return
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Both directions, until one of them ends."""
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            return
        pumps = [
            asyncio.create_task(self._pump(reader, far_writer, Way.IN)),
            asyncio.create_task(self._pump(far_reader, writer, Way.OUT)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:  # nothing may come before the abort that a second cancellation would end
            far_writer.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await self._passes[way].wait()
                writer.write(data)
                await writer.drain()
