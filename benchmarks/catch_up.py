"""Reading the past for a late query: how fast alone, and what it costs live queries beside it.

*Alone*: one site whose live reading is idle; from the install of a late query until its past is
read and committed, against ``try`` over the same files on the same Spark, both in megabytes a
second. *Beside*: the log grows all the while; how long after its end a live window of two seconds
is answered, before a late query comes and while the past is read for it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from headwater.agent.control.install import install
from headwater.agent.settings import RuntimeSettings
from headwater.local.federation import Federation
from headwater.local.trial.try_query import try_query
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.roster import Roster, Site
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.store.results.results import ResultsReader

ROWS = 3_000_000
FILES = 12
PAST_S = 6 * 3600
LINES_PER_S = 200
QUIET_WINDOWS = 25
WAIT_S_MAX = 400.0
SOURCE = """CREATE SOURCE sales (sold_at TIMESTAMP, product STRING, quantity BIGINT)
WITH (format = 'csv', path = '*.csv*', time = 'sold_at');
"""
LIVE = """CREATE STREAM live WITH (disorder = '1s') AS
SELECT product, count(*) AS n FROM sales GROUP BY window(sold_at, '2 seconds'), product;
"""
LATE = """CREATE STREAM late WITH (begin = 'earliest') AS
SELECT product, count(*) AS n, sum(quantity) AS pieces FROM sales
GROUP BY window(sold_at, '1 minute'), product;
"""


def write_past(folder: Path, *, before_s: float) -> int:
    """Rotated files, the newest without a number; how many bytes."""
    folder.mkdir(parents=True)
    times_s = np.linspace(before_s - PAST_S, before_s - 1.0, ROWS)
    for number, part in enumerate(np.array_split(np.arange(ROWS), FILES)):
        stamps = np.datetime_as_string((times_s[part] * 1000).astype("datetime64[ms]"))
        lines = [f"{at}Z,p{n % 40},{n % 9}" for at, n in zip(stamps, part, strict=True)]
        name = "sales.csv" if number == FILES - 1 else f"sales.csv.{FILES - 1 - number}"
        (folder / name).write_text("\n".join(lines) + "\n")
        time.sleep(0.02)  # or two have one time of change
    return sum(path.stat().st_size for path in folder.iterdir())


def measure(running: RunningSpark, scratch: Path) -> None:
    sites = scratch / "try"
    byte_count = write_past(sites / "paris", before_s=time.time())
    sql = SOURCE + LATE.replace(" WITH (begin = 'earliest')", "")
    rates = []
    for _ in range(2):  # the first one warms Spark up
        began_s = time.monotonic()
        try_query(sql, sites, spark=running)
        rates.append(byte_count / 1e6 / (time.monotonic() - began_s))
    print(f"try             {rates[-1]:8.1f} MB/s ({byte_count / 1e6:.0f} MB)", flush=True)
    alone = asyncio.run(_catch_up(running, scratch / "alone", is_busy=False))
    print(f"catch-up alone  {alone.mb_per_s:8.1f} MB/s, {alone.mb_per_s / rates[-1]:.2f} of try")
    beside = asyncio.run(_catch_up(running, scratch / "beside", is_busy=True))
    quiet_s, busy_s = np.percentile(beside.quiet_s, 95), np.percentile(beside.busy_s, 95)
    print(
        f"catch-up beside {beside.mb_per_s:8.1f} MB/s; a live window is answered {quiet_s:.2f} s "
        f"after its end without it, {busy_s:.2f} s beside it (95th percentile of "
        f"{len(beside.quiet_s)} and {len(beside.busy_s)}): {busy_s / quiet_s:.2f} times",
        flush=True,
    )


class Found:
    mb_per_s = 0.0
    quiet_s: list[float]
    busy_s: list[float]


async def _catch_up(running: RunningSpark, directory: Path, *, is_busy: bool) -> Found:
    folder = directory / "logs" / "home"
    byte_count = write_past(folder, before_s=time.time())
    federation = Federation(
        directory / "federation",
        Roster(1, (Site(0, "home"),), "home"),
        spark=running,
        world=MemoryWorld(),
        settings=RuntimeSettings(),
        data={"home": folder},
        now_s=time.time,
    )
    await federation.start()
    writer = asyncio.create_task(_write(folder / "sales.csv")) if is_busy else None
    found = Found()
    try:
        install(federation.home, SOURCE + LIVE, slack_us=2_000_000)
        feeder = federation.home.feeder
        results = directory / "federation" / "sites" / "home" / "results" / "live"
        count = QUIET_WINDOWS if is_busy else 2
        await _until(lambda: len(_staleness_s(results)) >= count, "live answers")
        found.quiet_s = list(_staleness_s(results).values())[3:]
        began_s = time.monotonic()
        install(federation.home, SOURCE + LATE)
        await _until(lambda: len(feeder.followed) == 2, "the past")
        await _until(lambda: len(feeder.followed) == 1, "its end")
        found.mb_per_s = byte_count / 1e6 / (time.monotonic() - began_s)
        before = len(found.quiet_s) + 3
        found.busy_s = list(_staleness_s(results).values())[before:]
        return found
    finally:
        if writer is not None:
            writer.cancel()
        await federation.stop()


async def _write(path: Path) -> None:
    while True:
        stamp = datetime.now(UTC).isoformat()
        with path.open("a") as file:
            file.writelines(f"{stamp},p{n % 40},1\n" for n in range(LINES_PER_S // 10))
        await asyncio.sleep(0.1)


def _staleness_s(results: Path) -> dict[int, float]:
    """By window: how long after its end it was first answered."""
    if not results.exists():
        return {}
    found: dict[int, float] = {}
    for _, envelope in ResultsReader(results).newest():
        found[envelope.window] = envelope.staleness_s
    return dict(sorted(found.items()))


async def _until(is_so: Callable[[], object], what: str) -> None:
    end_s = time.monotonic() + WAIT_S_MAX
    while not is_so():
        if time.monotonic() > end_s:
            raise TimeoutError(f"{what} did not come within {WAIT_S_MAX:.0f} s")
        await asyncio.sleep(0.1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-catch-up-") as path:
        running = start_session(SparkConfig(memory="1g", directory=path, log=f"{path}/jvm.log"))
        try:
            measure(running, Path(path))
        finally:
            running.stop()


if __name__ == "__main__":
    main()
