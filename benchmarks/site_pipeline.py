"""The site pipeline against Structured Streaming as people write it, on one Spark, in one run.

``python -m benchmarks.site_pipeline [--quick]``. Both read the same complete files, as many in a
batch. By hand: a stream with Spark's own text source and ``split``, or with its csv source, and
``foreachBatch`` that groups by ``window()`` and collects; for several queries as many streams.
A third one by hand parses with pyarrow in Spark's Python workers, from the paths of the files, and
believes every line. Ours: the same queries through ``SiteHost``, as it is, and with all lines read
by the JVM. The first batches of a pass are not counted (start,
planning), and passes alternate, so that a busy machine is busy for both. Time is of the clock; the
CPU of the JVM and of Python is given beside it, since that a busy machine disturbs less.
"""

from __future__ import annotations

import contextlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.bench_site import BenchSite
from benchmarks.log_lines import SCHEMA, SOURCE, write_files
from headwater.plan.query import Query
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.site.site_host import SiteHost
from headwater.spark.workers import worker_lines
from headwater.spark.workers.map_in_arrow import map_in_arrow
from headwater.sql.compile import compile_statements

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
    ("domain, min(latency_ms) AS l", "", "domain"),
    ("status, sum(bytes) AS b", "", "status"),
    ("cache, avg(latency_ms) AS l", "", "cache"),
    ("domain, count(*) AS n", "status = 404", "domain"),
    ("status, stddev_pop(latency_ms) AS d", "", "status"),
)
"""Items, condition and keys of ten queries on windows of ten seconds."""
USED = (
    "ts domain bytes",
    "ts status latency_ms",
    "ts status cache",
    "ts domain latency_ms bytes",
    "ts",
    "ts domain latency_ms",
    "ts status bytes",
    "ts cache latency_ms",
    "ts domain status",
    "ts status latency_ms",
)
"""The columns of each."""


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
            for count in (1, 5) if QUICK else (1, 5, 10):
                compare(running, Path(scratch), data, paths, count)
            print(f"\nPython workers at the end, MB of their own: {worker_memory_mb(running)}")
        finally:
            running.stop()


def compare(
    running: RunningSpark, scratch: Path, data: Path, paths: list[Path], count: int
) -> None:
    """One line for each way, then the ratios."""
    session, meter = running.session, CpuMeter(running)
    ways: dict[str, Callable[[], Cost]] = {
        f"by hand, {way}": partial(by_hand, session, meter, scratch, data, count, way)
        for way in ("text", "csv", "pyarrow")
    }
    rivals = list(ways)
    ways["headwater"] = lambda: ours(session, meter, scratch, paths, count)
    ways["by the JVM"] = lambda: by_the_jvm(session, meter, scratch, paths, count)
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
        print(f"  {name:16s} {lines / wall[name]:12,.0f} {cpu[name] / lines * 1e6:8.2f}")
    for name in rivals:
        print(
            f"  headwater / {name}: {wall[name] / wall['headwater']:.2f} x in time, "
            f"{cpu[name] / cpu['headwater']:.2f} x in CPU"
        )


def worker_memory_mb(running: RunningSpark) -> list[int]:
    """Of Spark's daemon and of each worker, pages that they share counted by their shares."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            rollup = status.with_name("smaps_rollup").read_text()
            if int(fields[3]) == running.jvm.pid and "pyspark" in _command(status.parent):
                found.append(int(rollup.partition("Pss:")[2].split()[0]) >> 10)
    return sorted(found)


def _command(process: Path) -> str:
    return (process / "cmdline").read_text().replace("\0", " ")


class CpuMeter:
    """CPU seconds of the JVM, of the Python workers that it started, and of this process."""

    def __init__(self, running: RunningSpark) -> None:
        self._session = running.jvm.pid
        self._seen: dict[int, int] = {}
        """By process: what it had used when it was last seen. Workers come and go."""

    def read(self) -> float:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._session:
                pid = int(stat.parent.name)
                used = fields[11:15] if pid == self._session else fields[11:13]
                self._seen[pid] = sum(map(int, used))
        return sum(self._seen.values()) / 100 + time.process_time()


def steady(marks: list[tuple[float, float]]) -> Cost:
    """Clock and CPU of one batch, from the marks at the end of each, without the first ones."""
    (first_s, first_cpu), (last_s, last_cpu) = marks[BATCHES_SKIPPED - 1], marks[-1]
    batches = len(marks) - BATCHES_SKIPPED
    return Cost((last_s - first_s) / batches, (last_cpu - first_cpu) / batches)


def by_hand(
    session: SparkSession, meter: CpuMeter, scratch: Path, data: Path, count: int, way: str
) -> Cost:
    """As many streams as queries, at the same time; a batch is over when all have ended it."""
    marks: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    with tempfile.TemporaryDirectory(dir=scratch) as checkpoints:
        streams = []
        for number in range(count):

            def collect(frame: DataFrame, _: int, number: int = number) -> None:
                typed = by_pyarrow(frame, number) if way == "pyarrow" else frame
                grouped(typed, number).toArrow()
                marks[number].append((time.perf_counter(), meter.read()))

            streams.append(
                read(session, data, way)
                .writeStream.foreachBatch(collect)
                .option("checkpointLocation", f"{checkpoints}/{number}")
                .trigger(availableNow=True)
                .start()
            )
        for stream in streams:
            stream.awaitTermination()
    return steady([max(ends) for ends in zip(*marks, strict=True)])


def read(session: SparkSession, data: Path, way: str) -> DataFrame:
    reader = session.readStream.option("maxFilesPerTrigger", FILES_PER_BATCH)
    if way == "csv":
        return reader.schema(SCHEMA).csv(str(data))
    if way == "pyarrow":
        return reader.format("binaryFile").schema(FILE_SCHEMA).load(str(data)).select("path")
    fields = F.split("value", ",")
    columns = [column.split() for column in SCHEMA.split(", ")]
    return reader.text(str(data)).select(
        *(F.get(fields, F.lit(n)).try_cast(t).alias(c) for n, (c, t) in enumerate(columns))
    )


FILE_SCHEMA = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
ARROW_TYPES = {
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
}


def by_pyarrow(paths: DataFrame, number: int) -> DataFrame:
    """The columns that the query uses, as Spark would do by itself in the other two."""
    columns = dict(column.split() for column in SCHEMA.split(", "))
    used = [name for name in columns if name in USED[number].split()]
    arrow = pa.schema([(name, ARROW_TYPES[columns[name]]) for name in used])

    def parsed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reading = pa.csv.ReadOptions(column_names=list(columns), use_threads=False)
        converting = pa.csv.ConvertOptions(
            column_types=arrow, include_columns=used, strings_can_be_null=True
        )
        for batch in batches:
            for path in batch.column(0).to_pylist():
                yield from pa.csv.open_csv(
                    path.removeprefix("file:"), read_options=reading, convert_options=converting
                )

    return map_in_arrow(paths, parsed, from_arrow_schema(arrow))


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

    site = BenchSite(
        queries[0].program.source,
        paths,
        files_per_batch=FILES_PER_BATCH,
        committed=lambda: marks.append((time.perf_counter(), meter.read())),
    )
    host = SiteHost(session, scratch / "host")
    try:
        for query in queries:
            host.install(query)
        host.serve("bench", site.inbox)
        assert site.inbox.is_read_within(900), "the host did not read everything"
    finally:
        host.stop()
    assert not site.failures, site.failures[0]
    assert site.records == len(paths) * LINES_EACH
    return steady(marks)


def by_the_jvm(*given: Any) -> Cost:
    bytes_min = worker_lines.WORKERS_BYTES_MIN
    worker_lines.WORKERS_BYTES_MIN = 1 << 60
    try:
        return ours(*given)
    finally:
        worker_lines.WORKERS_BYTES_MIN = bytes_min


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
