"""From which size of a batch workers are cheaper than the JVM, and what it saves to plan once.

``python -m benchmarks.worker_batches [--quick]``. Batches of csv of several sizes, through
``BatchRunner`` with one query and with five. Three ways take turns on one Spark: by the JVM alone,
by workers with the view and its statements made anew for each batch, and by workers with those of
the batch before. The first rounds are not counted; what is told are medians. CPU is of the JVM, of
the workers and of this process, which a busy machine disturbs less than the clock.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.log_lines import SOURCE, write_files
from benchmarks.site_pipeline import SELECTS, CpuMeter
from headwater.plan.query import Query
from headwater.reading.form import form_of
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.spark.lines.readable import whole_files
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.workers import worker_lines
from headwater.sql.compile import compile_statements

QUICK = "--quick" in sys.argv
SIZES_MIB = (4, 8, 16, 32)
ROUNDS_SKIPPED, ROUNDS = (2, 5) if QUICK else (4, 9)
LINE_BYTES = 96
"""About what a line has."""
WAYS = ("the JVM", "workers, planned anew", "workers")


def queries_of(count: int) -> tuple[Query, ...]:
    text = SOURCE
    for number, (items, condition, keys) in enumerate(SELECTS[:count]):
        where = f" WHERE {condition}" if condition else ""
        grouped = f", {keys}" if keys else ""
        text += f"CREATE STREAM q{number} AS SELECT {items} FROM access{where} "
        text += f"GROUP BY window(ts, '10 seconds'){grouped};"
    made = compile_statements(text, root="r", installer="r", next_counter=1, begin="earliest")
    return tuple(made)


@contextmanager
def by(way: str, runner: BatchRunner) -> Iterator[None]:
    least = 1 << 60 if way == WAYS[0] else 0
    if way == WAYS[1]:
        runner._workers._kind = None
    with patch.object(worker_lines, "WORKERS_BYTES_MIN", least):
        yield


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        directory = Path(scratch)
        running = start_session(
            SparkConfig(master="local[*]", memory="1g", directory=scratch, log=f"{scratch}/jvm.log")
        )
        meter = CpuMeter(running)
        print(f"{'queries':>7} {'MiB':>5}  " + "  ".join(f"{way:>22}" for way in WAYS))
        try:
            for count in (1, 5):
                queries = queries_of(count)
                runner = BatchRunner(running.session, directory / f"batch{count}")
                for size in SIZES_MIB:
                    line_count = (size << 20) // LINE_BYTES // 4
                    folder = directory / f"{count}-{size}"
                    paths = write_files(folder, files=4, lines_each=line_count)
                    files = whole_files(paths, form_of(queries[0].program.source))
                    measure(runner, meter, SiteBatch("site", tuple(files), queries), size)
                runner.close()
        finally:
            running.stop()


def measure(runner: BatchRunner, meter: CpuMeter, batch: SiteBatch, size: int) -> None:
    """Prints, for each way, CPU and time of a batch in milliseconds."""
    costs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for number in range(ROUNDS_SKIPPED + ROUNDS):
        for way in WAYS:
            cpu_s, start_s = meter.read(), time.perf_counter()
            with by(way, runner):
                runner.run([batch])
            took_s = time.perf_counter() - start_s
            runner.clear()
            if number >= ROUNDS_SKIPPED:
                costs[way].append((meter.read() - cpu_s, took_s))
    told = []
    for way in WAYS:
        cpu, wall = (statistics.median(one) * 1e3 for one in zip(*costs[way], strict=True))
        told.append(f"{cpu:8,.0f} CPU {wall:6,.0f} ms")
    print(f"{len(batch.queries):>7} {size:>5}  " + "  ".join(told), flush=True)


if __name__ == "__main__":
    main()
