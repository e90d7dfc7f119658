"""The lines of one batch after another, as Spark plans them once.

Spark parses a statement, analyses it, optimizes it and plans it. Batches of a source differ in
their files alone, so that the first two steps come to the same each time. What they came to is
kept: the relation over the directory of a batch (``lines``), which is told to list its files anew,
and each statement over it, as it was analysed. From there on Spark works for each batch.

Only the lines of files with the same directory and columns are taken for the same relation: files
that have columns of their own are planned anew each time. Of those that workers read
see ``worker_lines``.
"""

from __future__ import annotations

from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from headwater.spark.lines.lines import ONE_TASK_BYTES, Linked, read_lines

LINES = "__lines"
"""The view of the batch's session."""
TEXTS_MAX = 64
"""Statements that are kept; beyond, all are analysed again."""


class Analyser(Protocol):
    """A session, or lines that stand."""

    def sql(self, sqlQuery: str) -> DataFrame: ...


class StandingStatements:
    """What Spark has analysed of statements over a view. They may come from several threads."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._analysed: dict[str, Any] = {}
        self._dataset: Any = None
        """Spark's own way from what is analysed to a frame; to look it up takes several calls."""

    def __len__(self) -> int:
        return len(self._analysed)

    def clear(self) -> None:
        """The view is another one from now on."""
        self._analysed.clear()

    def sql(self, text: str, *, is_kept: bool) -> DataFrame:
        """A statement over the view, and over nothing else that changes. Raises
        ``SPARK_ERRORS``."""
        analysed = self._analysed.get(text)
        if analysed is not None:
            rows = self._dataset.ofRows(self.session._jsparkSession, analysed)
            return DataFrame(rows, self.session)
        frame = self.session.sql(text)
        if is_kept:
            self._keep(text, frame)
        return frame

    def _keep(self, text: str, frame: DataFrame) -> None:
        if self._dataset is None:
            jvm: Any = self.session._jvm
            self._dataset = jvm.org.apache.spark.sql.classic.Dataset
        if len(self._analysed) >= TEXTS_MAX:
            self._analysed.clear()
        self._analysed[text] = frame._jdf.queryExecution().analyzed()


class StandingLines:
    """For the batches of one source in one session. Statements may come from several threads."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._kind: tuple[object, ...] | None = None
        self._frame: DataFrame | None = None
        self._relation: Any = None
        """The lines, as Spark has analysed them."""
        self._statements = StandingStatements(session)

    def read(self, found: Linked, *, byte_count: int) -> DataFrame:
        """As ``read_lines``, and as the view ``LINES``. Raises ``SPARK_ERRORS``."""
        kind = _kind(found, byte_count=byte_count)
        if self._frame is not None and kind is not None and kind == self._kind:
            self._relation.refresh()
            return self._frame
        self._kind, self._frame = None, None
        self._statements.clear()
        frame = read_lines(self.session, found, byte_count=byte_count)
        frame.createOrReplaceTempView(LINES)
        self._relation = frame._jdf.queryExecution().analyzed()
        self._kind, self._frame = kind, frame
        return frame

    def sql(self, sqlQuery: str) -> DataFrame:
        return self._statements.sql(sqlQuery, is_kept=self._kind is not None)


def _kind(found: Linked, *, byte_count: int) -> tuple[object, ...] | None:
    """What the relation depends on beside its files; None: on those as well."""
    if found.columnar:
        return None
    is_one_task = byte_count <= ONE_TASK_BYTES
    return (found.directory, found.separator, bool(found.headers), is_one_task)
