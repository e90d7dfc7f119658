"""Reading each format, against Spark's own reader of it.

``python -m benchmarks.formats [--quick] [NAME…]``. The same records as csv with a header, csv whose
values hold line breaks, JSON, lines for a pattern, and Parquet. Ours is one batch of all files
through ``BatchRunner``, as a site runs it, with one query. Spark's is a batch query over the same
files: its reader with the columns' types (for a pattern: its text reader, and ``regexp_extract``
for each column that is used), grouped by ``window()`` and collected. Passes alternate, the first
ones are not counted, and what is told are medians. Where Python workers read a format, the same by
the JVM alone stands beside it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.log_lines import LINES_PER_S, SCHEMA, lines
from benchmarks.site_pipeline import CpuMeter
from headwater.plan.query import Query
from headwater.reading.form import form_of
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.lines.readable import whole_files
from headwater.spark.site.batch import BatchRunner
from headwater.spark.site.inbox import SiteBatch
from headwater.spark.workers import worker_lines
from headwater.sql.compile import compile_statements

QUICK = "--quick" in sys.argv
ONLY = [one for one in sys.argv[1:] if not one.startswith("-")]
"""Parts of the names of formats; none: all."""
FILES, LINES_EACH = 8, 50_000
PASSES_SKIPPED, PASSES = (3, 4) if QUICK else (5, 7)
NAMES = [column.split()[0] for column in SCHEMA.split(", ")]
PATTERN = r'(\S+) (\S+) "GET (\S+)" (\d+) (\d+) ([\d.]+) (\S+) (\S+)'
CSV = ["", *[","] * (len(NAMES) - 1), ""]


class Format(NamedTuple):
    options: str
    """Of the source, beside its path and time."""
    suffix: str
    write: Callable[[pa.Table, Path], None]
    read: Callable[[SparkSession, str], DataFrame]
    goal: float
    """Records a second, as a share of Spark's."""


def write_csv(table: pa.Table, path: Path) -> None:
    _write_joined(table, path, CSV, ",".join)


def write_broken_csv(table: pa.Table, path: Path) -> None:
    """Each third URL has a line break in it, and quotes around it."""
    number = pa.array(range(table.num_rows))
    is_broken = pc.equal(pc.subtract(number, pc.multiply(pc.divide(number, 3), 3)), 0)
    url = table.column("url")
    quoted = pc.binary_join_element_wise('"', url, "\n", url, '"', "")
    broken = pc.if_else(is_broken, quoted, url)
    at = table.schema.get_field_index("url")
    _write_joined(table.set_column(at, "url", broken), path, CSV, ",".join)


def write_json(table: pa.Table, path: Path) -> None:
    is_number = {"status", "bytes", "latency_ms"}
    between = ['{"ts":"']
    for name, after in zip(NAMES, [*NAMES[1:], None], strict=True):
        close = "" if name in is_number else '"'
        opening = "" if after is None else f',"{after}":' + ("" if after in is_number else '"')
        between.append(close + (opening or "}"))
    _write_joined(table, path, between, None)


def write_pattern(table: pa.Table, path: Path) -> None:
    _write_joined(table, path, ["", " ", ' "GET ', '" ', " ", " ", " ", " ", ""], None)


def _write_joined(
    table: pa.Table, path: Path, between: list[str], header: Callable[[list[str]], str] | None
) -> None:
    """The columns with these texts before, between and behind them."""
    parts: list[object] = [between[0]]
    for column, text in zip(table.columns, between[1:], strict=True):
        parts += [column, text]
    made = pc.binary_join_element_wise(*parts, "").combine_chunks()
    head = b"" if header is None else header(NAMES).encode() + b"\n"
    path.write_bytes(head + b"\n".join(one.as_buffer().to_pybytes() for one in made) + b"\n")


def write_parquet(table: pa.Table, path: Path) -> None:
    types = {"ts": pa.timestamp("us", tz="UTC"), "status": pa.int32(), "bytes": pa.int64()}
    types["latency_ms"] = pa.float64()
    columns = [table.column(name).cast(types.get(name, pa.string())) for name in NAMES]
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), path)


def read_pattern(session: SparkSession, path: str) -> DataFrame:
    types = [column.split() for column in SCHEMA.split(", ")]
    return session.read.text(path).select(
        *(
            F.regexp_extract("value", PATTERN, number).try_cast(type_).alias(name)
            for number, (name, type_) in enumerate(types, start=1)
        )
    )


FORMATS = {
    "csv by name": Format(
        "format = 'csv', header = 'true'",
        "csv",
        write_csv,
        lambda session, path: session.read.schema(SCHEMA).csv(path, header=True),
        0.95,
    ),
    "csv over several lines": Format(
        "format = 'csv', header = 'true', multiline = 'true'",
        "csv",
        write_broken_csv,
        lambda session, path: session.read.schema(SCHEMA).csv(path, header=True, multiLine=True),
        0.8,
    ),
    "json": Format(
        "format = 'json'",
        "json",
        write_json,
        lambda session, path: session.read.schema(SCHEMA).json(path),
        0.9,
    ),
    "regex": Format(
        f"format = 'regex', pattern = r'{PATTERN}'", "log", write_pattern, read_pattern, 0.9
    ),
    "parquet": Format(
        "format = 'parquet'",
        "parquet",
        write_parquet,
        lambda session, path: session.read.parquet(path),
        0.95,
    ),
}


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float


def main() -> None:
    print(f"batches of {FILES} files, {FILES * LINES_EACH} records; records/s, CPU µs a record")
    wanted = [name for name in FORMATS if not ONLY or any(one in name for one in ONLY)]
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as text:
        running = start_session(
            SparkConfig(master="local[*]", memory="1g", directory=text, log=f"{text}/jvm.log")
        )
        try:
            tables = [table_of(number) for number in range(FILES)]
            for name in wanted:
                compare(running, Path(text), name, tables)
        finally:
            running.stop()


def table_of(number: int) -> pa.Table:
    """All columns as texts."""
    start_s = 1_777_636_800.0 + number * LINES_EACH / LINES_PER_S
    made = lines(LINES_EACH, seed=number, start_s=start_s)
    data = b"\n".join(value.as_buffer().to_pybytes() for value in made)
    return pa.csv.read_csv(
        pa.BufferReader(data),
        pa.csv.ReadOptions(column_names=NAMES),
        convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(NAMES, pa.string())),
    ).combine_chunks()


def compare(running: RunningSpark, scratch: Path, name: str, tables: list[pa.Table]) -> None:
    format_ = FORMATS[name]
    directory = scratch / name.replace(" ", "_")
    directory.mkdir()
    paths = [directory / f"{number}.{format_.suffix}" for number in range(len(tables))]
    for table, path in zip(tables, paths, strict=True):
        format_.write(table, path)
    query, session, meter = compiled(format_), running.session, CpuMeter(running)
    runner = BatchRunner(session, scratch / "batch")
    ways: dict[str, Callable[[], int]] = {
        "spark": lambda: by_spark(format_.read(session, str(directory))),
        "headwater": lambda: ours(runner, query, paths),
    }
    if name.startswith(("csv", "json")):
        ways["by the JVM"] = lambda: by_the_jvm(runner, query, paths)
    costs: dict[str, list[Cost]] = {way: [] for way in ways}
    rows: dict[str, set[int]] = {way: set() for way in ways}
    for number in range(PASSES_SKIPPED + PASSES):
        for way, run in ways.items():
            began_s, before = time.perf_counter(), meter.read()
            rows[way].add(run())
            cost = Cost(time.perf_counter() - began_s, meter.read() - before)
            if number >= PASSES_SKIPPED:
                costs[way].append(cost)
    runner.close()
    assert rows["spark"] == rows["headwater"], rows
    tell(name, format_.goal, costs)


def tell(name: str, goal: float, costs: dict[str, list[Cost]]) -> None:
    count = FILES * LINES_EACH
    wall = {way: statistics.median(one.wall_s for one in of) for way, of in costs.items()}
    cpu = {way: statistics.median(one.cpu_s for one in of) for way, of in costs.items()}
    print(f"\n{name}")
    for way in costs:
        print(f"  {way:12s} {count / wall[way]:12,.0f} {cpu[way] / count * 1e6:8.2f}")
    ratio = wall["spark"] / wall["headwater"]
    verdict = "" if ratio >= goal else f", MISSED (goal {goal})"
    in_cpu = cpu["spark"] / cpu["headwater"]
    print(f"  headwater / spark: {ratio:.2f} x in records/s, {in_cpu:.2f} x in CPU{verdict}")


def by_spark(frame: DataFrame) -> int:
    grouped = frame.groupBy(F.window("ts", "10 seconds"), "domain")
    return int(grouped.agg(F.count("*").alias("n"), F.sum("bytes").alias("b")).toArrow().num_rows)


def ours(runner: BatchRunner, query: Query, paths: list[Path]) -> int:
    chunks = tuple(whole_files(paths, form_of(query.program.source)))
    (outcome,) = runner.run([SiteBatch("bench", chunks, (query,))])
    (found,) = outcome.results
    assert found.failed is None, found.failed
    assert (outcome.records, outcome.unparsed) == (FILES * LINES_EACH, 0), outcome.samples
    rows = found.table if found.pieces is None else found.pieces  # the first ones are in files
    assert rows is not None
    runner.clear()
    return int(rows.num_rows)


def by_the_jvm(runner: BatchRunner, query: Query, paths: list[Path]) -> int:
    bytes_min = worker_lines.WORKERS_BYTES_MIN
    worker_lines.WORKERS_BYTES_MIN = 1 << 60
    try:
        return ours(runner, query, paths)
    finally:
        worker_lines.WORKERS_BYTES_MIN = bytes_min


def compiled(format_: Format) -> Query:
    source = f"CREATE SOURCE access ({SCHEMA}) WITH ({format_.options}, path = '*', time = 'ts');"
    select = (
        "SELECT domain, count(*) AS n, sum(bytes) AS b FROM access "
        "GROUP BY window(ts, '10 seconds'), domain"
    )
    (query,) = compile_statements(
        f"{source} CREATE STREAM q AS {select};",
        root="home",
        installer="home",
        next_counter=1,
        begin="earliest",
    )
    return query


if __name__ == "__main__":
    main()
