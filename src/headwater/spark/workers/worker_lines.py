"""Lines that Python workers make columns of, where that is cheaper than Spark's text reader.

What comes of a batch is the same: a worker takes what it is sure of, and gives every other line
back as it stands (``strict_columns``), for the expressions that parse all lines elsewhere
(``Parser``). So this is a matter of cost alone. Workers take a process for each core, and time to
begin; they get large batches of a local Spark, in plain delimited files, most of whose lines they
can take. Of that a sample is looked at first.

A worker may die, hang, or lack what it imports. Then the batch is read by the JVM after all, which
is said in the log, and workers have a pause. One that hangs is ended by Spark; where the job's own
time is over before that, it is the workers' fault as long as nobody knows better (``site_jobs``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from headwater.plan.sources.log_formats import DELIMITED, FIELDS_DIRECTIVE, all_options
from headwater.plan.sources.source import Source
from headwater.plan.sources.time_formats import formats_of
from headwater.reading.strict_columns import (
    EPOCH_US,
    ISO,
    LINE,
    TEXT,
    TYPES,
    Layout,
    Strict,
    columns_of,
)
from headwater.spark.cluster.cluster import is_cluster
from headwater.spark.jvm.session import core_count
from headwater.spark.lines.delimited import DelimitedFields
from headwater.spark.lines.fields import HEAD
from headwater.spark.lines.formats import fields_of
from headwater.spark.lines.lines import SITE, Linked, LinkedFile
from headwater.spark.lines.parse import UTF8, Parser
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.spark.workers.line_workers import Reading, Stretch, blocks_of, read_tasks
from headwater.spark.workers.map_in_arrow import map_in_arrow
from headwater.sql.read.time_of import converted_time

log = structlog.get_logger()

WORKER_LINES = "__worker_lines"
"""The view of the batch's session."""
WORKERS_BYTES_MIN = 32 << 20
"""Smaller batches are the JVM's: to plan and hand over a task for a worker takes longer."""
WORKERS_MAX = 8
"""At once for one source, each of which takes memory beside the heap; fewer on fewer cores."""
SAMPLE_BYTES = 64 << 10
"""Of the first and of the last file of a batch."""
GIVEN_BACK_MAX = 0.1
"""Of the lines of a sample: beyond, parsing them twice costs more than it saves."""
PAUSE_BATCHES = 10
"""After workers failed. A batch that is read twice costs twice, so those cost a tenth more."""
WORKER_IDLE_S_MAX = 60
"""In which a worker hands nothing over, though it is waited for: it hangs, and is ended. A block of
a megabyte takes milliseconds, and to start a worker a second or two."""
IDLE_SETTING = "spark.sql.execution.pyspark.udf.idleTimeoutSeconds"
KILL_SETTING = "spark.sql.execution.pyspark.udf.killOnIdleTimeout"
UTC = "UTC"
SPARK_TYPES = {
    "bigint": T.LongType(),
    "int": T.IntegerType(),
    "smallint": T.ShortType(),
    "tinyint": T.ByteType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "boolean": T.BooleanType(),
    TEXT: T.StringType(),
    ISO: T.TimestampType(),
    **dict.fromkeys(EPOCH_US, T.TimestampType()),
}
"""By kind, as ``TYPES`` has Arrow's."""


class LineWorkers:
    """For the batches of one source, one at a time."""

    def __init__(self) -> None:
        self._pause = 0
        """Batches for the JVM that are still to come."""

    def parser(
        self, session: SparkSession, parser: Parser, found: Linked, *, byte_count: int
    ) -> Parser | None:
        """For the view ``WORKER_LINES``, which is made; None: the JVM shall read this batch."""
        if byte_count < WORKERS_BYTES_MIN or is_cluster(session.sparkContext.master):
            return None
        if self._pause:
            self._pause -= 1
            return None
        tasks = min(core_count(session.sparkContext.master), WORKERS_MAX)
        reading = reading_of(parser, found, tasks=tasks)
        if reading is None:
            return None
        try:
            session.conf.set(IDLE_SETTING, str(WORKER_IDLE_S_MAX))
            session.conf.set(KILL_SETTING, "true")
            _frame(session, reading).createOrReplaceTempView(WORKER_LINES)
        except SPARK_ERRORS as error:
            self.failed(message_of(error))
            return None
        return msgspec.structs.replace(parser, by_workers=kinds_of(parser))

    def failed(self, why: str) -> None:
        self._pause = PAUSE_BATCHES
        log.warning("Python workers failed, the JVM reads the batch", why=why, pause=PAUSE_BATCHES)


def kinds_of(parser: Parser) -> tuple[tuple[str, str], ...]:
    """For each column of the files that is used: what a worker makes of its field."""
    used = [one for one in parser.source.fields if one.name in parser.columns]
    return tuple((one.name, _kind(parser.source, one.name, one.type)) for one in used)


def _kind(source: Source, name: str, type_: str) -> str:
    """A time that is another column is made of the text of that one."""
    options = all_options(source)
    if name == converted_time(source):
        return TEXT
    if type_ == "timestamp":
        first = formats_of(options.get("timestamp_format", ISO))[0]
        return first if first in TYPES and "year" not in options else TEXT
    return type_ if type_ in TYPES else TEXT


def reading_of(parser: Parser, found: Linked, *, tasks: int) -> Reading | None:
    """None: these lines need what workers can't do, or most of them do."""
    layouts = _layouts(parser)
    is_plain = all(one.is_plain for one in found.files)
    if layouts is None or not found.files or not is_plain:
        return None
    strict = strict_of(parser, separator=found.separator or "\n")
    try:
        if _given_back(found.files, strict, layouts) > GIVEN_BACK_MAX:
            return None
        dealt = _dealt(found.files, tasks)
    except OSError:
        return None  # Spark says why
    head = HEAD if _fields(parser).needs_head() else ""
    return Reading(strict, layouts, dealt, SITE, head)


def strict_of(parser: Parser, *, separator: str = "\n") -> Strict:
    options = all_options(parser.source)
    fields = _fields(parser)
    return Strict(
        fields.dialect.delimiter,
        tuple(kind for _, kind in kinds_of(parser)),
        null=fields.dialect.null,
        comment=options.get("comment", "").encode(),
        is_replaced=options.get("encoding", UTF8) != UTF8,
        is_utc=options.get("zone", UTC) == UTC,
        quote=b"" if parser.is_quote_free else fields.dialect.quote.encode(),
        escape=fields.dialect.escape.encode(),
        separator=separator.encode(),
    )


def _layouts(parser: Parser) -> tuple[Layout, ...] | None:
    """By the number of the header; None: lines are written in signs of several bytes, or below a
    header with which they can't be read."""
    if parser.source.format not in DELIMITED:
        return None
    fields = _fields(parser)
    signs = [fields.dialect.delimiter.encode(), fields.dialect.quote.encode()]
    if fields.faults or len(signs[0]) != 1 or len(signs[1]) > 1 or signs[0] in b"\r\n":
        return None
    at = [fields.names.index(name) for name, _ in kinds_of(parser)]
    headers = [one if not one.startswith(FIELDS_DIRECTIVE) else "" for one in fields.headers]
    return tuple(
        Layout(one.count, tuple(one.places[place] for place in at), header.encode())
        for one, header in zip(fields.layouts, headers or [""], strict=True)
    )


def _fields(parser: Parser) -> DelimitedFields:
    fields = fields_of(parser.source, parser.columns, headers=parser.headers)
    assert isinstance(fields, DelimitedFields), "it is asked of delimited lines"
    return fields


def _given_back(files: Sequence[LinkedFile], strict: Strict, layouts: Sequence[Layout]) -> float:
    """The share of lines that Spark would have to parse after all."""
    lines = given_back = 0
    for file in {files[0], files[-1]}:
        for block in _sample(file.path, strict):
            for batch in columns_of(block, strict, layouts[file.head]):
                lines += batch.num_rows
                given_back += batch.num_rows - batch.column(LINE).null_count
    return given_back / max(lines, 1)


def _sample(path: Path, strict: Strict) -> Iterator[bytes]:
    end = min(SAMPLE_BYTES, path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        yield from blocks_of(file, 0, end, separator=strict.separator)


def _dealt(files: Sequence[LinkedFile], tasks: int) -> tuple[tuple[Stretch, ...], ...]:
    """As many bytes to each task, in order: large files in several stretches."""
    sizes = [one.path.stat().st_size for one in files]
    share = -(-sum(sizes) // tasks) or 1
    found: list[list[Stretch]] = [[]]
    left = share
    for file, size in zip(files, sizes, strict=True):
        start = 0
        while start < size:
            end = min(size, start + left)
            found[-1].append(Stretch(str(file.path), start, end, file.site, file.head))
            left -= end - start
            start = end
            if not left:
                found.append([])
                left = share
    return tuple(tuple(one) for one in found if one)


def _frame(session: SparkSession, reading: Reading) -> DataFrame:
    tasks = len(reading.tasks)
    numbers = session.range(0, tasks, 1, tasks)
    return map_in_arrow(numbers, partial(read_tasks, reading), _schema(reading))


def _schema(reading: Reading) -> T.StructType:
    types = [T.StringType(), *(SPARK_TYPES[kind] for kind in reading.strict.kinds)]
    numbers = [T.IntegerType()] * (len(reading.names) - len(types))
    fields = zip(reading.names, [*types, *numbers], strict=True)
    return T.StructType([T.StructField(name, type_) for name, type_ in fields])
