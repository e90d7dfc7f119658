"""The root part of a query on Spark: merged groups of windows in, finished answers out.

All windows that are due for a query are finished in one job, since a job costs more than the few
thousand rows in it. Each group of a window is one row, with the window in a column; merging is the
algebra's, and Spark computes what is shown of a group, what HAVING keeps, order and limit.

Few rows go through the driver, in and out. Many are read from files and written to files by Spark
itself (``handover``), so that no number of groups fills the driver's heap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.algebra.rows.types import WINDOW_COLUMN, group_schema
from headwater.errors import GroupFailed, HeadwaterError, SparkFailed
from headwater.plan.query import Query
from headwater.spark.jvm.lease import Spark, spark_of
from headwater.spark.jvm.suspicion import NoSuspicion, Suspicion
from headwater.spark.root.bad_groups import Verdict
from headwater.spark.root.root_job import JOB_S_MAX, root_job
from headwater.spark.root.root_sessions import RootSessions
from headwater.spark.root.window_files import END, START, WindowFiles, with_window
from headwater.spark.root.window_rows import TIMESTAMP, WindowRows, by_window
from headwater.spark.rows.handover import HandoverPlace
from headwater.spark.rows.row_files import arrow_schema, files_in, place, write_rows
from headwater.spark.spark_message import SPARK_ERRORS, is_of_a_value, message_of
from headwater.sql.read.sql_text import parse
from headwater.sql.write.judge_groups import GROUP_COLUMN, SETTINGS, NotJudged, write_verdict_sql

T = TypeVar("T")
POOL = "root"
"""Of Spark's scheduler: answers are short and awaited, so they share fairly with long batches."""
ONE_TASK_ROWS = 200_000
"""Up to here one task orders everything, without a shuffle, in half the time."""
ONE_TASK_FILE_ROWS = 500_000
"""The same for rows in files, where reading and writing are part of it."""
SUSPECT_S_MAX = 300.0
"""For one job of a query that may have ended a JVM: it has the JVM for itself meanwhile."""
VIEW = "panes"
"""What the root part of every query reads."""


class RootSpark:
    """Safe to use from several threads: each job has a session to itself on one Spark."""

    def __init__(
        self,
        spark: Spark | SparkSession,
        *,
        handover: HandoverPlace | None = None,
        job_s_max: float = JOB_S_MAX,
        suspicion: Suspicion | None = None,
        suspect_s_max: float = SUSPECT_S_MAX,
    ) -> None:
        """Without a place for files there are no large answers, as in a rehearsal. Whom
        ``suspicion`` names has at most ``suspect_s_max`` for a job, since all others wait."""
        self._spark = spark_of(spark)
        self._handover = handover
        self._sessions = RootSessions()
        self._job_s_max = job_s_max
        self._suspicion = suspicion or NoSuspicion()
        self._suspect_s_max = min(job_s_max, suspect_s_max)

    @property
    def handover(self) -> HandoverPlace:
        assert self._handover is not None, "whoever answers from files names a place for them"
        return self._handover

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        """The answer's rows for each window that has any, in the query's order. Of each window its
        groups are given, each once.

        Raises ``GroupFailed`` where Spark refuses a value, else ``SparkFailed``: also when it takes
        longer than ``job_s_max``, and when there is no Spark now.
        """
        groups = _groups_table(query, windows)
        answer = self._run(query, lambda session: _ran(session, groups, query.program.root_sql))
        return split_by_window(query, answer)

    def finish_files(self, query: Query, groups: WindowFiles, into: Path) -> dict[int, WindowRows]:
        """The same for rows in files, with the answers in files below ``into``, which is made.

        Raises as ``finish`` does.
        """

        def run(session: SparkSession) -> dict[int, WindowRows]:
            rows = groups.frame(session)
            _show_panes(rows.coalesce(1) if groups.rows <= ONE_TASK_FILE_ROWS else rows)
            answer = session.sql(query.program.root_sql)
            schema = arrow_schema(answer)
            is_ordered = _is_ordered(query.program.root_sql)
            write_rows(answer, into, in_order_of=[] if is_ordered else [f"{place(0)}.start"])
            return by_window(query, files_in(into, schema))

        return self._run(query, run)

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        """What becomes of each row, which is a group, in one job; of windows with such rows.

        Raises ``SparkFailed`` where that can't be said.
        """
        try:
            sql = write_verdict_sql(query.program.root_sql)
        except NotJudged as error:
            raise SparkFailed(f"query {query.id}: root part: {error}") from error
        groups = _groups_table(query, windows)
        numbers = pa.array(range(groups.num_rows), pa.int64())
        groups = groups.append_column(GROUP_COLUMN, numbers)
        found = self._run(query, lambda session: _ran(session, groups, sql), SETTINGS)
        return _by_window(windows, dict(zip(*(c.to_pylist() for c in found.columns), strict=True)))

    def _run(
        self,
        query: Query,
        run: Callable[[SparkSession], T],
        settings: Sequence[tuple[str, str]] = (),
    ) -> T:
        """One job, with the JVM for itself where it is suspected."""
        query_id = str(query.id)
        if query_id not in self._suspicion.root_suspects():
            return self._ran_within(self._job_s_max, query, run, settings)
        try:
            found = self._ran_within(self._suspect_s_max, query, run, settings)
        except GroupFailed:  # a value is refused, by a JVM that lives
            self._suspicion.root_survived(query_id)
            raise
        self._suspicion.root_survived(query_id)
        return found

    def _ran_within(
        self,
        job_s_max: float,
        query: Query,
        run: Callable[[SparkSession], T],
        settings: Sequence[tuple[str, str]],
    ) -> T:
        """In a session of its own, under further settings."""
        with (
            root_job(self._spark, str(query.id), job_s_max=job_s_max) as lease,
            self._sessions.borrowed(
                lease, (*query.program.settings, *settings), view=VIEW
            ) as session,
        ):
            session.sparkContext.setLocalProperty("spark.scheduler.pool", POOL)
            try:
                return run(session)
            except SPARK_ERRORS as error:
                where = f"query {query.id}: root part"
                if is_of_a_value(error):
                    raise GroupFailed(where, message_of(error)) from error
                raise SparkFailed(f"{where}: {message_of(error)}") from error

    def prepare(self, query: Query) -> None:
        """Plan and compile the root part on one row of nothing, so that the first answer need not.

        Called, if at all, when the query is installed; what comes of it does not matter.
        """
        schema = group_schema(query.program)
        nothing = pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
        with contextlib.suppress(HeadwaterError):
            self.finish(query, {0: nothing})


def _ran(session: SparkSession, groups: pa.Table, sql: str) -> pa.Table:
    """Through the driver."""
    frame = session.createDataFrame(groups)
    _show_panes(frame.coalesce(1) if groups.num_rows <= ONE_TASK_ROWS else frame)
    return session.sql(sql).toArrow()


def _show_panes(frame: DataFrame) -> None:
    """The view that the root part reads, of rows with the start and end of their window."""
    window = F.struct(F.col(START).alias("start"), F.col(END).alias("end"))
    frame = frame.select(window.alias(WINDOW_COLUMN), "*").drop(START, END)
    frame.createOrReplaceTempView(VIEW)


@lru_cache(maxsize=1_000)
def _is_ordered(sql: str) -> bool:
    """Whether the answers come in an order, which is by window first."""
    return parse(sql).args.get("order") is not None


def split_by_window(query: Query, answer: pa.Table) -> dict[int, pa.Table]:
    """Rows by window number, without the window's own column, in their order."""
    position = answer.schema.get_field_index(WINDOW_COLUMN)
    starts = pc.struct_field(answer.column(position), "start").cast(TIMESTAMP).cast(pa.int64())
    rows = answer.remove_column(position)
    found: dict[int, pa.Table] = {}
    for start_us in pc.unique(starts).to_pylist():
        window = query.window.first_window_from(start_us)
        found[window] = rows.filter(pc.equal(starts, start_us))
    return found


def _by_window(
    windows: Mapping[int, pa.Table], is_rejected: Mapping[int, bool]
) -> dict[int, Verdict]:
    """From numbers over all windows, in their order, to numbers within each."""
    found: dict[int, Verdict] = {}
    first = 0
    for window, rows in windows.items():
        named = [n for n in range(rows.num_rows) if first + n in is_rejected]
        if named:
            found[window] = Verdict(
                failing=tuple(n for n in named if not is_rejected[first + n]),
                rejected=tuple(n for n in named if is_rejected[first + n]),
            )
        first += rows.num_rows
    return found


def _groups_table(query: Query, windows: Mapping[int, pa.Table]) -> pa.Table:
    """In one piece: of a table with an empty chunk, Spark takes no row that stands behind it."""
    schema = group_schema(query.program)
    return pa.concat_tables(
        with_window(query, window, groups.cast(schema)) for window, groups in windows.items()
    ).combine_chunks()
