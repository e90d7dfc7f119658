"""What a question makes of a stream's rows, where that takes Spark: conditions, and computed keys.

The rows were merged before, so there is one for each group of the stream in a pane of the question,
and a job takes those of many panes. They go through the driver in portions, since a portion is a
few megabytes. Where nothing is computed no job is run at all.
"""

from __future__ import annotations

import pyarrow as pa

from headwater.algebra.rows.types import PANE_COLUMN, summary_schema
from headwater.errors import SparkFailed
from headwater.plan.query import Query
from headwater.spark.jvm.lease import Spark
from headwater.spark.root.root_job import root_job
from headwater.spark.root.root_sessions import RootSessions
from headwater.spark.spark_message import SPARK_ERRORS, message_of
from headwater.sql.questions.subsume import CUBE


class CubeSpark:
    """Safe to use from several threads."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark
        self._sessions = RootSessions()

    def computed(self, question: Query, sql: str, rows: pa.Table, *, job_s_max: float) -> pa.Table:
        """Rows of the question with their panes, of rows of the stream with theirs.

        Raises ``SparkFailed``, also when it takes longer than that or there is no Spark now.
        """
        query_id = str(question.id)
        with (
            root_job(self._spark, query_id, job_s_max=job_s_max) as lease,
            self._sessions.borrowed(lease, question.program.settings, view=CUBE) as session,
        ):
            try:
                session.createDataFrame(rows.combine_chunks()).createOrReplaceTempView(CUBE)
                found = session.sql(sql).toArrow()
            except SPARK_ERRORS as error:
                raise SparkFailed(f"question {query_id}: {message_of(error)}") from error
        return fitted(question, found)


def fitted(question: Query, rows: pa.Table) -> pa.Table:
    """In the types that the question declares."""
    schema = summary_schema(question.program)
    schema = schema.insert(0, pa.field(PANE_COLUMN, pa.int64()))
    return rows.select(schema.names).cast(schema)
