"""Rows that Spark wrote as Parquet files, each small enough to be read whole.

Columns are named by their places in the files: a name of the query may be one that no file takes,
or differ from another by its case alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

FILE_ROWS_MAX = 1 << 16
"""Rows of one file: some megabytes, which is what Python holds of them at once."""
NAME = re.compile(r"part-(\d+)-.*[-.]c(\d+)\..*")
"""Of a file that Spark wrote: the task, and which of its files."""


class RowFiles(msgspec.Struct, frozen=True):
    """In the order of Spark's rows."""

    paths: tuple[Path, ...]
    counts: tuple[int, ...]
    """Rows of each file."""
    schema: pa.Schema
    places: tuple[int, ...]
    """Where the columns of the schema are in the files."""

    @property
    def num_rows(self) -> int:
        return sum(self.counts)

    @property
    def bytes(self) -> int:
        """About what the rows would take in memory, by those of the first file."""
        return int(self.table(0).nbytes * self.num_rows // self.counts[0]) if self.paths else 0

    def __iter__(self) -> Iterator[pa.Table]:
        return (self.table(number) for number in range(len(self.paths)))

    def table(self, number: int) -> pa.Table:
        """One file, in the types and names of the schema."""
        found = self._read(number, [place(at) for at in self.places])
        return found.rename_columns(self.schema.names).cast(self.schema)

    def column(self, number: int, name: str) -> pa.ChunkedArray:
        """One column of one file, without reading the others."""
        at = self.places[self.schema.get_field_index(name)]
        return self._read(number, [place(at)]).column(0)

    def fitted(self, schema: pa.Schema) -> RowFiles:
        """Some of the columns, in these types."""
        places = [self.places[self.schema.get_field_index(name)] for name in schema.names]
        return msgspec.structs.replace(self, schema=schema, places=tuple(places))

    def _read(self, number: int, columns: list[str]) -> pa.Table:
        return pq.read_table(
            self.paths[number], columns=columns, partitioning=None, use_threads=False
        )


class SavedRows(msgspec.Struct, frozen=True):
    """A table that was put into a file, to be read in pieces."""

    path: Path
    num_rows: int

    @classmethod
    def of(cls, table: pa.Table, path: Path) -> SavedRows:
        pq.write_table(table, path, compression="snappy", row_group_size=FILE_ROWS_MAX)
        return cls(path, table.num_rows)

    def __iter__(self) -> Iterator[pa.Table]:
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def place(at: int) -> str:
    """The name of a column in files."""
    return f"c{at}"


def write_rows(
    frame: DataFrame,
    directory: Path,
    *,
    in_order_of: Sequence[str] = (),
    partition_by: str | None = None,
) -> None:
    """Run the frame, its rows into files below this directory, which must not be there yet.

    ``in_order_of`` are columns, by their places: rows with the same values lie together in each
    file. The last column may become folders, ``name=value``: it is not in the files then.
    """
    names = [place(at) for at in range(len(frame.columns))]
    by = [] if partition_by is None else [partition_by]
    frame = frame.toDF(*names[: len(names) - len(by)], *by)
    if in_order_of:
        frame = frame.sortWithinPartitions(*by, *in_order_of)
    writer = frame.write.option("maxRecordsPerFile", FILE_ROWS_MAX).option("compression", "snappy")
    writer = writer.option("parquet.enable.dictionary", "false")  # keys of groups are all different
    writer.parquet(str(directory), partitionBy=by or None)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """As ``toArrow`` would give it."""
    return to_arrow_schema(frame.schema, timezone="UTC")


def files_in(directory: Path, schema: pa.Schema) -> RowFiles:
    """What ``write_rows`` left in this folder, in the order of tasks and of their rows."""
    found: dict[Path, int] = {}
    for path in sorted(directory.glob("part-*"), key=_order):
        count = pq.read_metadata(path).num_rows
        if count:
            found[path] = count
    return RowFiles(tuple(found), tuple(found.values()), schema, tuple(range(len(schema))))


def _order(path: Path) -> tuple[int, int]:
    match = NAME.fullmatch(path.name)
    assert match is not None, f"{path}: Spark names its files otherwise"
    return int(match[1]), int(match[2])
