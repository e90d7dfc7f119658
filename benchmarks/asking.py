"""A question about the past: from cubes, from the logs, by shipping the logs, and how good its
estimate is.

One site has the panes of a stream and the logs that these were made of; another one, without data,
asks and answers. The same question is asked of either, by the way that ``headwater ask`` takes;
measured is the CPU of Python, of the JVM and of its workers from its install until its answer is
published, what the site has sent for it by then, beside the logs of that time as they are and in
zstd, and that both answers are the same. What idling takes meanwhile is taken off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.asking.preparing import prepared_ask
from headwater.agent.control.ask_api import AskRequest
from headwater.agent.control.control_api import AnswerEvent
from headwater.agent.control.install import install, planned
from headwater.agent.control.operator_client import Question
from headwater.agent.control.watching import _event
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.view.stream_lines import results_of
from headwater.cli.show.estimate_line import estimate_of
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.net.values.words import query_in
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session

ROWS = 6_000_000
FILES = 10
PAST_S = 5 * 3600
WAIT_S_MAX = 400.0
RUNS = 2
IDLE_S = 5.0
ASKED_S = 3 * 3600
LIMITS = AskConfig(bytes_max=1 << 30, seconds_max=WAIT_S_MAX)
"""Logs of this size are more than a question may read without saying so."""
LOOK_EVERY_S = 0.1
"""A look for the answer reads the results, and counts as what answers take."""
SOURCE = """CREATE SOURCE requests (at TIMESTAMP, domain STRING, status INT, bytes BIGINT)
WITH (format = 'csv', path = '*.csv*', time = 'at');
"""
STREAM = """CREATE STREAM hits WITH (begin = '4 hours ago') AS
SELECT domain, status, count(*) AS n, sum(bytes) AS b FROM requests
GROUP BY window(at, '1 minute'), domain, status;
"""
ESTIMATED = (
    ("SELECT count(*) AS n FROM requests", 10),
    ("SELECT count(*) AS n FROM requests", 60),
    ("SELECT sum(bytes) AS b FROM requests", 200),
    ("SELECT domain, count(*) AS n FROM requests GROUP BY domain", 30),
    ("SELECT domain, status, sum(bytes) AS b FROM requests GROUP BY domain, status", 120),
    ("SELECT status, count(*) AS n FROM requests GROUP BY status", 90),
    ("SELECT count(*) AS n FROM requests WHERE domain = 'd9'", 180),
    ("SELECT domain, sum(bytes) AS b FROM requests WHERE status >= 400 GROUP BY domain", 60),
    ("SELECT count(*) AS n FROM requests GROUP BY window(at, '10 minutes')", 200),
    ("SELECT status, sum(bytes) AS b FROM requests GROUP BY window(at, '1 hour'), status", 180),
)
"""Each with how many minutes it is about."""
QUESTIONS = {
    "one domain": "SELECT status, count(*) AS n FROM requests WHERE domain = 'd7' GROUP BY status",
    "all domains": "SELECT domain, sum(bytes) AS b FROM requests GROUP BY domain",
    "in all": "SELECT count(*) AS n, sum(bytes) AS b FROM requests",
}


def write_past(folder: Path, *, before_s: float) -> int:
    """Rotated files, the newest without a number; how many bytes."""
    folder.mkdir(parents=True)
    times_s = np.linspace(before_s - PAST_S, before_s - 1.0, ROWS)
    for number, part in enumerate(np.array_split(np.arange(ROWS), FILES)):
        stamps = np.datetime_as_string((times_s[part] * 1000).astype("datetime64[ms]"))
        lines = [
            f"{at}Z,d{n * n % 40},{(200, 200, 404, 500)[n % 4]},{n * 31 % 5_000}"
            for at, n in zip(stamps, part.tolist(), strict=True)
        ]
        name = "requests.csv" if number == FILES - 1 else f"requests.csv.{FILES - 1 - number}"
        (folder / name).write_text("\n".join(lines) + "\n")
        time.sleep(0.02)  # or two have one time of change
    return sum(path.stat().st_size for path in folder.iterdir())


def zstd_bytes(folder: Path) -> int:
    """Of all files, each by itself, as they would be shipped."""
    compressor = zstandard.ZstdCompressor(level=3)
    return sum(len(compressor.compress(path.read_bytes())) for path in folder.iterdir())


def tree_cpu_s(top: int) -> float:
    """Of a process and all below it, those that have ended among them: Spark's Python workers read
    lines, and they are not the JVM's."""
    below: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            below.setdefault(int(fields[1]), []).append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / 100
    total, waiting = 0.0, [top]
    while waiting:
        pid = waiting.pop()
        total += spent.get(pid, 0.0)
        waiting += below.get(pid, [])
    return total


class Shipped(NamedTuple):
    raw: float
    zstd: float


class Asker:
    def __init__(self, runtime: SiteRuntime, site: SiteRuntime) -> None:
        self._runtime = runtime
        self._site = site
        self.sent_bytes = 0
        """By the site for the question that was asked last: all that bears its name."""

    def cpu_s(self) -> float:
        return tree_cpu_s(os.getpid())

    async def ask(self, query: Query) -> tuple[AnswerEvent, float, float]:
        """The answer, its CPU and how long it took."""
        began_s, cpu_before_s = time.monotonic(), self.cpu_s()
        self._runtime.command(planned(self._runtime, query))
        reader = results_of(self._runtime, query)
        await until(lambda: reader.publications(), "the answer")
        took_s, cpu = time.monotonic() - began_s, self.cpu_s() - cpu_before_s
        ((seq, envelope), *_) = reader.newest()
        spent = self._site.network.stats().queries.get(str(query.id))
        self.sent_bytes = 0 if spent is None else sum(spent.spent_bytes.values())
        self._runtime.question_ends.end([str(query.id)])
        return msgspec.convert(_event(reader, seq, envelope), AnswerEvent), cpu, took_s


async def compare(running: RunningSpark, directory: Path) -> None:
    folder = directory / "logs" / "home"
    byte_count = write_past(folder, before_s=time.time() - 60.0)
    federation = Federation(
        directory / "federation",
        Roster(1, (Site(0, "root", has_data=False), Site(1, "home")), "root"),
        spark=running,
        world=MemoryWorld(),
        settings=RuntimeSettings(ask=LIMITS),
        data={"home": folder},
        now_s=time.time,
    )
    await federation.start()
    runtime, site = federation.home, federation.runtimes["home"]
    try:
        install(runtime, SOURCE + STREAM)
        await until(lambda: len(site.feeder.followed) == 2, "the past")
        await until(lambda: len(site.feeder.followed) == 1, "its end")
        status = site.stores.cube.status()
        print(
            f"{ROWS} records, {byte_count / 1e6:.0f} MB of logs; the cube has "
            f"{status.segment_bytes / 1e6:.2f} MB in {status.panes} panes",
            flush=True,
        )
        share = ASKED_S / PAST_S
        shipped = Shipped(byte_count * share, zstd_bytes(folder) * share)
        print(
            f"shipping the {ASKED_S // 3600} hours that are asked about: "
            f"{shipped.raw / 1e6:.0f} MB, in zstd {shipped.zstd / 1e6:.1f} MB",
            flush=True,
        )
        asker = Asker(runtime, site)
        await asyncio.sleep(2.0)
        before_s = asker.cpu_s()
        await asyncio.sleep(IDLE_S)
        idle = (asker.cpu_s() - before_s) / IDLE_S
        for name, select in QUESTIONS.items():
            await _compare(runtime, asker, name, select, idle, shipped)
        await estimate_all(runtime, asker)
    finally:
        await federation.stop()


async def estimate_all(runtime: SiteRuntime, asker: Asker) -> None:
    """Rows that are read, and seconds, as they were told before and as they were."""
    offs: dict[str, list[float]] = {"rows": [], "seconds": []}
    to_us = int(time.time() - 600) * 1_000_000 // 600_000_000 * 600_000_000
    for number, (select, minutes) in enumerate(ESTIMATED):
        request = AskRequest(
            select=select,
            name=f"ask_estimated_{number}",
            from_us=to_us - minutes * 60_000_000,
            to_us=to_us,
        )
        prepared = prepared_ask(runtime, request)
        query = query_in(prepared.question)[0]
        assert prepared.estimate is not None, "the stream has it"
        counted = query_in(prepared.estimate)[0]
        answer, _, _ = await asker.ask(counted)
        told = estimate_of(answer, Question(query, counted, 1, prepared))
        answer, _, took_s = await asker.ask(query)
        read = sum(group["rows"] for group in answer.header["as_of"])
        offs["rows"].append(told.rows / read)
        offs["seconds"].append(told.seconds / took_s)
    for what, found in offs.items():
        good = sum(0.5 <= one <= 2.0 for one in found)
        print(
            f"estimated {what}: {good} of {len(found)} within a factor of 2; told / measured "
            + ", ".join(f"{one:.2f}" for one in found),
            flush=True,
        )


async def _compare(
    runtime: SiteRuntime, asker: Asker, name: str, select: str, idle: float, shipped: Shipped
) -> None:
    sent: dict[bool, list[int]] = {False: [], True: []}
    spent: dict[bool, list[float]] = {False: [], True: []}
    took: dict[bool, list[float]] = {False: [], True: []}
    rows: dict[bool, Any] = {}
    estimate = None
    to_us = int(time.time() - 600) * 1_000_000 // 600_000_000 * 600_000_000
    for run in range(RUNS):
        for reads_logs in (False, True):
            request = AskRequest(
                select=select,
                name=f"ask_{name.replace(' ', '_')}_{run}_{int(reads_logs)}",
                from_us=to_us - ASKED_S * 1_000_000,
                to_us=to_us,
                reads_logs=reads_logs,
            )
            prepared = prepared_ask(runtime, request)
            query = query_in(prepared.question)[0]
            if prepared.estimate is not None and not reads_logs:
                counted = query_in(prepared.estimate)[0]
                answer, cpu, _ = await asker.ask(counted)
                estimate = estimate_of(answer, Question(query, counted, 1, prepared))
            answer, cpu, took_s = await asker.ask(query)
            assert answer.header["exact"], answer.header
            spent[reads_logs].append(max(0.01, cpu - idle * took_s))
            took[reads_logs].append(took_s)
            sent[reads_logs].append(asker.sent_bytes)
            rows[reads_logs] = sorted(map(msgspec.json.encode, answer.rows))
    assert rows[False] == rows[True], "both ways give one answer"
    cubes, logs = (statistics.median(spent[one]) for one in (False, True))
    assert estimate is not None
    own = max(1.0, statistics.median(sent[False]))
    print(
        f"{name:12s} from cubes {cubes:6.2f} s of CPU in {statistics.median(took[False]):5.2f} s, "
        f"from logs {logs:6.2f} s in {statistics.median(took[True]):5.2f} s: {logs / cubes:.1f} "
        f"times; estimated {estimate.rows} rows, {estimate.bytes / 1e3:.0f} kB, "
        f"{estimate.seconds:.1f} s; sent {own / 1e3:.1f} kB, {shipped.raw / own:.0f} times less "
        f"than the logs, {shipped.zstd / own:.0f} times less than in zstd",
        flush=True,
    )


async def until(is_so: Callable[[], object], what: str) -> None:
    end_s = time.monotonic() + WAIT_S_MAX
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError(f"{what} did not come within {WAIT_S_MAX:.0f} s")
        await asyncio.sleep(LOOK_EVERY_S)


def main() -> None:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"load {load}", flush=True)
    with tempfile.TemporaryDirectory(prefix="headwater-asking-") as scratch:
        running = start_session(
            SparkConfig(master="local[2]", directory=f"{scratch}/spark", log=f"{scratch}/spark.log")
        )
        try:
            asyncio.run(compare(running, Path(scratch)))
        finally:
            running.stop()


if __name__ == "__main__":
    main()
