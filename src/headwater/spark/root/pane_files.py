"""Rows of panes as files for Spark, written one table at a time.

::

    folder/rows.parquet     pane | c0 | c1 | …     each pane once, whatever windows it lies in

Which windows a pane lies in is told beside it: where a query slides, Spark gives the rows once for
each of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.algebra.rows.types import spark_type, summary_schema
from headwater.plan.query import Query
from headwater.spark.rows.row_files import FILE_ROWS_MAX, place

PANE = "__pane"


class PaneFiles:
    """Open while rows are written; ``frame`` once it is closed."""

    def __init__(self, query: Query, folder: Path) -> None:
        self._schema = summary_schema(query.program)
        self._folder = folder
        fields = [pa.field(place(at), field.type) for at, field in enumerate(self._schema)]
        self._in_file = pa.schema([pa.field(PANE, pa.int64()), *fields])
        self._writer = pq.ParquetWriter(
            folder / "rows.parquet",
            self._in_file,
            compression="snappy",
            write_statistics=False,
            use_dictionary=[PANE],
        )
        self.panes: set[int] = set()
        self.bytes = 0
        """Of all rows so far, as Arrow holds them."""
        self.rows = 0

    def __enter__(self) -> PaneFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, pane: int, tables: Iterable[pa.Table]) -> None:
        self.panes.add(pane)
        for table in tables:
            self.bytes += table.nbytes
            self.rows += table.num_rows
            columns = table.cast(self._schema).columns
            numbers = pa.repeat(pa.scalar(pane, pa.int64()), table.num_rows)
            rows = pa.Table.from_arrays([numbers, *columns], schema=self._in_file)
            self._writer.write_table(rows, row_group_size=FILE_ROWS_MAX)

    def remove(self) -> None:
        """Nobody reads it any more."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def frame(self, session: SparkSession) -> DataFrame:
        """The pane, then the query's own columns."""
        types = [("bigint", PANE)]
        types += [(spark_type(f.type), place(at)) for at, f in enumerate(self._schema)]
        schema = ", ".join(f"{name} {type_name}" for type_name, name in types)
        rows = session.read.schema(schema).parquet(str(self._folder))
        named = [F.col(place(at)).alias(name) for at, name in enumerate(self._schema.names)]
        return rows.select(PANE, *named)
