"""The site pipeline against Structured Streaming as people write it, on one Spark, in one run.

``python -m benchmarks.site_pipeline [--quick]``. Both read the same complete files, as many in a
batch. By hand: a stream with Spark's own text source and ``split``, or with its csv source, and
``foreachBatch`` that groups by ``window()`` and collects; for several queries as many streams.
Ours: the same queries through ``SiteHost``. The first batches of a pass are not counted (start,
planning), and passes alternate, so that a busy machine is busy for both. Time is of the clock; the
CPU of the JVM and of Python is given beside it, since that a busy machine disturbs less.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.bench_site import BenchSite
from benchmarks.log_lines import SCHEMA, SOURCE, write_files
from headwater.frontend.compile import compile_statements
from headwater.plan.query import Query
from headwater.spark.session import RunningSpark, SparkConfig, start_session
from headwater.spark.site_host import SiteHost

QUICK = "--quick" in sys.argv
LINES_EACH = 50_000
FILES_PER_BATCH = 8
BATCHES = 3 if QUICK else 5
BATCHES_SKIPPED = 1
PASSES = 2 if QUICK else 3

SELECTS = (
    ("domain, count(*) AS n, sum(bytes) AS b", "", "domain"),
    ("status, avg(latency_ms) AS l", "", "status"),
    ("cache, count(*) AS n", "status >= 400", "cache"),
    ("domain, max(latency_ms) AS l, sum(bytes) AS b", "", "domain"),
    ("count(*) AS n", "", ""),
)
"""Items, condition and keys of five queries on windows of ten seconds."""


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        data = Path(scratch) / "data"
        paths = write_files(data, files=FILES_PER_BATCH * BATCHES, lines_each=LINES_EACH)
        size = sum(path.stat().st_size for path in paths) / len(paths) * FILES_PER_BATCH
        print(f"batches of {FILES_PER_BATCH * LINES_EACH} lines, {size / 1e6:.0f} MB")
        running = start_session(
            SparkConfig(master="local[*]", memory="1g", directory=scratch, log=f"{scratch}/jvm.log")
        )
        try:
            for count in (1, 5):
                compare(running, Path(scratch), data, paths, count)
        finally:
            running.stop()


def compare(
    running: RunningSpark, scratch: Path, data: Path, paths: list[Path], count: int
) -> None:
    """One line for each way, then the ratios."""
    session, meter = running.session, CpuMeter(running)
    ways: dict[str, Callable[[], Cost]] = {
        "by hand, text": lambda: by_hand(session, meter, scratch, data, count, is_csv=False),
        "by hand, csv": lambda: by_hand(session, meter, scratch, data, count, is_csv=True),
        "headwater": lambda: ours(session, meter, scratch, paths, count),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(PASSES):
        for name, way in ways.items():
            cost = way()
            if number:
                costs[name].append(cost)
    lines = FILES_PER_BATCH * LINES_EACH
    print(f"\n{count} {'query' if count == 1 else 'queries'}: lines/s, CPU µs a line (medians)")
    wall = {name: statistics.median(one.wall_s for one in of) for name, of in costs.items()}
    cpu = {name: statistics.median(one.cpu_s for one in of) for name, of in costs.items()}
    for name in ways:
        print(f"  {name:14s} {lines / wall[name]:12,.0f} {cpu[name] / lines * 1e6:8.2f}")
    for name in list(ways)[:2]:
        print(
            f"  headwater / {name}: {wall[name] / wall['headwater']:.2f} x in time, "
            f"{cpu[name] / cpu['headwater']:.2f} x in CPU"
        )


class CpuMeter:
    """CPU seconds of the JVM, of the Python workers that it started, and of this process."""

    def __init__(self, running: RunningSpark) -> None:
        self._session = running.jvm.pid

    def read(self) -> float:
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._session:
                ticks += sum(int(field) for field in fields[11:15])
        return ticks / 100 + time.process_time()


def steady(marks: list[tuple[float, float]]) -> Cost:
    """Clock and CPU of one batch, from the marks at the end of each, without the first ones."""
    (first_s, first_cpu), (last_s, last_cpu) = marks[BATCHES_SKIPPED - 1], marks[-1]
    batches = len(marks) - BATCHES_SKIPPED
    return Cost((last_s - first_s) / batches, (last_cpu - first_cpu) / batches)


def by_hand(
    session: SparkSession, meter: CpuMeter, scratch: Path, data: Path, count: int, *, is_csv: bool
) -> Cost:
    """As many streams as queries, at the same time; a batch is over when all have ended it."""
    marks: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints:
        streams = []
        for number in range(count):

            def collect(frame: DataFrame, _: int, number: int = number) -> None:
                grouped(frame, number).toArrow()
                marks[number].append((time.perf_counter(), meter.read()))

            streams.append(
                typed(session, data, is_csv=is_csv)
                .writeStream.foreachBatch(collect)
                .option("checkpointLocation", f"{checkpoints}/{number}")
                .trigger(availableNow=True)
                .start()
            )
        for stream in streams:
            stream.awaitTermination()
    return steady([max(ends) for ends in zip(*marks, strict=True)])


def typed(session: SparkSession, data: Path, *, is_csv: bool) -> DataFrame:
    reader = session.readStream.option("maxFilesPerTrigger", FILES_PER_BATCH)
    if is_csv:
        return reader.schema(SCHEMA).csv(str(data))
    fields = F.split("value", ",")
    columns = [column.split() for column in SCHEMA.split(", ")]
    return reader.text(str(data)).select(
        *(F.get(fields, F.lit(n)).try_cast(t).alias(c) for n, (c, t) in enumerate(columns))
    )


def grouped(frame: DataFrame, number: int) -> DataFrame:
    items, condition, keys = SELECTS[number]
    frame = frame.where(condition) if condition else frame
    groups = [F.window("ts", "10 seconds"), *([keys] if keys else [])]
    return frame.groupBy(*groups).agg(*(F.expr(item) for item in items.split(", ") if "(" in item))


def ours(
    session: SparkSession, meter: CpuMeter, scratch: Path, paths: list[Path], count: int
) -> Cost:
    queries = compiled(count)
    marks: list[tuple[float, float]] = []

    class Site(BenchSite):
        def commit(self, source: str, **batch: object) -> None:  # type: ignore[override]
            super().commit(source, **batch)  # type: ignore[arg-type]
            marks.append((time.perf_counter(), meter.read()))

    site = Site(queries[0].source, paths, files_per_batch=FILES_PER_BATCH)
    host = SiteHost(session, scratch / "host")
    try:
        for query in queries:
            host.install(query)
        host.serve("bench", site)
        assert site.is_done.wait(900), "the host did not read everything"
    finally:
        host.stop()
    assert not site.failures, site.failures[0]
    assert site.records == len(paths) * LINES_EACH
    return steady(marks)


def compiled(count: int) -> list[Query]:
    streams = []
    for number, (items, condition, keys) in enumerate(SELECTS[:count]):
        where = f"WHERE {condition} " if condition else ""
        groups = ", ".join(["window(ts, '10 seconds')", *([keys] if keys else [])])
        select = f"SELECT {items} FROM access {where}GROUP BY {groups}"
        streams.append(f"CREATE STREAM q{number} AS {select};")
    return compile_statements(
        SOURCE + "".join(streams), root="home", installer="home", next_counter=1, begin="earliest"
    )


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
