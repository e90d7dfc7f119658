"""What a summary costs on the wire: bytes, time to encode and decode, and a link under load.

``python -m benchmarks.wire``. The first table compares ways to write the same rows (a string key,
a double, a bigint); the second sends them from one network to another over loopback, with mutual
TLS, both ends in this one process, while a heartbeat goes to and fro. Times in the first table are
of CPU; those in the second are of the clock, and on a busy machine they show the machine. Ours
includes the envelope and the checks of what came; the others are the bare rows, unchecked.

``python -m benchmarks.wire budgets``: the same transfer with a budget far above what the link
carries, and handed over as a peer does it, into the room that it is told of, each divided by the
plain one of the same turn.
"""

from __future__ import annotations

import asyncio
import io
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import zstandard

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link import Link
from headwater.overlay.links.link_budgets import NO_BUDGETS, LinkBudgets
from headwater.overlay.links.link_load import LinkLoad
from headwater.overlay.messages import Heartbeat, Message, SummaryMessage
from headwater.overlay.outputs import CONTROL, LIVE
from headwater.plan.roster import Roster, Site

KEYS = (10, 1_000, 100_000)
QUERY = "bench@alpha#1"
SCHEMA = pa.schema([("domain", pa.string()), ("hits", pa.int64()), ("ms", pa.float64())])
REPEAT_S = 0.5
TRANSFER_BYTES = 60_000_000
"""What a transfer sends in all, so that each lasts long enough to be measured."""
MESSAGES_MAX = 20_000
WINDOW_BYTES = 4 << 20
"""The sender keeps so much queued: the link is full, and memory is not."""


def a_table(keys: int) -> Any:
    chance = random.Random(keys)
    return pa.table(
        {
            "domain": [f"host-{n}.example-{chance.randrange(1000)}.com" for n in range(keys)],
            "hits": [int(chance.paretovariate(1.1)) for _ in range(keys)],
            "ms": [chance.expovariate(0.01) for _ in range(keys)],
        },
        schema=SCHEMA,
    )


def a_message(keys: int, pane: int = 0) -> SummaryMessage:
    coverage = Coverage.of_whole(1, 99)
    return SummaryMessage(Summary(query=QUERY, pane=pane, coverage=coverage, rows=a_table(keys)))


def time_s(work: Callable[[], object]) -> float:
    """Seconds of CPU: the median of as many runs as fit, at least three."""
    runs: list[float] = []
    until_s = time.process_time() + REPEAT_S
    while len(runs) < 3 or time.process_time() < until_s:
        started_s = time.process_time()
        work()
        runs.append(time.process_time() - started_s)
    return statistics.median(runs)


def _arrow_stream(table: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def encodings(keys: int) -> list[tuple[str, int, float, float]]:
    """(what, bytes, seconds to encode, seconds to decode) for the same rows."""
    codec = Codec(lambda query: SCHEMA)
    message, table = a_message(keys), a_table(keys)
    ours = codec.encode(message)
    zstd = zstandard.ZstdCompressor(level=1)
    inner = _arrow_stream(table, compression="zstd")
    rows = zstd.compress(msgspec.msgpack.encode(table.to_pylist()))
    return [
        (
            "summary, as it travels",
            len(ours),
            time_s(lambda: codec.encode(message)),
            time_s(lambda: codec.decode(ours)),
        ),
        (
            "Arrow with its own zstd",
            len(inner),
            time_s(lambda: _arrow_stream(table, compression="zstd")),
            time_s(lambda: pa.ipc.open_stream(inner).read_all()),
        ),
        (
            "rows as msgpack, zstd",
            len(rows),
            time_s(lambda: zstd.compress(msgspec.msgpack.encode(table.to_pylist()))),
            time_s(
                lambda: pa.Table.from_pylist(
                    msgspec.msgpack.decode(zstandard.decompress(rows)), SCHEMA
                )
            ),
        ),
    ]


class Ear:
    """Counts what comes, and answers heartbeats with their own time."""

    def __init__(self, answer: Callable[[Heartbeat], None]) -> None:
        self.summaries = 0
        self.is_up = asyncio.Event()
        self.beats: asyncio.Queue[Heartbeat] = asyncio.Queue()
        self.room = asyncio.Event()
        self._answer = answer
        self.link: Link | None = None
        """What a peer would keep of the link; None: the sender goes by ``WINDOW_BYTES``."""

    def is_open(self, queued_bytes: int, size_bytes: int) -> bool:
        """For one message more, which is then handed over."""
        if self.link is None:
            return queued_bytes <= WINDOW_BYTES
        self.link.handed_bytes += size_bytes
        return self.link.room_bytes(QUERY) > 0

    def link_up(self, site: str) -> None:
        self.is_up.set()

    def link_down(self, site: str, unsent: Sequence[Message]) -> None:
        raise AssertionError(f"the link with {site} ended")

    def link_load(self, site: str, load: LinkLoad) -> None:
        if self.link is not None:
            self.link.load(load, now_s=time.monotonic())
        if load.queued_bytes < WINDOW_BYTES:
            self.room.set()

    def message(self, sender: str, message: Message) -> None:
        if isinstance(message, Heartbeat):
            self._answer(message)
        else:
            self.summaries += 1


class Transfer(msgspec.Struct):
    keys: int
    summaries_per_s: float
    bytes_per_s: float
    cpu_s_per_gb: float
    beat_p50_s: float
    beat_p99_s: float


async def transfer(
    keys: int, directory: Path, *, budgets: LinkBudgets = NO_BUDGETS, as_peer: bool = False
) -> Transfer:
    """alpha fills the link to bravo, and a heartbeat every 5 ms goes there and back."""
    authority = create_authority(directory / str(keys), "bench")
    sites = ("alpha", "bravo")
    roster = Roster(1, tuple(Site(n, s, "127.0.0.1") for n, s in enumerate(sites)), home="alpha")
    ports: dict[str, int] = {}
    networks = {
        site: TlsNetwork(
            site=site,
            roster=roster,
            roster_digest=b"",
            credentials=Credentials(issue(authority, Role.SITE, site)),
            codec=Codec(lambda query: SCHEMA),
            listen=("127.0.0.1", 0),
            address_of=lambda other: ("127.0.0.1", ports[other]),
            budgets=budgets,
        )
        for site in sites
    }
    alpha, bravo = networks["alpha"], networks["bravo"]
    beats_s: list[float] = []
    by_alpha = Ear(lambda beat: beats_s.append(time.perf_counter() - beat.sent_s))
    by_bravo = Ear(lambda beat: bravo.send("alpha", beat, CONTROL) and None)
    if as_peer:
        by_alpha.link = Link("bravo", OverlayConfig())
        by_alpha.link.up(now_s=0.0)
        by_alpha.link.load_is_told = True
    await alpha.start(by_alpha)
    await bravo.start(by_bravo)
    ports.update({site: network.port for site, network in networks.items()})
    alpha.dial("bravo")
    await asyncio.wait_for(asyncio.gather(by_alpha.is_up.wait(), by_bravo.is_up.wait()), 10)
    beating = asyncio.create_task(_beat(alpha))
    result = await _fill(alpha, by_alpha, by_bravo, keys, beats_s)
    beating.cancel()
    await alpha.stop()
    await bravo.stop()
    return result


async def _beat(alpha: TlsNetwork) -> None:
    while True:
        alpha.send(
            "bravo",
            Heartbeat(sent_s=time.perf_counter(), echo_s=None, echo_held_s=0.0, digest=0),
            CONTROL,
        )
        await asyncio.sleep(0.005)


async def _fill(
    alpha: TlsNetwork, by_alpha: Ear, by_bravo: Ear, keys: int, beats_s: list[float]
) -> Transfer:
    message = a_message(keys)
    size_bytes = len(Codec(lambda query: SCHEMA).encode(message))
    count = min(MESSAGES_MAX, max(8, TRANSFER_BYTES // size_bytes))
    started_s, cpu_s = time.perf_counter(), time.process_time()
    for sent in range(count):
        alpha.send("bravo", message, LIVE)
        if not by_alpha.is_open(alpha.queued_bytes("bravo"), size_bytes):
            by_alpha.room.clear()
            await by_alpha.room.wait()
        elif sent % 64 == 0:
            await asyncio.sleep(0)
    while by_bravo.summaries < count:
        await asyncio.sleep(0.001)
    took_s, cpu_s = time.perf_counter() - started_s, time.process_time() - cpu_s
    slices = statistics.quantiles(beats_s, n=100)
    sent_bytes = alpha.stats().links["bravo"].sent_bytes
    return Transfer(
        keys, count / took_s, sent_bytes / took_s, cpu_s / sent_bytes * 1e9, slices[49], slices[98]
    )


FAR_ABOVE = LinkBudgets(1e11, {"alpha": 1e11, "bravo": 1e11})
TURNS = 5


def compare_budgets() -> None:
    """Medians of ratios, of turns in which each way follows the other."""
    ways: dict[str, dict[str, Any]] = {
        "budget far above": {"budgets": FAR_ABOVE},
        "as a peer": {"as_peer": True},
    }
    print(f"{'keys':>8}  {'way':<18} {'throughput':>10} {'CPU':>6} {'beat p99':>9}")
    for keys in KEYS:
        ratios: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
        for _ in range(TURNS):
            plain = _in_a_place_of_its_own(keys)
            for way, options in ways.items():
                found = _in_a_place_of_its_own(keys, **options)
                ratios[way].append(
                    (
                        found.bytes_per_s / plain.bytes_per_s,
                        found.cpu_s_per_gb / plain.cpu_s_per_gb,
                        found.beat_p99_s / plain.beat_p99_s,
                    )
                )
        for way, seen in ratios.items():
            rate, cpu, beat = (statistics.median(column) for column in zip(*seen, strict=True))
            print(f"{keys:>8,}  {way:<18} {rate:>10.2f} {cpu:>6.2f} {beat:>9.2f}")


def _in_a_place_of_its_own(keys: int, **options: Any) -> Transfer:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(transfer(keys, Path(directory), **options))


def main() -> None:
    if sys.argv[1:] == ["budgets"]:
        compare_budgets()
        return
    print(
        f"{'keys':>8}  {'rows written as':<24} {'bytes':>11} {'enc CPU ms':>10} {'dec CPU ms':>10}"
    )
    for keys in KEYS:
        for what, size_bytes, encode_s, decode_s in encodings(keys):
            print(
                f"{keys:>8,}  {what:<24} {size_bytes:>11,} "
                f"{encode_s * 1e3:>10.3f} {decode_s * 1e3:>10.3f}"
            )
    print(
        f"\n{'keys':>8}  {'summaries/s':>12} {'MB/s':>7} {'CPU s/GB':>9} "
        f"{'beat p50 ms':>12} {'beat p99 ms':>12}"
    )
    with tempfile.TemporaryDirectory() as directory:
        for keys in KEYS:
            found = asyncio.run(transfer(keys, Path(directory)))
            print(
                f"{keys:>8,}  {found.summaries_per_s:>12,.0f} {found.bytes_per_s / 1e6:>7.1f} "
                f"{found.cpu_s_per_gb:>9.1f} {found.beat_p50_s * 1e3:>12.2f} "
                f"{found.beat_p99_s * 1e3:>12.2f}"
            )


if __name__ == "__main__":
    main()
