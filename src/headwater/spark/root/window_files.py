"""The groups of windows as files for Spark, written some groups at a time.

::

    folder/rows.parquet     start | end | c0 | c1 | …     each group of a window once
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from headwater.algebra.rows.types import group_schema, spark_type
from headwater.plan.query import Query
from headwater.spark.root.window_rows import TIMESTAMP
from headwater.spark.rows.row_files import FILE_ROWS_MAX, place

START, END = "__start", "__end"
"""Columns beside the query's own."""


class WindowFiles:
    """Open while rows are written; ``frame`` once it is closed."""

    def __init__(self, query: Query, folder: Path) -> None:
        self._query = query
        self._schema = group_schema(query.program)
        self._folder = folder
        fields = [pa.field(place(at), field.type) for at, field in enumerate(self._schema)]
        bounds = [pa.field(name, bound_type(query)) for name in (START, END)]
        self._in_file = pa.schema([*fields, *bounds])
        self._writer = pq.ParquetWriter(
            folder / "rows.parquet",
            self._in_file,
            compression="snappy",
            write_statistics=False,
            use_dictionary=[START, END],
        )
        self.bytes = 0
        """Of all rows so far, as Arrow holds them."""
        self.rows = 0

    def __enter__(self) -> WindowFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, window: int, groups: pa.Table) -> None:
        self.bytes += groups.nbytes
        self.rows += groups.num_rows
        rows = with_window(self._query, window, groups.cast(self._schema))
        rows = pa.Table.from_arrays(rows.columns, schema=self._in_file)
        self._writer.write_table(rows, row_group_size=FILE_ROWS_MAX)

    def remove(self) -> None:
        """Nobody reads it any more."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def frame(self, session: SparkSession) -> DataFrame:
        """The query's own columns, then the window's start and end."""
        schema = ", ".join(f"{field.name} {spark_type(field.type)}" for field in self._in_file)
        rows = session.read.schema(schema).parquet(str(self._folder))
        return rows.toDF(*self._schema.names, START, END)


def with_window(query: Query, window: int, groups: pa.Table) -> pa.Table:
    """The groups with the start and the end of their window."""
    bounds_us = (query.window.window_start_us(window), query.window.window_end_us(window))
    kind = bound_type(query)
    for name, at_us in zip((START, END), bounds_us, strict=True):
        column = pa.repeat(pa.scalar(at_us, kind), groups.num_rows)
        groups = groups.append_column(pa.field(name, kind), column)
    return groups


def bound_type(query: Query) -> pa.DataType:
    """Of the start and the end of its windows."""
    return TIMESTAMP if query.numbers is None else pa.int64()
