"""A connection that has ended leaves nothing behind, whichever way it ended.

asyncio's TLS has a quarter of a megabyte of buffers for each connection. In a ring of references it
stays until a full collection, of which a process with a large heap has few: links that come and go,
or strangers who knock, would fill the memory. So nothing here may wait for the collector.
"""

from __future__ import annotations

import asyncio
import gc
from asyncio import sslproto
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.net.network import NetLimits
from headwater.net.refusal import Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.greeting import BUFFER_BYTES
from headwater.net.transport.hello import Channel

TIMES = 5
SHORT = NetLimits(handshake_timeout_s=0.05, connect_timeout_s=0.05, hello_timeout_s=0.05)


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """Without the collector: what is freed now has no ring in it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def held() -> int:
    """Ends of TLS connections in this process."""
    return sum(isinstance(one, sslproto.SSLProtocol) for one in gc.get_objects())


def test_links_that_come_and_go_leave_nothing_behind(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, by_bravo = await federation.pair()
        for time in range(TIMES):
            assert bravo.send("alpha", kit.a_summary(keys=500), 1)
            await by_alpha.until(lambda ear, count=time + 1: len(ear.messages) == count)
            alpha.close_link("bravo")
            await by_bravo.until(lambda ear, count=time + 1: len(ear.downs) == count)
            await kit.eventually(lambda: held() == 0)
            bravo.dial("alpha")
            await by_alpha.until(lambda ear, count=time + 2: len(ear.ups) == count)
            await by_bravo.until(lambda ear, count=time + 2: len(ear.ups) == count)
        assert held() == 4

    live(test)


def test_the_buffers_of_a_link_are_small(live: Any) -> None:
    async def test(federation: Any) -> None:
        await federation.pair()
        found = [one for one in gc.get_objects() if isinstance(one, sslproto.SSLProtocol)]
        assert [len(one._ssl_buffer) for one in found] == [BUFFER_BYTES] * 4

    live(test)


@pytest.mark.parametrize("said", [b"", b"no TLS here, only words"])
def test_strangers_who_knock_and_leave_cost_nothing_afterwards(
    live: Any, kit: Any, said: bytes
) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha")
        for _ in range(TIMES):
            _, writer = await asyncio.open_connection("127.0.0.1", alpha.port)
            writer.write(said)
            await asyncio.sleep(0.01)
            writer.close()
        await kit.eventually(lambda: sum(alpha.stats().refused.values()) == TIMES)
        await kit.eventually(lambda: held() == 0)

    live(test)


@pytest.mark.parametrize(("said", "count"), [(b"", 0), (b"\x16", 2)])
def test_strangers_who_are_pushed_out_cost_nothing_afterwards(
    live: Any, kit: Any, said: bytes, count: int
) -> None:
    """Long before their handshake would have timed out. Those who say nothing cost no TLS."""

    async def test(federation: Any) -> None:
        limits = NetLimits(greetings_max=2)
        alpha, _ = await federation.start("alpha", limits=limits)
        writers = []
        for _ in range(TIMES):
            writers.append((await asyncio.open_connection("127.0.0.1", alpha.port))[1])
            writers[-1].write(said)
            await asyncio.sleep(0.01)
        await kit.eventually(lambda: alpha.stats().refused.get("too many connections") == TIMES - 2)
        await kit.eventually(lambda: held() == count)
        for writer in writers:
            writer.close()
        await kit.eventually(lambda: held() == 0)

    live(test)


@pytest.mark.parametrize("is_given_up", [False, True])
def test_dials_that_come_to_nothing_cost_nothing_afterwards(
    live: Any, kit: Any, is_given_up: bool
) -> None:
    """Somebody takes the connection and says nothing: it times out, or is not wanted any more."""

    async def test(federation: Any) -> None:
        taken: list[asyncio.StreamWriter] = []
        mute = await asyncio.start_server(lambda _, writer: taken.append(writer), "127.0.0.1", 0)
        bravo, _ = await federation.start("bravo", limits=NetLimits() if is_given_up else SHORT)
        federation.networks["alpha"] = Mute(mute.sockets[0].getsockname()[1])
        for time in range(TIMES):
            bravo.dial("alpha")
            await kit.eventually(lambda count=time + 1: len(taken) == count)
            if is_given_up:
                bravo.close_link("alpha")
            await kit.eventually(lambda: held() == 0 and "alpha" not in bravo._attempts)
        for writer in taken:
            writer.close()
            await writer.wait_closed()
        mute.close()

    live(test)


def test_a_member_that_is_turned_away_costs_nothing_afterwards(live: Any, kit: Any) -> None:
    """Its first connection greets, its second never comes. The error by which a connection ended
    knows the frames in which it was raised, and these know the connection and the task."""

    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha", limits=NetLimits(hello_timeout_s=1.0))
        bravo, _ = await federation.start("bravo")
        tasks, opened = ended(asyncio.Task), list[Connection]()
        for time in range(2):
            dialling = bravo._attempts.begin("alpha")
            await bravo._open("alpha", Channel.CONTROL, dialling, opened)
            await kit.eventually(lambda count=time + 1: hello_timeouts(alpha) == count)
            bravo._attempts.done("alpha", dialling)
            opened.pop().end()
        await kit.eventually(lambda: (ended(Connection), ended(Refused)) == (0, 0))
        await kit.eventually(lambda: ended(asyncio.Task) == tasks)

    live(test)


def hello_timeouts(network: Any) -> int:
    return int(network.stats().refused.get("hello timeout", 0))


def ended(kind: type) -> int:
    """Objects of this kind in this process; all connections of the test have ended."""
    return sum(isinstance(one, kind) for one in gc.get_objects())


class Mute:
    """Stands where a network stands, for its port."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def stop(self) -> None:
        """The server is closed by the test."""
