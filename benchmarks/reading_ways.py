"""Three ways for lines to get into a batch, side by side.

``python -m benchmarks.reading_ways``. All are streams that run the same parser and query in
``foreachBatch``. In the first the stream carries the lines: a Python data source reads the chunks
of a cut and yields Arrow batches, without touching single lines. In the others it carries only
the news, and ``foreachBatch`` reads the chunks with Spark's own text reader; the news come from a
Python data source, or from a list in the JVM, which is what the product does (``offers``).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from benchmarks.log_lines import write_files
from benchmarks.site_pipeline import CpuMeter, compiled
from headwater.plan.query import Query
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.spark.lines.parse import Parser
from headwater.spark.site.offers import OfferStream
from headwater.spark.site.site_part import over_records
from headwater.spark.site.site_sql import with_high_time

FILES_PER_CUT = 8
LINES_EACH = 50_000
CUTS = 6
CUTS_SKIPPED = 2
ROUNDS = 2
"""The first one warms up."""


WAYS = (
    "lines through a Python source",
    "news through a Python source",
    "news from a list in the JVM",
)


class LineSource(DataSource):  # type: ignore[misc]
    """Offsets are numbers of cuts; ``is_news`` says whether lines or only the paths are carried."""

    @classmethod
    def name(cls) -> str:
        return "bench_lines"

    def schema(self) -> str:
        return "value STRING"

    def streamReader(self, schema: object) -> LineReader:
        return LineReader(Path(self.options["path"]), self.options["is_news"] == "true")


class LineReader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, directory: Path, is_news: bool) -> None:
        self._paths = sorted(str(path) for path in directory.iterdir())
        self._is_news = is_news

    def initialOffset(self) -> dict[str, int]:
        return {"cut": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        return {"cut": min(start["cut"] + 1, len(self._paths) // FILES_PER_CUT)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        paths = self._paths[start["cut"] * FILES_PER_CUT : end["cut"] * FILES_PER_CUT]
        halves = (paths[::2], paths[1::2]) if not self._is_news else (paths,)
        return [InputPartition(half) for half in halves]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for path in partition.value:
            if self._is_news:
                yield pa.record_batch({"value": [path]})
            else:
                yield from batches_of(Path(path).read_bytes())


def batches_of(data: bytes) -> Iterator[pa.RecordBatch]:
    """Lines as Arrow sees them: one buffer of text, and where each line begins.

    An array of strings has no gaps, so the line ends stay at the ends of the values, and the
    parser meets them there; as a measurement that flatters this way.
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")).astype(np.int32) + 1
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    yield pa.record_batch({"value": pa.StringArray.from_buffers(len(ends), buffers[1], buffers[2])})


def main() -> None:
    (query,) = compiled(1)
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as text:
        scratch = Path(text)
        write_files(scratch / "data", files=FILES_PER_CUT * CUTS, lines_each=LINES_EACH)
        running = start_session(SparkConfig(memory="1g", directory=text, log=f"{text}/jvm.log"))
        try:
            running.session.dataSource.register(LineSource)
            meter = CpuMeter(running)
            for number in range(ROUNDS):
                for way in WAYS:
                    line = run(running.session, meter, scratch / f"round-{number}", query, way)
                    if number == ROUNDS - 1:
                        print(line, flush=True)
        finally:
            running.stop()


def run(session: SparkSession, meter: CpuMeter, scratch: Path, query: Query, way: str) -> str:
    needs = (frozenset(query.program.columns_used),)
    parser = Parser(query.program.source, needs, is_quote_free=True)
    records = parser.records_sql(f"({parser.typed_sql('__lines')})", 0, is_counted=True)
    data = scratch.parent / "data"
    paths = sorted(str(path) for path in data.iterdir())
    offers = OfferStream(session)
    marks: list[tuple[float, float]] = []
    began_s = time.perf_counter()

    def collect(frame: DataFrame, number: int) -> None:
        own = frame.sparkSession
        if way == WAYS[1]:
            frame = own.read.text([row["value"] for row in frame.collect()])
        elif way == WAYS[2]:
            frame = own.read.text(paths[number * FILES_PER_CUT : (number + 1) * FILES_PER_CUT])
        frame.createOrReplaceTempView("__lines")
        own.sql(over_records(records, with_high_time(query))).toArrow()
        marks.append((time.perf_counter(), meter.read()))
        offers.offer()

    stream = (
        (offers.frame() if way == WAYS[2] else python_source(session, data, way))
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(scratch / f"checkpoint-{WAYS.index(way)}"))
        .start()
    )
    offers.offer()
    while len(marks) < CUTS:
        fault = stream.exception()
        assert fault is None, fault
        time.sleep(0.1)
    stream.stop()
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(marks)][CUTS_SKIPPED:]
    wall_s, cpu_s = (statistics.median(step[n] for step in steps) for n in (0, 1))
    count = FILES_PER_CUT * LINES_EACH
    return (
        f"  {way:34s} {count / wall_s:10,.0f} lines/s {cpu_s / count * 1e6:6.2f} µs CPU a line, "
        f"first batch after {marks[0][0] - began_s:.1f} s"
    )


def python_source(session: SparkSession, data: Path, way: str) -> DataFrame:
    reader = session.readStream.format("bench_lines")
    return reader.option("is_news", str(way == WAYS[1]).lower()).load(str(data))


if __name__ == "__main__":
    main()
