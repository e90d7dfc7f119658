"""Operators have a share of their places, lose idle ones, and end with their certificate."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headwater.net.control.control import Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import Authority, issue
from headwater.net.identity.identity import Role
from headwater.net.network import NetLimits


async def _operators(federation: Any, port: int, name: str, count: int) -> list[ControlClient]:
    clients = [ControlClient("127.0.0.1", port, federation.files(name)) for _ in range(count)]
    for client in clients:
        await client.request("echo")
    return clients


def test_one_operator_has_a_share_of_the_operators_places(
    live: Any, kit: Any, authority: Authority
) -> None:
    async def test(federation: Any) -> None:
        async def echo(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            return caller.identity.name

        limits = NetLimits(operators_max=4, operators_each_max=3)
        issue(authority, Role.OPERATOR, "oscar", force=True)
        alpha, _ = await federation.start("alpha", control=echo, limits=limits)
        olgas = await _operators(federation, alpha.port, "olga", 3)
        with pytest.raises(Exception, match="olga has 3 connections here already"):
            await _operators(federation, alpha.port, "olga", 1)
        (oscar,) = await _operators(federation, alpha.port, "oscar", 1)
        assert await oscar.request("echo") == "oscar"
        for client in (*olgas, oscar):
            await client.close()

    live(test)


def test_an_operator_who_asks_nothing_loses_the_place_and_one_who_watches_does_not(
    live: Any, kit: Any
) -> None:
    async def test(federation: Any) -> None:
        proceed = asyncio.Event()

        async def handler(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            if name == "wait":
                await proceed.wait()
            return name

        limits = NetLimits(operator_idle_s_max=0.2)
        alpha, _ = await federation.start("alpha", control=handler, limits=limits)
        files = federation.files("olga")
        async with (
            ControlClient("127.0.0.1", alpha.port, files) as idle,
            ControlClient("127.0.0.1", alpha.port, files) as busy,
        ):
            await idle.request("echo")
            waiting = asyncio.create_task(busy.request("wait"))
            await kit.eventually(lambda: alpha.stats().refused.get("idle") == 1)
            assert len(alpha._operators) == 1
            assert not waiting.done()
            proceed.set()
            assert await waiting == "wait"
            assert await idle.request("echo") == "echo", "a client connects anew by itself"

    live(test)


def test_an_operators_connection_ends_with_its_certificate(
    live: Any, kit: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        async def handler(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            await asyncio.Event().wait()

        soon = issue(authority, Role.OPERATOR, "olga", into=tmp_path, days=2 / 86_400)
        limits = NetLimits(sample_every_s=0.05)
        alpha, _ = await federation.start("alpha", control=handler, limits=limits)
        async with ControlClient("127.0.0.1", alpha.port, soon) as client:
            with pytest.raises(Exception, match="has ended"):
                await client.request("wait")
        await kit.eventually(lambda: alpha.stats().refused == {"expired certificate": 1})

    live(test)
