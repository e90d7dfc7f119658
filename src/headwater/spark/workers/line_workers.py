"""What Spark's Python workers do: read stretches of files, and hand their lines over as columns.

A worker is a process that Spark keeps. It gets the number of a task, reads the stretches of that
task block by block, and yields Arrow batches (``strict_columns``, ``strict_json``); no line passes
through Python by itself. It imports nothing of Spark and little of ours, because what it imports is
its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec
import pyarrow as pa

from headwater.reading.strict.strict_columns import Layout, Strict, columns_of
from headwater.reading.strict.strict_json import StrictJson, json_columns_of
from headwater.reading.strict.strict_lines import LINE_FEED, MARK

BLOCK_BYTES = 1 << 20
"""What a worker parses at once. Blocks of 256 KiB took a tenth more CPU, larger ones as much."""
LINE_BYTES_MAX = 16 << 20
"""Of a line that a worker takes or gives back, which it holds several times over: one of 100 MiB
made a worker of 90 MB one of 790. The JVM reads a batch that has a longer one."""


class LongLineError(ValueError):
    """A line is too long for a worker."""


class Stretch(msgspec.Struct, frozen=True):
    """The lines of a file that begin within some of its bytes."""

    path: str
    start: int
    end: int
    site: int
    head: int = 0
    """The number of the header that they are below."""


class Reading(msgspec.Struct, frozen=True):
    strict: Strict | StrictJson
    layouts: tuple[Layout, ...]
    """Of delimited lines, by the number of the header."""
    tasks: tuple[tuple[Stretch, ...], ...]
    site: str
    """The name of the column for the number of the site."""
    head: str = ""
    """The same for that of the header; empty: nobody asks for it."""
    tasks_path: str = ""
    """A file that has the tasks, which are then empty here: see ``in_a_file``."""

    @property
    def names(self) -> list[str]:
        return [*self.strict.names, self.site, *([self.head] if self.head else [])]

    def tasks_here(self) -> tuple[tuple[Stretch, ...], ...]:
        if not self.tasks_path:
            return self.tasks
        with open(self.tasks_path, "rb") as file:
            return msgspec.msgpack.decode(file.read(), type=tuple[tuple[Stretch, ...], ...])

    def columns_of(self, block: bytes, *, head: int) -> list[pa.RecordBatch]:
        if isinstance(self.strict, StrictJson):
            return json_columns_of(block, self.strict)
        return columns_of(block, self.strict, self.layouts[head])


def in_a_file(reading: Reading, path: str, *, count: int) -> Reading:
    """With so many tasks as the file there says, which is written: all batches whose lines are read
    in the same way then have equal readings."""
    with open(path, "wb") as file:
        file.write(msgspec.msgpack.encode(reading.tasks))
    return msgspec.structs.replace(reading, tasks=((),) * count, tasks_path=path)


def read_tasks(reading: Reading, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark calls in a worker, with the numbers of tasks in the first column."""
    pa.set_cpu_count(1)
    tasks = reading.tasks_here()
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            for stretch in tasks[number] if number < len(tasks) else ():
                yield from _batches(reading, stretch)


def _batches(reading: Reading, stretch: Stretch) -> Iterator[pa.RecordBatch]:
    with open(stretch.path, "rb", buffering=0) as file:
        separator = reading.strict.separator
        for block in blocks_of(file, stretch.start, stretch.end, separator=separator):
            for batch in reading.columns_of(block, head=stretch.head):
                numbers = [_repeated(stretch.site, batch.num_rows)]
                if reading.head:
                    numbers.append(_repeated(stretch.head, batch.num_rows))
                yield pa.RecordBatch.from_arrays([*batch.columns, *numbers], reading.names)


def _repeated(number: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int32()), count)


def blocks_of(
    file: BinaryIO,
    start: int,
    end: int,
    *,
    separator: bytes = LINE_FEED,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[bytes]:
    """Whole lines: those that begin within these bytes. A line that is longer than a block makes
    the block longer. Raises ``LongLineError``."""
    ends = (LINE_FEED, b"\r") if separator == LINE_FEED else (separator,)
    at, stop = _line_start(file, start, separator), _line_start(file, end, separator)
    if at == 0 < stop:
        at = len(MARK) if _read_at(file, 0, len(MARK)) == MARK else 0  # as Spark's text reader
    kept = b""
    while at < stop:
        data = _read_at(file, at, min(block_bytes, stop - at))
        if not data:
            break
        at += len(data)
        kept += data
        cut = len(kept) if at >= stop else max(map(kept.rfind, ends)) + 1
        if cut:
            yield kept[:cut]
            kept = kept[cut:]
        if len(kept) > LINE_BYTES_MAX:
            raise LongLineError(
                f"wanted lines of up to {LINE_BYTES_MAX >> 20} MiB, got a longer one"
            )
    if kept:
        yield kept


def _line_start(file: BinaryIO, offset: int, separator: bytes) -> int:
    """Where the first line begins that begins there or later."""
    if offset == 0:
        return 0
    at = offset - 1
    while data := _read_at(file, at, BLOCK_BYTES):
        found = data.find(separator)
        if found >= 0:
            return at + found + 1
        at += len(data)
    return at


def _read_at(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)
