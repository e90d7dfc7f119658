"""Lines that Python workers make columns of, where that is cheaper than Spark's text reader.

What comes of a batch is the same: a worker takes what it is sure of, and gives every other line
back as it stands (``strict_columns``, ``strict_json``), for the expressions that parse all lines
elsewhere (``Parser``). So this is a matter of cost alone. Workers take a process for each core, and
time to begin; they get large batches of a local Spark, most of whose lines they can take
(``readings``).

What a worker is told to do is in Spark's plan, and batches differ in their files alone. So these
stand in a file beside the lines, where a worker looks for its task; the view, and the statements
that are analysed over it, are those of the batch before (``standing_lines``).

A worker may die, hang, or lack what it imports. Then the batch is read by the JVM after all, which
is said in the log, and workers have a pause. One that hangs is ended by Spark; where the job's own
time is over before that, it is the workers' fault as long as nobody knows better (``site_jobs``).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from headwater.reading.strict.strict_kinds import EPOCH_US, ISO, TEXT
from headwater.spark.cluster.cluster import is_cluster
from headwater.spark.jvm.session import core_count
from headwater.spark.lines.lines import Linked
from headwater.spark.lines.parse import Parser
from headwater.spark.site.standing_lines import StandingStatements
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.spark.workers.line_workers import Reading, in_a_file, read_tasks
from headwater.spark.workers.made_fields import Made
from headwater.spark.workers.map_in_arrow import map_in_arrow
from headwater.spark.workers.readings import kinds_of, reading_of

log = structlog.get_logger()

WORKER_LINES = "__worker_lines"
"""The view of the batch's session."""
TASKS = "_tasks"
"""In the directory of the batch: Spark's readers pass over what is called so."""
WORKERS_BYTES_MIN = 16 << 20
"""Smaller batches are the JVM's. Of 8 MiB both took the same CPU, for one query and for five, and
workers take memory; of 16 MiB they took a sixth less, of 32 MiB a quarter
(``benchmarks/worker_batches.py``)."""
WORKERS_MAX = 8
"""At once for one source, each of which takes memory beside the heap; fewer on fewer cores."""
PAUSE_BATCHES = 10
"""After workers failed. A batch that is read twice costs twice, so those cost a tenth more."""
WORKER_IDLE_S_MAX = 60
"""In which a worker hands nothing over, though it is waited for: it hangs, and is ended. A block of
a megabyte takes milliseconds, and to start a worker a second or two."""
IDLE_SETTING = "spark.sql.execution.pyspark.udf.idleTimeoutSeconds"
KILL_SETTING = "spark.sql.execution.pyspark.udf.killOnIdleTimeout"
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
    """For the batches of one source, one at a time: an ``Analyser`` over the view that it makes."""

    def __init__(self) -> None:
        self._pause = 0
        """Batches for the JVM that are still to come."""
        self._kind: tuple[object, ...] | None = None
        """What the view depends on; None: there is none that can be used."""
        self._statements: StandingStatements | None = None

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
            self._make_view(session, in_a_file(reading, str(_tasks(found)), count=tasks))
        except (*SPARK_ERRORS, OSError) as error:
            self.failed(message_of(error))
            return None
        return msgspec.structs.replace(parser, made=Made(WORKER_LINES, kinds_of(parser)))

    def _make_view(self, session: SparkSession, reading: Reading) -> None:
        kind = (session, reading)
        if kind == self._kind:
            return
        self._kind, self._statements = None, StandingStatements(session)
        session.conf.set(IDLE_SETTING, str(WORKER_IDLE_S_MAX))
        session.conf.set(KILL_SETTING, "true")
        frame_of(session, reading).createOrReplaceTempView(WORKER_LINES)
        self._kind = kind

    def sql(self, sqlQuery: str) -> DataFrame:
        """A statement over the view, and over nothing else that changes. Raises
        ``SPARK_ERRORS``."""
        assert self._statements is not None, "a view has been made"
        return self._statements.sql(sqlQuery, is_kept=True)

    def failed(self, why: str) -> None:
        self._kind = None
        self._pause = PAUSE_BATCHES
        log.warning("Python workers failed, the JVM reads the batch", why=why, pause=PAUSE_BATCHES)


def _tasks(found: Linked) -> Path:
    return found.directory / TASKS


def frame_of(session: SparkSession, reading: Reading) -> DataFrame:
    """Rows or lines, one of both in each, with the numbers of their sites."""
    tasks = len(reading.tasks)
    numbers = session.range(0, tasks, 1, tasks)
    return map_in_arrow(numbers, partial(read_tasks, reading), _schema(reading))


def _schema(reading: Reading) -> T.StructType:
    types = [T.StringType(), *(SPARK_TYPES[kind] for kind in reading.strict.kinds)]
    numbers = [T.IntegerType()] * (len(reading.names) - len(types))
    fields = zip(reading.names, [*types, *numbers], strict=True)
    return T.StructType([T.StructField(name, type_) for name, type_ in fields])
