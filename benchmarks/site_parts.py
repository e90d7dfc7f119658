"""The site part of a query against the unsplit query, on one Spark over the same typed records.

``python -m benchmarks.site_parts [--quick]``. Records lie typed in Spark's memory, so parsing is in
neither. The unsplit query is the user's own text; the site part is the text that a site runs for
it. Both are collected as Arrow. Passes alternate and the first is not counted. A ratio above one:
the site part is the faster one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.log_lines import SCHEMA, SOURCE, write_files
from benchmarks.site_pipeline import Cost, CpuMeter
from headwater.plan.query import Query
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.site.site_part import over_records
from headwater.spark.site.site_sql import with_high_time
from headwater.sql.compile import compile_statements

QUICK = "--quick" in sys.argv
FILES = 4 if QUICK else 12
LINES_EACH = 50_000
PASSES = 4 if QUICK else 8
TYPED = "typed"

FAMILIES = {
    "count, sum, avg": "count(*) AS n, sum(bytes) AS b, avg(latency_ms) AS l",
    "min, max, count_if": "min(bytes) AS a, max(latency_ms) AS b, count_if(status >= 400) AS c",
    "moments": "stddev_samp(latency_ms) AS s, corr(bytes, latency_ms) AS c",
    "max_by, any_value": "max_by(url, bytes) AS u, any_value(cache) AS c",
    "approx_count_distinct": "approx_count_distinct(client) AS c",
    "percentile_approx": "percentile_approx(latency_ms, 0.99) AS p",
    "count(DISTINCT)": "count(DISTINCT client) AS c",
    "two DISTINCTs": "count(DISTINCT client) AS c, count(DISTINCT url) AS u",
    "collect_set": "collect_set(cache) AS s",
}
"""By what is measured: the items of a query by domain in windows of ten seconds."""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        write_files(Path(scratch) / "data", files=FILES, lines_each=LINES_EACH)
        running = start_session(
            SparkConfig(master="local[*]", memory="2g", directory=scratch, log=f"{scratch}/jvm.log")
        )
        try:
            compare_all(running, Path(scratch) / "data")
        finally:
            running.stop()


def compare_all(running: RunningSpark, data: Path) -> None:
    typed = running.session.read.schema(SCHEMA).csv(str(data)).cache()
    typed.createOrReplaceTempView(TYPED)
    print(f"{typed.count():,} records, medians of {PASSES - 1}")
    print(f"{'':24}{'rows sent':>10}{'unsplit µs':>12}{'site µs':>9}{'in time':>9}{'in CPU':>8}")
    for name, items in FAMILIES.items():
        compare(running, name, items, records=FILES * LINES_EACH)


def compare(running: RunningSpark, name: str, items: str, *, records: int) -> None:
    session, meter = running.session, CpuMeter(running)
    groups = "GROUP BY window(ts, '10 seconds'), domain"
    unsplit = f"SELECT window, domain, {items} FROM {TYPED} {groups}"
    site = over_records(f"SELECT * FROM {TYPED}", with_high_time(compiled(items, groups)))
    ways = (partial(session.sql, unsplit), partial(session.sql, site))
    costs: list[list[Cost]] = [[], []]
    rows = 0
    for number in range(PASSES):
        for way, of in zip(ways, costs, strict=True):
            cost, rows = collected(way, meter)
            if number:
                of.append(cost)
    wall = [statistics.median(one.wall_s for one in of) for of in costs]
    cpu = [statistics.median(one.cpu_s for one in of) for of in costs]
    print(
        f"{name:24}{rows:>10,}{cpu[0] / records * 1e6:>12.2f}{cpu[1] / records * 1e6:>9.2f}"
        f"{wall[0] / wall[1]:>9.2f}{cpu[0] / cpu[1]:>8.2f}",
        flush=True,
    )


def collected(way: Callable[[], DataFrame], meter: CpuMeter) -> tuple[Cost, int]:
    began_s, began_cpu_s = time.perf_counter(), meter.read()
    rows = way().toArrow().num_rows
    return Cost(time.perf_counter() - began_s, meter.read() - began_cpu_s), rows


def compiled(items: str, groups: str) -> Query:
    (query,) = compile_statements(
        f"{SOURCE} CREATE STREAM q AS SELECT domain, {items} FROM access {groups};",
        root="home",
        installer="home",
        next_counter=1,
        begin="earliest",
    )
    return query


if __name__ == "__main__":
    main()
