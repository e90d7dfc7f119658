"""A Parquet file as pieces of bytes, made of tables that are taken in one after the other.

What is in memory is one table and its bytes, however large the file becomes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_ROWS_MIN = 1 << 12
"""Smaller tables are joined: a row group costs some hundred bytes for each column."""
ROW_GROUP_ROWS_MAX = 1 << 17


def parquet_pieces(tables: Iterable[pa.Table]) -> Iterator[memoryview]:
    """The file's bytes, in order; nothing at all where there are no tables.

    The first column is told of in statistics: who looks for one value of it reads little more than
    its rows, if they lie together.
    """
    groups = _joined(tables)
    first = next(groups, None)
    if first is None:
        return
    sink = _Pieces()
    writer = pq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        first.schema,
        compression="zstd",
        write_statistics=[first.schema.names[0]],
    )
    for table in itertools.chain([first], groups):
        writer.write_table(table.cast(first.schema), row_group_size=ROW_GROUP_ROWS_MAX)
        yield from sink.taken()
    writer.close()
    yield from sink.taken()


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, in tables that are worth a row group each, but for the last."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= ROW_GROUP_ROWS_MIN:
            yield _one(waiting)
            waiting, count = [], 0
    if waiting:
        yield _one(waiting)


def _one(tables: list[pa.Table]) -> pa.Table:
    schema = tables[0].schema
    return pa.concat_tables([table.cast(schema) for table in tables])


class _Pieces:
    """What Arrow takes for a file."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[memoryview] = []
        self._position = 0

    def write(self, data: pa.Buffer | bytes) -> int:
        piece = bytes(memoryview(data))
        self._pieces.append(memoryview(piece))
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def taken(self) -> list[memoryview]:
        pieces, self._pieces = self._pieces, []
        return pieces
