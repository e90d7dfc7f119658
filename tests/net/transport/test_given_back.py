"""Memory of ended connections is given back when there are fewer than there were, and only then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headwater.net.transport import given_back
from headwater.net.transport.given_back import FEWER_MIN, OpenConnections


class Malloc:
    """Counts how often it was asked to give back."""

    def __init__(self) -> None:
        self.trims = 0

    def trim(self) -> None:
        self.trims += 1


def given(connections: OpenConnections) -> int:
    return asyncio.run(connections.give_back())


def test_nothing_is_given_back_while_as_many_are_opened_as_end() -> None:
    malloc = Malloc()
    connections = OpenConnections(malloc.trim)
    with connections.held(500):
        for _ in range(20):
            with connections.held(FEWER_MIN - 1):
                assert given(connections) == 0
            assert given(connections) == 0
    assert malloc.trims == 0


def test_it_is_given_back_once_for_each_fall_in_number() -> None:
    """::

    open  10 ─► 202 ─► 138 ─► 74 ─► 75
    given            64     64    0
    """
    malloc = Malloc()
    connections = OpenConnections(malloc.trim)
    with connections.held(10), connections.held(FEWER_MIN):
        with connections.held(FEWER_MIN):
            with connections.held(FEWER_MIN):
                assert given(connections) == 0
            assert given(connections) == FEWER_MIN
            assert given(connections) == 0
        assert given(connections) == FEWER_MIN
        with connections.held(1):
            assert given(connections) == 0
        assert malloc.trims == 2


def test_a_connection_that_fails_is_no_longer_counted() -> None:
    connections = OpenConnections(Malloc().trim)
    with pytest.raises(OSError, match="reset"), connections.held(2):
        raise OSError("reset")
    assert connections.count == 0


def test_malloc_gives_back_without_harm() -> None:
    connections = OpenConnections()
    with connections.held(FEWER_MIN):
        pass
    assert given(connections) == FEWER_MIN


def test_links_strangers_and_dials_in_vain_are_counted_until_they_end(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        connections = OpenConnections(Malloc().trim)
        alpha, _, bravo, by_bravo = await federation.pair(open_connections=connections)
        assert connections.count == 4  # two ends of each of two connections
        _, writer = await asyncio.open_connection("127.0.0.1", alpha.port)
        writer.write(b"no TLS here, only words")
        await kit.eventually(lambda: sum(alpha.stats().refused.values()) == 1)
        writer.close()
        federation.networks["charlie"] = Closed()
        bravo.dial("charlie")
        assert connections.count == 4  # its task has not begun
        await kit.eventually(lambda: bravo.stats().refused.get("unreachable") == 1)
        await kit.eventually(lambda: connections.count == 4)
        alpha.close_link("bravo")
        await by_bravo.until(lambda ear: len(ear.downs) == 1)
        await kit.eventually(lambda: connections.count == 0)

    live(test)


def test_a_network_gives_back_what_its_links_have_left_and_says_so(
    live: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_back, "FEWER_MIN", 4)

    async def test(federation: Any) -> None:
        malloc = Malloc()
        connections = OpenConnections(malloc.trim)
        alpha, _, _, _ = await federation.pair(open_connections=connections)
        assert malloc.trims == 0
        alpha.close_link("bravo")
        await kit.eventually(lambda: "memory given back" in dict(federation.notices))
        assert malloc.trims == 1
        assert "4 ended connections" in dict(federation.notices)["memory given back"]

    live(test)


class Closed:
    """Stands where a network stands; nobody listens at its port."""

    port = 1

    async def stop(self) -> None:
        """There is nothing to stop."""
