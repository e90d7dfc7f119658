"""What is told of a queue: when much has changed, when it is empty, and what may wait."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import msgspec

from headwater.algebra.drain_rate import DrainRate
from headwater.net.transport.load_meter import LoadMeter
from headwater.overlay.links.link_load import CONTROL_AHEAD_BYTES, LinkLoad
from headwater.overlay.links.queue_limit import CHUNK_BYTES, FIRST_BYTES


class Bench:
    def __init__(self, *, budget: float | None = None) -> None:
        self.queued_bytes = 0
        self.told: list[LinkLoad] = []
        self.meter = LoadMeter(
            lambda: self.queued_bytes, self.told.append, queue_s_max=2.0, budget=budget
        )

    def put(self, count: int) -> None:
        self.queued_bytes += count
        self.meter.changed(put_bytes=count)

    def leave(self, count: int) -> None:
        self.queued_bytes -= count
        self.meter.changed()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test()

    asyncio.run(bounded())


async def a_turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_what_passes_at_once_is_told_as_empty_once() -> None:
    """The peer holds what it has handed over against the link until it hears."""

    async def test() -> None:
        bench = Bench()
        for _ in range(5):
            bench.put(200)
        bench.leave(1_000)
        await a_turn()
        assert [load.queued_bytes for load in bench.told] == [0]
        await a_turn()
        assert len(bench.told) == 1

    run(test)


def test_a_full_queue_is_told_in_sixteenths_of_what_may_wait() -> None:
    async def test() -> None:
        bench = Bench(budget=16_000.0)
        for _ in range(320):
            bench.put(100)
            await a_turn()
        assert bench.told[-1].queued_bytes_max == 32_000
        steps = [load.queued_bytes for load in bench.told]
        assert 12 <= len(steps) <= 34
        assert all(b - a >= 1_000 for a, b in itertools.pairwise(steps))

    run(test)


def test_nothing_is_known_of_a_new_link() -> None:
    async def test() -> None:
        bench = Bench()
        bench.put(50_000)
        await a_turn()
        assert bench.told == [LinkLoad(50_000, FIRST_BYTES, None)]

    run(test)


def test_control_that_begins_to_wait_or_has_left_is_told_however_little_that_is() -> None:
    """Of a full link nothing else would be told for long, and states would wait for it."""

    async def test() -> None:
        queued = {"control": 0, "bulk": 2_000_000}
        told = list[LinkLoad]()
        meter = LoadMeter(
            lambda: sum(queued.values()),
            told.append,
            queue_s_max=100.0,
            control_bytes=lambda: queued["control"],
        )
        meter.changed(put_bytes=2_000_000)
        await a_turn()
        told.clear()
        queued["control"] = CONTROL_AHEAD_BYTES
        meter.changed(put_bytes=CONTROL_AHEAD_BYTES)
        await a_turn()
        queued["control"] = CONTROL_AHEAD_BYTES - 1
        meter.changed()
        await a_turn()
        meter.changed()
        await a_turn()
        assert [one.has_control_ahead for one in told] == [True, False]

    run(test)


def test_a_new_connection_begins_with_what_the_last_one_had_shown() -> None:
    """Else it would take seconds of bytes at once, after each outage, on a link that is known to be
    slow."""

    async def test() -> None:
        rate = DrainRate().changed(100_000, now_s=0.0).changed(-90_000, now_s=30.0)
        told = list[LinkLoad]()
        known = rate.emptied()
        assert known.queued_bytes == 0
        assert known.bytes_per_s(now_s=900.0) == rate.bytes_per_s(now_s=30.0)
        now_s = asyncio.get_running_loop().time()
        known = msgspec.structs.replace(known, at_s=now_s)
        queued = 0
        meter = LoadMeter(lambda: queued, told.append, queue_s_max=2.0, known=known)
        queued = 4_000
        meter.changed(put_bytes=queued)
        await a_turn()
        assert told
        assert told[-1].queued_bytes_max == CHUNK_BYTES

    run(test)


def test_what_waits_for_its_own_budget_takes_no_room_and_shows_no_rate() -> None:
    async def test() -> None:
        told, queued = list[LinkLoad](), [0, 0]
        meter = LoadMeter(
            lambda: sum(queued), told.append, queue_s_max=2.0, held_bytes=lambda: queued[1]
        )
        queued[1] = 30_000
        meter.changed(put_bytes=30_000)
        await a_turn()
        assert [(load.queued_bytes, load.bytes_per_s) for load in told] == [(0, None)]
        queued[0] = 20_000
        meter.changed(put_bytes=20_000)
        await a_turn()
        assert told[-1].queued_bytes == 20_000
        queued[0] = 0
        meter.changed()
        await a_turn()
        assert told[-1].queued_bytes == 0
        assert meter.rate.queued_bytes == 30_000

    run(test)
