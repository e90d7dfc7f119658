"""A block of lines as Arrow has it, and what is handed over of it: rows or lines.

Whoever parses blocks strictly yields batches of ``LINE`` and a column for each kind. Where ``LINE``
is not null the columns are, and Spark has to parse it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.reading.strict.strict_kinds import TYPES, buffers_of

LINE = "value"
COLUMN = "__made_"
"""Followed by the number of the column."""
LINE_FEED = b"\n"
MARK = b"\xef\xbb\xbf"
"""Arrow would pass over it at the beginning of any block, Spark only at that of a file."""
REPLACEMENT = "\ufffd".encode()


def names_of(kinds: Sequence[str]) -> tuple[str, ...]:
    return (LINE, *(f"{COLUMN}{number}" for number in range(len(kinds))))


def types_of(kinds: Sequence[str]) -> tuple[pa.DataType, ...]:
    return (pa.string(), *(TYPES[kind] for kind in kinds))


def is_text(block: bytes, *, is_replaced: bool) -> bool:
    """Whether all bytes are of the source's encoding, and none stands for one that was not."""
    if is_replaced and REPLACEMENT in block:
        return False
    return block.isascii() or _is_utf8(block)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def with_line_feeds(block: bytes) -> bytes:
    """Lines end as Spark's text reader ends them."""
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def lines_of(block: bytes, separator: bytes = LINE_FEED) -> pa.Array:
    """Those that are not empty, each with its end."""
    if block and not block.endswith(separator):
        block += separator
    is_end = np.frombuffer(block, np.uint8) == ord(separator)
    ends = np.flatnonzero(is_end).astype(np.int32) + 1
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    lines = pa.Array.from_buffers(pa.binary(), len(ends), buffers)
    is_empty = np.diff(offsets) == 1
    return lines.filter(pa.array(~is_empty)) if is_empty.any() else lines


def counts(lines: pa.Array, symbol: bytes) -> NDArray[np.int32]:
    """How often each has it."""
    offsets, data = buffers_of(lines)
    is_symbol = data[: offsets[-1]] == ord(symbol)
    return np.add.reduceat(is_symbol, offsets[:-1], dtype=np.int32)


def bytes_of(lines: pa.Array) -> pa.Buffer:
    """All of them in a row: a filter has just put them so."""
    offsets, _ = buffers_of(lines)
    return lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def batches_of(
    kinds: Sequence[str], columns: Sequence[pa.Array] | None, lines: pa.Array | None
) -> list[pa.RecordBatch]:
    """Of rows that were taken, and of lines that are given back."""
    found = []
    names, types = list(names_of(kinds)), types_of(kinds)
    if columns is not None and len(columns[0]):
        absent = pa.nulls(len(columns[0]), pa.string())
        found.append(pa.RecordBatch.from_arrays([absent, *columns], names))
    if lines is not None and len(lines):
        texts = pc.binary_slice(lines, 0, -1).view(pa.string())
        nulls = [pa.nulls(len(lines), type_) for type_ in types[1:]]
        found.append(pa.RecordBatch.from_arrays([texts, *nulls], names))
    return found
