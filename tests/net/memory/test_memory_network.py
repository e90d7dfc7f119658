"""The wide area in one process: the same contract as over sockets, with delays, rates and cuts."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headwater.algebra.summary import Lane
from headwater.net.memory.memory_link import CHUNK_S
from headwater.net.memory.memory_network import MemoryNetwork, MemoryWorld, Wire
from headwater.net.network import NetLimits
from headwater.net.transport.frames import CHUNK_BYTES
from headwater.net.transport.send_queue import PIECE_BYTES_MIN
from headwater.net.values.codec import Codec
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.overlay.messages import Heartbeat
from headwater.overlay.outputs import CONTROL, LATER, LIVE

BEAT = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7)
AT_ONCE = Wire()


class World:
    def __init__(self, kit: Any, wire: Wire, **options: Any) -> None:
        self.world = MemoryWorld(lambda one, other: wire, **options)
        self._kit = kit

    async def start(self, name: str, **options: Any) -> tuple[MemoryNetwork, Any]:
        network = self.world.network(name, Codec(self._kit.schema_of), **options)
        ear = self._kit.Ear()
        await network.start(ear)
        return network, ear

    async def pair(self, **options: Any) -> tuple[MemoryNetwork, Any, MemoryNetwork, Any]:
        alpha, by_alpha = await self.start("alpha", **options)
        bravo, by_bravo = await self.start("bravo", **options)
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        return alpha, by_alpha, bravo, by_bravo


@pytest.fixture
def run(kit: Any) -> Callable[..., None]:
    def run(
        test: Callable[[World], Coroutine[Any, Any, None]], wire: Wire = AT_ONCE, **options: Any
    ) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(120):
                await test(World(kit, wire, **options))

        asyncio.run(bounded())

    return run


def test_a_link_carries_messages_both_ways_and_counts_their_bytes(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, bravo, by_bravo = await world.pair()
        message = kit.a_summary(keys=500)
        assert bravo.send("alpha", message, LIVE)
        assert alpha.send("bravo", BEAT, CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        await by_bravo.until(lambda ear: ear.messages == [("alpha", BEAT)])
        assert by_alpha.messages[0][1].summary.rows.equals(message.summary.rows)
        sent = bravo.stats().links["alpha"].sent_bytes
        encoded = len(Codec(kit.schema_of).encode(message))
        assert encoded < sent < encoded + 100
        assert alpha.stats().links["bravo"].received_bytes == sent
        kinds = world.world.sent_kinds
        assert kinds[type(message).__name__] == encoded
        assert kinds[Heartbeat.__name__] == len(Codec(kit.schema_of).encode(BEAT))

    run(test)


def test_nothing_arrives_before_the_delay_and_order_holds_under_jitter(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, _ = await world.pair()
        now_s = asyncio.get_running_loop().time
        sent_s = now_s()
        for pane in range(20):
            bravo.send("alpha", kit.a_summary(pane), LIVE)
            await asyncio.sleep(0.002)
        await by_alpha.until(lambda ear: bool(ear.messages))
        assert now_s() - sent_s >= 0.05
        await by_alpha.until(lambda ear: len(ear.messages) == 20)
        assert [m.summary.pane for _, m in by_alpha.messages] == list(range(20))

    run(test, Wire(delay_s=0.05, jitter_s=0.05))


def test_a_wire_carries_no_more_than_its_rate(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, _ = await world.pair()
        started_s = asyncio.get_running_loop().time()
        for pane in range(4):
            bravo.send("alpha", kit.a_summary(pane, keys=5000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 4)
        took_s = asyncio.get_running_loop().time() - started_s
        assert bravo.stats().links["alpha"].sent_bytes / took_s <= 500_000 * 1.01

    run(test, Wire(bytes_per_s=500_000))


def test_a_heartbeat_and_a_live_summary_pass_the_backlog_on_a_slow_wire(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, _ = await world.pair()
        for pane in range(5):
            bravo.send("alpha", kit.a_summary(pane, keys=5000, lane=Lane.BACKLOG), LATER)
        await asyncio.sleep(0)
        bravo.send("alpha", kit.a_summary(99), LIVE)
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 7)
        first, second, *_ = [message for _, message in by_alpha.messages]
        assert first == BEAT
        assert second.summary.pane == 99

    run(test, Wire(bytes_per_s=1_000_000))


def test_a_long_cut_ends_the_link_at_both_ends_and_returns_what_was_not_written(
    run: Any, kit: Any
) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, by_bravo = await world.pair()
        for pane in range(20):
            bravo.send("alpha", kit.a_summary(pane, keys=5000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 2)
        world.world.sever("alpha", "bravo")
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: bool(ear.downs))
        await by_alpha.until(lambda ear: bool(ear.downs))
        returned = [message.summary.pane for message in by_bravo.downs[0][1]]
        came = [message.summary.pane for _, message in by_alpha.messages]
        assert returned
        assert returned == list(range(20))[-len(returned) :]
        assert not set(came) & set(returned)
        assert not bravo.send("alpha", BEAT, CONTROL)

    run(test, Wire(bytes_per_s=200_000), notice_s=0.1)


def test_a_short_cut_delays_and_loses_nothing(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, by_bravo = await world.pair()
        for pane in range(10):
            bravo.send("alpha", kit.a_summary(pane), LIVE)
        world.world.sever("alpha", "bravo")
        await asyncio.sleep(0.05)
        assert by_alpha.messages == []
        world.world.heal("alpha", "bravo")
        await by_alpha.until(lambda ear: len(ear.messages) == 10)
        assert by_bravo.downs == []

    run(test, Wire(delay_s=0.01), notice_s=30.0)


def test_a_cut_pair_can_not_dial_until_it_is_healed(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        await world.start("alpha")
        bravo, by_bravo = await world.start("bravo")
        world.world.isolate({"alpha"})
        bravo.dial("alpha")
        await kit.eventually(lambda: bravo.stats().refused == {"unreachable": 1})
        world.world.heal_off({"alpha"})
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])

    run(test)


def test_cutting_off_a_set_of_sites_leaves_links_within_it(run: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, bravo, by_bravo = await world.pair()
        charlie, by_charlie = await world.start("charlie")
        charlie.dial("bravo")
        await by_charlie.until(lambda ear: ear.ups == ["bravo"])
        world.world.isolate({"alpha", "bravo"})
        await by_charlie.until(lambda ear: [site for site, _ in ear.downs] == ["bravo"])
        alpha.send("bravo", BEAT, CONTROL)
        await by_bravo.until(lambda ear: ear.messages == [("alpha", BEAT)])
        assert by_alpha.downs == []
        assert not bravo.send("charlie", BEAT, CONTROL)

    run(test, notice_s=0.05)


def test_a_closed_link_is_down_at_both_ends_and_can_be_dialled_again(run: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, _, by_bravo = await world.pair()
        alpha.close_link("bravo")
        await by_alpha.until(lambda ear: ear.log == ["up bravo", "down bravo"])
        await by_bravo.until(lambda ear: ear.log == ["up alpha", "down alpha"])
        alpha.dial("bravo")
        await by_bravo.until(lambda ear: len(ear.ups) == 2)
        assert alpha.stats().links["bravo"].links == 2

    run(test)


def test_a_stopped_site_is_gone_for_the_others(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, bravo, by_bravo = await world.pair()
        await alpha.stop()
        await by_bravo.until(lambda ear: bool(ear.downs))
        bravo.dial("alpha")
        await kit.eventually(lambda: bravo.stats().refused == {"unreachable": 1})
        assert by_alpha.downs == []

    run(test)


def test_a_full_queue_refuses_and_load_is_told_up_and_down(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        limits = NetLimits(bulk_queue_bytes_max=1_000_000)
        _, by_alpha, bravo, by_bravo = await world.pair(limits=limits)
        taken = [bravo.send("alpha", kit.a_summary(n, keys=50_000), LIVE) for n in range(10)]
        assert taken[0]
        assert not taken[-1]
        await by_alpha.until(lambda ear: len(ear.messages) == taken.count(True))
        await by_bravo.until(lambda ear: ear.loads[-1:] == [0])
        assert max(by_bravo.loads) > 500_000

    run(test, Wire(bytes_per_s=5_000_000))


def test_dials_from_both_ends_make_one_link(run: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha = await world.start("alpha")
        bravo, by_bravo = await world.start("bravo")
        alpha.dial("bravo")
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: bool(ear.ups))
        await by_bravo.until(lambda ear: bool(ear.ups))
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: bool(ear.messages))
        assert (by_alpha.ups, by_bravo.ups) == (["bravo"], ["alpha"])

    run(test, Wire(delay_s=0.005))


def test_values_are_handed_over_as_they_are_in_order_and_aged(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, bravo, by_bravo = await world.pair()
        messages = [kit.a_summary(pane, keys=50) for pane in range(5)]
        for message in messages:
            assert bravo.send("alpha", message, LIVE)
        assert by_alpha.messages == [], "nothing is told from within a call to the network"
        await by_alpha.until(lambda ear: len(ear.messages) == 5)
        came = [message.summary for _, message in by_alpha.messages]
        assert [summary.pane for summary in came] == list(range(5))
        for summary, message in zip(came, messages, strict=True):
            assert summary.rows is message.summary.rows
            assert summary.age_s > message.summary.age_s
        assert bravo.stats().links["alpha"].sent_messages == 5
        assert alpha.stats().links["bravo"].received_messages == 5
        alpha.close_link("bravo")
        await by_bravo.until(lambda ear: [site for site, _ in ear.downs] == ["alpha"])

    run(test, hands_over_values=True)


def test_what_was_handed_over_before_a_link_was_closed_does_not_come_over_the_next(
    run: Any, kit: Any
) -> None:
    async def test(world: World) -> None:
        _, by_alpha, bravo, by_bravo = await world.pair()
        bravo.send("alpha", kit.a_summary(1), LIVE)
        bravo.close_link("alpha")
        await by_bravo.until(lambda ear: bool(ear.downs))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: len(ear.ups) == 2)
        bravo.send("alpha", kit.a_summary(2), LIVE)
        await by_alpha.until(lambda ear: bool(ear.messages))
        assert [message.summary.pane for _, message in by_alpha.messages] == [2]

    run(test, hands_over_values=True)


def test_a_budget_is_kept_and_heartbeats_pass(run: Any, kit: Any) -> None:
    rate = 30_000.0

    async def test(world: World) -> None:
        _, by_alpha = await world.start("alpha")
        bravo, by_bravo = await world.start("bravo", budgets=LinkBudgets(to={"alpha": rate}))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        now_s = asyncio.get_running_loop().time
        begin_s = now_s()
        for pane in range(12):
            assert bravo.send("alpha", kit.a_summary(pane, keys=4_000), LIVE)
        assert bravo.queued_bytes("alpha") > 50_000
        assert bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: "Heartbeat" in ear.log)
        assert len(by_alpha.messages) <= 3
        await by_alpha.until(lambda ear: len(ear.messages) == 13)
        link = bravo.stats().links["alpha"]
        spent = sum(link.budget.spent_bytes.values())
        assert link.sent_bytes < spent <= 1.02 * rate * (now_s() - begin_s) + rate / 4 + 1_500
        assert link.budget.bytes_per_s == rate

    run(test)


def test_a_slow_wire_has_small_frames_so_that_a_heartbeat_waits_for_none() -> None:
    assert Wire().chunk_bytes == CHUNK_BYTES
    assert Wire(bytes_per_s=250_000.0).chunk_bytes == CHUNK_BYTES
    assert Wire(bytes_per_s=4_000.0).chunk_bytes == 4_000 * CHUNK_S
    assert Wire(bytes_per_s=1.0).chunk_bytes == PIECE_BYTES_MIN


def test_a_heartbeat_passes_a_long_message_on_a_slow_wire(run: Any, kit: Any) -> None:
    async def test(world: World) -> None:
        alpha, by_alpha, _, by_bravo = await world.pair()
        assert alpha.send("bravo", kit.a_summary(keys=3_000), LIVE)
        await asyncio.sleep(0)
        assert alpha.send("bravo", BEAT, CONTROL)
        await by_bravo.until(lambda ear: len(ear.messages) == 2)
        assert by_bravo.messages[0] == ("alpha", BEAT)
        assert by_alpha.messages == []

    run(test, Wire(bytes_per_s=60_000.0))
