"""Places before the greeting: who is pushed out, who has room of their own, and at which pace."""

from __future__ import annotations

import asyncio
import doctest
import socket
from typing import Any

import pytest

from headwater.net.control.control import Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.network import NetLimits
from headwater.net.transport import waiting_room
from headwater.net.transport.listener import ACCEPTS_MAX
from headwater.net.transport.waiting_room import KnownAddresses, WaitingRoom


def room(places: int = 4, each: int = 2, *, per_s: float = 10.0, burst: float = 100.0) -> Any:
    return WaitingRoom(places_max=places, per_address_max=each, per_s_max=per_s, burst_max=burst)


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(waiting_room).failed == 0


def test_an_address_has_its_share_and_pushes_out_its_own() -> None:
    here = room(places=4, each=2)
    assert here.enter("member", "10.0.0.1") is None
    assert here.enter("a", "10.6.6.6") is None
    assert here.enter("b", "10.6.6.6") is None
    assert here.enter("c", "10.6.6.6") == "a"
    assert here.enter("d", "10.6.6.6") == "b"
    assert len(here) == 3


def test_who_has_spoken_stays_before_who_has_not() -> None:
    here = room(places=3, each=3)
    for who in ("member", "silent", "later"):
        here.enter(who, "10.0.0.1")
    here.spoke("member")
    assert here.enter("more", "10.0.0.1") == "silent"
    assert here.enter("and more", "10.0.0.1") == "later"


def test_a_handshake_that_has_begun_goes_last() -> None:
    here = room(places=3, each=3, per_s=1.0, burst=1.0)
    for who in ("begun", "waits", "waits too"):
        here.enter(who, "10.0.0.1")
        here.spoke(who)
    assert here.due(now_s=0.0) == ["begun"]
    for who, out in (("d", "waits"), ("e", "waits too"), ("f", "d"), ("g", "e")):
        assert here.enter(who, "10.0.0.1") == out
        here.spoke(who)
    assert here.due(now_s=1.0) == ["f"]


def test_where_all_have_spoken_the_one_longest_here_goes() -> None:
    here = room(places=2, each=2)
    for who in ("first", "second"):
        here.enter(who, "10.0.0.1")
        here.spoke(who)
    assert here.enter("third", "10.0.0.1") == "first"


def test_a_full_room_takes_from_the_address_with_most() -> None:
    here = room(places=4, each=3)
    here.enter("member", "10.0.0.1")
    for who in ("a", "b", "c"):
        here.enter(who, "10.6.6.6")
    assert here.enter("other", "10.0.0.2") == "a"


def test_a_flood_from_many_addresses_pushes_out_the_silent_ones() -> None:
    here = room(places=8, each=2)
    here.enter("member", "10.0.0.1")
    here.spoke("member")
    gone = [here.enter(n, f"10.6.{n // 250}.{n % 250}") for n in range(1_000)]
    assert "member" not in gone
    assert len(here) == 8


def test_handshakes_begin_at_a_pace_and_in_order() -> None:
    here = room(places=100, each=100, per_s=10.0, burst=2.0)
    for n in range(50):
        here.enter(n, "10.6.6.6")
        here.spoke(n)
    assert here.due(now_s=0.0) == [0, 1]
    assert here.due(now_s=0.05) == []
    assert here.next_due_s() == pytest.approx(0.1)
    begun = [who for tick in range(1, 31) for who in here.due(now_s=tick / 10)]
    assert begun == list(range(2, 32)), "ten a second for three seconds"


def test_who_leaves_while_it_waits_has_no_turn() -> None:
    here = room(places=9, each=9, per_s=1.0, burst=1.0)
    for who in ("a", "b", "c"):
        here.enter(who, "10.0.0.1")
        here.spoke(who)
    assert here.due(now_s=0.0) == ["a"]
    here.leave("b")
    here.leave("b")
    assert here.due(now_s=1.0) == ["c"]
    assert here.next_due_s() is None


def test_nothing_is_kept_of_who_is_gone() -> None:
    here = room(places=64, each=16)
    for n in range(10_000):
        here.enter(n, f"10.{n % 200}.0.1")
        if n % 3 == 0:
            here.spoke(n)
        here.due(now_s=n / 1000)
    for n in range(10_000):
        here.leave(n)
    kept = (here._address_of, here._silent, here._ready, here._count_of)
    assert [len(one) for one in kept] == [0, 0, 0, 0]


def test_an_address_is_known_for_a_while_and_the_newest_ones_are() -> None:
    known = KnownAddresses(frozenset({"10.0.0.9"}), count_max=2, for_s=60.0)
    known.add("10.0.0.1", now_s=0.0)
    assert known.has("10.0.0.1", now_s=60.0)
    assert not known.has("10.0.0.1", now_s=61.0)
    assert known.has("10.0.0.9", now_s=1e9), "the roster's own"
    for n in (2, 3):
        known.add(f"10.0.0.{n}", now_s=1.0)
    assert [known.has(f"10.0.0.{n}", now_s=1.0) for n in (1, 2, 3)] == [False, True, True]


def _from(address: str, port: int) -> socket.socket:
    found = socket.socket()
    found.bind((address, 0))
    found.connect(("127.0.0.1", port))
    return found


@pytest.mark.parametrize("is_spread", [False, True], ids=["one address", "many addresses"])
@pytest.mark.parametrize("said", [b"", b"\x16"], ids=["bare connects", "slow handshakes"])
def test_strangers_from_elsewhere_keep_no_member_and_no_operator_out(
    live: Any, kit: Any, is_spread: bool, said: bytes
) -> None:
    async def test(federation: Any) -> None:
        async def echo(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            return caller.address

        limits = NetLimits(greetings_max=16, greetings_per_address_max=4)
        alpha, by_alpha = await federation.start("alpha", limits=limits, control=echo)
        strangers = []
        for n in range(200):
            address = f"127.6.{n // 200}.{n % 200 + 1}" if is_spread else "127.6.6.6"
            strangers.append(_from(address, alpha.port))
            strangers[-1].sendall(said)
        places = 16 if is_spread else 4
        await kit.eventually(
            lambda: alpha.stats().refused.get("too many connections", 0) >= 200 - places
        )
        bravo, _ = await federation.start("bravo")
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        async with ControlClient("127.0.0.1", alpha.port, federation.files("olga")) as client:
            assert await client.request("echo") == "127.0.0.1"
        assert len(alpha._listener._strangers_room) <= places
        for stranger in strangers:
            stranger.close()

    live(test)


def test_a_thousand_that_wait_do_not_hold_up_the_loop(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha")
        strangers = [_from("127.6.6.6", alpha.port) for _ in range(200)]
        admitted: list[int] = []
        admit = alpha._listener._admit

        def counted(*some: Any) -> None:
            admitted[-1] += 1
            admit(*some)

        alpha._listener._admit = counted
        while sum(admitted) < len(strangers):
            admitted.append(0)
            await asyncio.sleep(0)
        assert max(admitted) <= ACCEPTS_MAX
        for stranger in strangers:
            stranger.close()

    live(test)


def test_an_operator_from_a_new_address_is_known_there_afterwards(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        async def echo(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            return payload

        alpha, _ = await federation.start("alpha", control=echo)
        known = alpha._listener._known
        now_s = asyncio.get_running_loop().time()
        assert not known.has("127.9.9.9", now_s=now_s)
        alpha._listener.know("127.9.9.9")
        assert known.has("127.9.9.9", now_s=now_s)

    live(test)
