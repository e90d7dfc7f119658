"""What one window more costs after an outage, and what one revision more costs.

*Outage*: the root is killed, the sites read and close so many windows meanwhile, and the root comes
back. *Revisions*: a window is answered; then late records come, one file after the other, and each
is waited for until the window is answered anew. CPU is of the JVM and of this process, from the
moment that the root is back, or the first late record is there. Each answer is looked at once, when
it is published: to read all of them every time would cost more than what is measured.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.scale_folders import SOURCE, WINDOW_S, Size, write_folder
from benchmarks.site_pipeline import CpuMeter
from headwater.agent.config import SourcesConfig
from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.local.federation import Federation
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.store.results.results import ResultsReader

WINDOWS = (50, 200, 800)
REVISIONS = (10, 40, 160)
WAIT_S_MAX = 300.0
LOOK_EVERY_S = 0.05
SETTINGS = RuntimeSettings(sources=SourcesConfig(poll_s=0.2, batch_wait_s_max=0.2))
"""Late records are read as soon as they are found: each is waited for."""
LATE = """CREATE STREAM q00 WITH (begin = 'earliest', disorder = '0s', revise_every = '0s') AS
SELECT product, count(*) AS n FROM sales GROUP BY window(sold_at, '1 hour'), product;
"""


def measure_outages() -> None:
    print(f"\n{'windows behind':>14s} {'CPU':>8s} {'a window':>10s}")
    with _spark() as (running, scratch):
        for count in WINDOWS:
            cpu_s = asyncio.run(_outage(running, scratch / f"outage-{count}", count))
            print(f"{count:14d} {cpu_s:7.1f}s {cpu_s / count * 1000:7.1f} ms", flush=True)


def measure_revisions() -> None:
    print(f"\n{'revisions':>14s} {'CPU':>8s} {'a revision':>10s}")
    with _spark() as (running, scratch):
        for count in REVISIONS:
            cpu_s = asyncio.run(_revisions(running, scratch / f"revisions-{count}", count))
            print(f"{count:14d} {cpu_s:7.1f}s {cpu_s / count * 1000:7.1f} ms", flush=True)


class _spark:
    def __enter__(self) -> tuple[RunningSpark, Path]:
        self._scratch = tempfile.TemporaryDirectory(prefix="headwater-scale-")
        path = self._scratch.name
        self._running = start_session(
            SparkConfig(memory="1g", directory=path, log=f"{path}/jvm.log")
        )
        return self._running, Path(path)

    def __exit__(self, *_: object) -> None:
        self._running.stop()
        self._scratch.cleanup()


async def _outage(running: RunningSpark, directory: Path, count: int) -> float:
    sql, sites = write_folder(directory, Size(sites=4, files=4, rows=count * 500, windows=count))
    names = [path.name for path in sorted(sites.iterdir())]
    federation = _federation(running, directory, {name: sites / name for name in names})
    await federation.start()
    try:
        (query,) = install(federation.home, sql.read_text(), begin="earliest", ends=True)
        feeders = [federation.runtimes[name].feeder for name in names]
        await _until(lambda: all(feeder.has_sources for feeder in feeders), "the installs")
        await federation.kill_site(federation.roster.home)
        await _until(lambda: all(feeder.has_ended for feeder in feeders), "the sites")
        meter = CpuMeter(running)
        before = meter.read()
        home = await federation.start_site(federation.roster.home)
        await _until(lambda: str(query.id) in home.ended, "the root")
        return meter.read() - before
    finally:
        await federation.stop()


async def _revisions(running: RunningSpark, directory: Path, count: int) -> float:
    data = directory / "sites" / "late"
    data.mkdir(parents=True)
    hour_s = time.time() // 3_600 * 3_600 - 7_200
    stamp = datetime.fromtimestamp(hour_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    federation = _federation(running, directory, {"late": data})
    await federation.start()
    try:
        (query,) = install(federation.home, SOURCE + LATE, begin="earliest")
        counted = _Counted(federation, query)
        meter, before = CpuMeter(running), 0.0
        for number in range(count + 1):
            (data / f"{number:05d}.csv").write_text(f"{stamp},product,{number}\n")
            await _until(lambda wanted=number + 1: counted.records == wanted, f"revision {number}")
            before = before or meter.read()
        return meter.read() - before
    finally:
        await federation.stop()


class _Counted:
    """Records in the newest answers, of all windows."""

    def __init__(self, federation: Federation, query: Query) -> None:
        self._reader = ResultsReader(federation.home.stores.results_directory / query.id.name)
        self._by_window: dict[int, int] = {}
        federation.home.watchers.add(lambda _, seq: self._read(seq))

    @property
    def records(self) -> int:
        return sum(self._by_window.values())

    def _read(self, seq: int) -> None:
        for envelope in self._reader.envelopes(seq):
            rows = self._reader.answer(seq, envelope)
            count = 0 if rows is None else sum(rows.column("n").to_pylist())
            self._by_window[envelope.window] = count


def _federation(running: RunningSpark, directory: Path, data: dict[str, Path]) -> Federation:
    sites = (Site(0, "root", has_data=False), *(Site(n, s) for n, s in enumerate(data, start=1)))
    return Federation(
        directory / "federation",
        Roster(version=1, sites=sites, home="root"),
        spark=running,
        world=MemoryWorld(),
        settings=SETTINGS,
        data=data,
        now_s=time.time,
    )


async def _until(is_true: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + WAIT_S_MAX
    while not is_true():
        if time.monotonic() > until_s:
            raise TimeoutError(f"{what}: nothing after {WAIT_S_MAX:.0f} s")
        await asyncio.sleep(LOOK_EVERY_S)


assert WINDOW_S < 3_600, "late records lie in one window"
