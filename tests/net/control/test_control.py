"""The operators' channel: requests, errors as they are, streams that can be left, and no others."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from headwater.errors import HeadwaterError, NotAuthorised, QueryRefused, WireError
from headwater.net.control.control import EVENTS_AHEAD_BYTES, REQUESTS_MAX, Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.transport.frames import WAITED, Kind, Stream, encode_frame


class Agent:
    """A handler with one request of each kind."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.callers: list[Caller] = []
        self.events_made = 0
        self.is_stream_closed = asyncio.Event()
        self.proceed = asyncio.Event()

    async def __call__(self, name: str, payload: dict[str, Any], caller: Caller) -> Any:
        self.callers.append(caller)
        self.asked.append((name, payload))
        if name == "echo":
            return payload
        if name == "refuse":
            raise QueryRefused("line 1: no such column")
        if name == "break":
            raise ZeroDivisionError("oops")
        if name == "wait":
            await self.proceed.wait()
            return "done"
        if name == "large":
            return {"blob": bytes(40_000_000)}
        return self._events(payload.get("count", 3), payload.get("size", 1))

    async def _events(self, count: int, size: int) -> AsyncIterator[Any]:
        try:
            for number in range(count):
                self.events_made += 1
                yield {"number": number, "blob": bytes(size)}
        finally:
            self.is_stream_closed.set()


async def _agent(federation: Any) -> tuple[Agent, Any]:
    agent = Agent()
    alpha, _ = await federation.start("alpha", control=agent)
    return agent, alpha


def _client(federation: Any, port: int, name: str = "olga", site: str = "") -> ControlClient:
    return ControlClient("127.0.0.1", port, federation.files(name), site=site)


def test_a_request_gets_its_reply(live: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port, site="alpha") as client:
            payload = {"text": "CREATE STREAM …", "n": [1, None, 2.5], "deep": {"a": b"\x00"}}
            assert await client.request("echo", payload) == payload
            assert await client.request("echo") == {}
        assert agent.asked == [("echo", payload), ("echo", {})]

    live(test)


def test_a_large_request_travels_in_parts(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            text = "x" * 1_000_000
            assert await client.request("echo", {"text": text}) == {"text": text}

    live(test)


def test_an_error_of_ours_arrives_as_what_it_is(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            with pytest.raises(QueryRefused, match="no such column"):
                await client.request("refuse")
            with pytest.raises(HeadwaterError, match="ZeroDivisionError"):
                await client.request("break")
            with pytest.raises(HeadwaterError, match="wanted an answer of at most"):
                await client.request("large")
            assert await client.request("echo", {"still": "here"}) == {"still": "here"}

    live(test)


def test_a_stream_gives_its_events_and_ends(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            events = [event["number"] async for event in client.stream("watch", {"count": 5})]
        assert events == [0, 1, 2, 3, 4]

    live(test)


def test_a_stream_that_is_left_ends_at_the_agent_too(live: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            stream = client.stream("watch", {"count": 10**9, "size": 1000})
            assert (await anext(stream))["number"] == 0
            await stream.aclose()
            await asyncio.wait_for(agent.is_stream_closed.wait(), 120)
            assert await client.request("echo", {"and": "on"}) == {"and": "on"}

    live(test)


def test_a_stream_ends_at_the_agent_when_the_operator_is_gone(live: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        client = _client(federation, alpha.port)
        stream = client.stream("watch", {"count": 10**9, "size": 1000})
        await anext(stream)
        await client.close()
        await asyncio.wait_for(agent.is_stream_closed.wait(), 120)
        await stream.aclose()

    live(test)


def test_an_agent_does_not_run_ahead_of_an_operator_who_does_not_read(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            stream = client.stream("watch", {"count": 10_000, "size": 10_000})
            await anext(stream)
            client._connection._transport.pause_reading()
            made = -1
            while made != agent.events_made:
                made = agent.events_made
                await asyncio.sleep(0.2)
            assert made < 10_000, "it waits long before the end"
            client._connection._transport.resume_reading()
            await kit.eventually(lambda: agent.events_made > made)
            await stream.aclose()
        assert made * 10_000 < EVENTS_AHEAD_BYTES + 30_000_000, "sockets hold the rest"

    live(test)


def test_requests_under_way_do_not_wait_for_each_other_but_are_limited(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            wait = [asyncio.create_task(client.request("wait")) for _ in range(REQUESTS_MAX - 1)]
            assert await client.request("echo", {"n": 1}) == {"n": 1}
            wait.append(asyncio.create_task(client.request("wait")))
            await kit.eventually(lambda: len(agent.asked) == REQUESTS_MAX + 1)
            with pytest.raises(HeadwaterError, match="requests at once"):
                await client.request("echo")
            agent.proceed.set()
            assert await asyncio.gather(*wait) == ["done"] * REQUESTS_MAX

    live(test)


def test_a_request_that_takes_too_long_says_so(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            with pytest.raises(WireError, match=r"no reply within 0\.05 s"):
                await client.request("wait", timeout_s=0.05)

    live(test)


def test_a_site_is_no_operator(live: Any) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port, name="bravo") as client:
            with pytest.raises(NotAuthorised, match="operator channel is for operators"):
                await client.request("echo")
        assert agent.asked == []
        assert alpha.stats().refused == {"wrong role": 1}

    live(test)


def test_an_agent_that_takes_no_requests_says_so(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha")
        async with _client(federation, alpha.port) as client:
            with pytest.raises(NotAuthorised, match="takes no operators"):
                await client.request("echo")

    live(test)


def test_the_wrong_site_and_nobody_at_all_are_named(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port, site="bravo") as client:
            with pytest.raises(WireError, match="wanted site bravo"):
                await client.request("echo")
        port = alpha.port
        await alpha.stop()
        async with _client(federation, port) as client:
            with pytest.raises(
                WireError, match=rf"agent at 127.0.0.1:{port}: unreachable.*headwater up DIR"
            ):
                await client.request("echo")

    live(test)


def test_an_agent_that_stops_ends_its_streams_with_an_error(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            pending = asyncio.create_task(client.request("wait"))
            assert await client.request("echo") == {}
            await alpha.stop()
            with pytest.raises(WireError, match="has ended"):
                await pending

    live(test)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "Request", "id": 1, "name": "echo", "payload": {}, "sudo": True},
        {"type": "Request", "id": 1, "name": "echo"},
        {"type": "Request", "id": -1, "name": "echo", "payload": {}},
        {"type": "Reply", "id": 1, "payload": {}},
        ["echo"],
    ],
    ids=["unknown field", "missing field", "bad id", "an answer", "no request"],
)
def test_a_request_that_is_not_understood_ends_the_connection(live: Any, message: object) -> None:
    async def test(federation: Any) -> None:
        agent, alpha = await _agent(federation)
        async with _client(federation, alpha.port) as client:
            assert await client.request("echo") == {}
            body = WAITED.pack(0.0) + msgspec.msgpack.encode(message)
            client._connection._transport.write(encode_frame(Kind.LAST, Stream.CONTROL, body))
            await client._connection.lost
            assert await client.request("echo", {"anew": 1}) == {"anew": 1}
        assert agent.asked == [("echo", {}), ("echo", {"anew": 1})]
        assert alpha.stats().refused == {"malformed message": 1}

    live(test)
