"""The groups of rows that don't fit into memory: by shares of the keys, through files.

::

    parts ──► held ──► merged, while that makes them few
                └────► more: divided by their keys into files, and each file is merged by itself

All rows of a group are in one share, whatever its hidden keys, so the groups of the shares are the
groups of all. What is in memory at a time is some ``MERGE_BYTES_MAX``, whatever the number of
groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.rows.key_shares import shares

MERGE_BYTES_MAX = 32 << 20
"""Rows that are merged at a time, as Arrow holds them: merging takes about three times that."""
SHARES = 16
"""Files that rows are divided into; of a share that is still too large, as many again."""
DEPTH_MAX = 4
"""Shares of shares: 65,536 of them. What is too large even then is merged as it is."""


class RowMerger(Protocol):
    """An ``ArrowMerger``, or what else merges the rows of a query."""

    @property
    def schema(self) -> pa.Schema: ...

    def merge(self, parts: Sequence[pa.Table]) -> pa.Table: ...


class GroupsMaker(Protocol):
    """A ``GroupMaker``, or what else makes the groups of a window of rows."""

    @property
    def merger(self) -> RowMerger: ...

    @property
    def key_names(self) -> Sequence[str]:
        """Rows that agree in them belong together."""

    def groups(self, parts: Sequence[pa.Table]) -> Groups: ...


def merge_in_shares(
    maker: GroupsMaker, parts: Iterable[pa.Table], folder: Path, *, depth: int = 0
) -> Iterator[Groups]:
    """All groups, each once, some at a time. ``folder`` is there, and empty again in the end."""
    waiting = iter(parts)
    held = _held(maker.merger, waiting)
    more = next(waiting, None)
    if more is None:
        yield maker.groups(held)
        return
    if depth == DEPTH_MAX or not maker.key_names:
        yield maker.groups([*held, more, *waiting])
        return
    spilled = _spilled(maker, chain(held, [more], waiting), folder, depth)
    held.clear()
    for path in spilled:
        below = path.with_suffix("")
        below.mkdir()
        yield from merge_in_shares(maker, _read(path), below, depth=depth + 1)
        below.rmdir()
        path.unlink()


def _held(merger: RowMerger, parts: Iterator[pa.Table]) -> list[pa.Table]:
    """As many parts as fit, merged whenever they don't: often the same groups come again."""
    held: list[pa.Table] = []
    for part in parts:
        held.append(part)
        if _bytes(held) > MERGE_BYTES_MAX:
            held = [merger.merge(held)]
            if _bytes(held) > MERGE_BYTES_MAX // 2:
                break
    return held


def _spilled(maker: GroupsMaker, parts: Iterable[pa.Table], folder: Path, depth: int) -> list[Path]:
    """The files of the shares that have rows."""
    writers: dict[Path, pa.ipc.RecordBatchStreamWriter] = {}
    with contextlib.ExitStack() as stack:
        for part in parts:
            for share, rows in shares(part, maker.key_names, SHARES, salt=depth):
                path = folder / f"{share}.arrow"
                if path not in writers:
                    writer = pa.ipc.new_stream(path, maker.merger.schema)
                    writers[path] = stack.enter_context(writer)
                writers[path].write_table(rows.cast(maker.merger.schema))
    return list(writers)


def _read(path: Path) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _bytes(tables: Iterable[pa.Table]) -> int:
    return sum(table.nbytes for table in tables)
