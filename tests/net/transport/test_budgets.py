"""A budget over real sockets: what the kernel has put on the interface never exceeds it, what is
urgent goes first, and all of it arrives in the end."""

import asyncio
import os
import time
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from headwater.algebra.summary import Lane
from headwater.net.network import LinkCounters
from headwater.net.transport import tls_network
from headwater.net.transport.frames import Stream
from headwater.net.transport.pacer import Pacer
from headwater.net.transport.tcp import sent_by_tcp
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.transport.wire_cost import HEADER_BYTES
from headwater.overlay.links.byte_budget import Traffic
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.overlay.messages import Heartbeat, SummaryMessage
from headwater.overlay.outputs import CONTROL, LATER, LIVE

RATE = 40_000.0
BURST = RATE / 4
OVER = 1.02


def a_random_summary(kit: Any, pane: int, *, size_bytes: int, lane: Lane = Lane.LIVE) -> Any:
    """Which no compression makes smaller."""
    names = [os.urandom(16).hex() for _ in range(size_bytes // 20)]
    rows = pa.record_batch([pa.array(names), pa.array([1] * len(names), pa.int64())], kit.schema)
    message = kit.a_summary(pane, lane=lane)
    summary = msgspec.structs.replace(message.summary, rows=pa.table(rows.to_pydict(), kit.schema))
    return SummaryMessage(summary)


def on_the_interface(network: TlsNetwork) -> int:
    """What the kernel says of the connections of all links."""
    sent_bytes = 0
    for kept in network._links.values():
        for side in kept.link._sides:
            sent = sent_by_tcp(side.connection.extra("socket"))
            assert sent is not None
            sent_bytes += sent.new_bytes + sent.again_bytes + HEADER_BYTES * sent.segments
    return sent_bytes


async def watched(network: TlsNetwork, ear: Any, is_done: Any) -> list[tuple[float, int]]:
    """(time, bytes on the interface) until something is so."""
    seen = [(time.monotonic(), on_the_interface(network))]
    while not is_done(ear):
        await asyncio.sleep(0.02)
        seen.append((time.monotonic(), on_the_interface(network)))
    return seen


def require_kept(seen: list[tuple[float, int]], rate: float, burst: float) -> None:
    """In every stretch of the observed time, however long that was on this machine."""
    for at, (begin_s, before) in enumerate(seen):
        for end_s, after in seen[at:]:
            allowed = OVER * rate * (end_s - begin_s) + burst
            assert after - before <= allowed, f"{after - before} in {end_s - begin_s:.2f} s"


@pytest.mark.parametrize(
    "budgets", [LinkBudgets(agent=RATE), LinkBudgets(to={"alpha": RATE})], ids=["agent", "link"]
)
def test_the_interface_sees_no_more_than_the_budget(live: Any, kit: Any, budgets: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=budgets)
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(10):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        seen = await watched(bravo, by_alpha, lambda ear: len(ear.messages) == 10)
        require_kept(seen, RATE, BURST + 1_500)
        (begin_s, before), (end_s, after) = seen[0], seen[-1]
        assert after - before > 0.8 * RATE * (end_s - begin_s) - BURST
        stats = bravo.stats()
        link = stats.links["alpha"]
        assert link.sent_by["live"] > 100_000
        spent = sum(link.budget.spent_bytes.values())
        assert spent == pytest.approx(on_the_interface(bravo), rel=0.02)
        assert link.budget.waited_s["live"] > 0.5
        whose = stats.budget if budgets.agent else link.budget
        assert whose.bytes_per_s == RATE

    live(test)


def test_heartbeats_pass_a_full_link(live: Any, kit: Any) -> None:
    """At 50 kbit/s, with a quarter of a megabyte waiting: each is there before the next is due."""
    rate = 50_000 / 8

    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=LinkBudgets(agent=rate))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(20):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=12_000), LIVE)
        for beat in range(8):
            message = Heartbeat(sent_s=float(beat), echo_s=None, echo_held_s=0.0, digest=7)
            before = sum(summaries(by_alpha))
            assert bravo.send("alpha", message, CONTROL)
            await by_alpha.until(lambda ear, beat=beat: beats(ear) == beat + 1)
            assert sum(summaries(by_alpha)) <= before + 1, "no summary was waited for"
            await asyncio.sleep(0.05)
        assert bravo.queued_bytes("alpha") > 150_000
        assert by_bravo.downs == []

    live(test)


def test_control_goes_before_data_within_its_share(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=LinkBudgets(agent=RATE))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(12):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        for pane in range(6):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) >= 6)
        link = bravo.stats().links["alpha"]
        assert link.budget.waited_s["control"] > 0.0
        spent = link.budget.spent_bytes
        lump = RATE * 0.2 + 3 * 1_514
        assert spent["control"] <= 0.2 * sum(spent.values()) + lump
        await by_alpha.until(lambda ear: len(ear.messages) == 18)

    live(test)


def test_backlog_has_its_share_beside_live_panes(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=LinkBudgets(agent=2 * RATE))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(30):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        late = a_random_summary(kit, 99, size_bytes=10_000, lane=Lane.BACKLOG)
        for _ in range(20):
            assert bravo.send("alpha", late, LATER)
        await by_alpha.until(lambda ear: sum(summaries(ear, Lane.LIVE)) == 30)
        came = sum(summaries(by_alpha, Lane.BACKLOG))
        assert 1 <= came <= 5

    live(test)


def test_what_is_held_back_for_long_is_a_notice(
    live: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_network, "HELD_BACK_S", 0.2)

    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=LinkBudgets(agent=RATE))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(4):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 4)
        told = [text for kind, text in federation.notices if kind == tls_network.HELD_BACK]
        assert "live panes for alpha wait" in next(iter(told))

    live(test)


def beats(ear: Any) -> int:
    return sum(isinstance(message, Heartbeat) for _, message in ear.messages)


def summaries(ear: Any, lane: Lane = Lane.LIVE) -> list[bool]:
    return [
        isinstance(message, SummaryMessage) and message.summary.lane is lane
        for _, message in ear.messages
    ]


def test_who_fails_at_its_turn_keeps_no_others_waiting() -> None:
    async def test() -> list[str]:
        pacer = Pacer(LinkBudgets(agent=RATE))
        assert pacer.agent is not None
        gates = [pacer.gate(name, LinkCounters()) for name in ("alpha", "bravo")]
        first, second = (gate for gate in gates if gate is not None)
        pacer.agent.spend(Traffic.LIVE, BURST, now_s=asyncio.get_running_loop().time())
        failed: list[str] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: failed.append(str(context["exception"]))
        )
        served = asyncio.Event()

        def fail() -> None:
            raise RuntimeError("closed")

        first.wait(Stream.LIVE, 500, fail)
        second.wait(Stream.LIVE, 500, served.set)
        async with asyncio.timeout(60):
            await served.wait()
        return failed

    assert asyncio.run(test()) == ["closed"]


def test_a_budget_that_is_commanded_counts_for_links_that_are_open(live: Any, kit: Any) -> None:
    """And is taken away again, with what waited for it."""

    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo")
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for pane in range(20):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 20)
        assert bravo.stats().budget.bytes_per_s is None
        bravo.use_budgets(LinkBudgets(agent=RATE))
        for pane in range(20, 30):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        seen = await watched(bravo, by_alpha, lambda ear: len(ear.messages) == 30)
        require_kept(seen, RATE, BURST + 1_500)
        spent = sum(bravo.stats().links["alpha"].budget.spent_bytes.values())
        assert 90_000 < spent < 160_000, "what went before is not charged"
        for pane in range(30, 80):
            assert bravo.send("alpha", a_random_summary(kit, pane, size_bytes=10_000), LIVE)
        bravo.use_budgets(LinkBudgets())
        await by_alpha.until(lambda ear: len(ear.messages) == 80)
        assert bravo.stats().budget.bytes_per_s is None
        after = sum(bravo.stats().links["alpha"].budget.spent_bytes.values())
        assert after < spent + 50_000, "what waited has not gone by the former budget"
        assert by_bravo.downs == []

    live(test)
