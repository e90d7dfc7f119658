"""A cube on a temporary directory, rows with one key and one sum, and disks that fail."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.edge.outputs import MakeUpdates, Remember, UpdatesMade
from headwater.edge.record import EdgeRecord
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.sources.source import Source, SourceFormat
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.root.said.envelope import Envelope, Trigger
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.disk import Disk
from headwater.store.follow.listing import Glob
from headwater.store.input.new_cut import NewCut
from headwater.store.manifest import Manifest

QUERY = "hits@home#1"
SOURCE = "weblog"


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("page", "string"),)
    partials: tuple[Partial, ...] = (Partial("n", "bigint", "sum"),)


MERGER = ArrowMerger(Layout())


def rows_of(*rows: tuple[str, int]) -> pa.Table:
    """Rows of one pane, in the schema of a summary."""
    columns = [[page for page, _ in rows], [n for _, n in rows]]
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, MERGER.schema, strict=True)],
        schema=MERGER.schema,
    )


def batch_of(*rows: tuple[int, str, int]) -> pa.Table:
    """What Spark hands over: (pane, page, n)."""
    table = rows_of(*((page, n) for _, page, n in rows))
    return table.add_column(0, "pane", pa.array([pane for pane, _, _ in rows], pa.int64()))


def gave(*rows: tuple[int, str, int], query: str = QUERY, **more: Any) -> SiteOutcome:
    """A batch that has these rows of one query."""
    return SiteOutcome((QueryResult(query, batch_of(*rows) if rows else None),), **more)


def counts_of(table: pa.Table) -> dict[str, int]:
    return dict(zip(table["page"].to_pylist(), table["n"].to_pylist(), strict=True))


def query_of(name: str = "hits", counter: int = 1) -> Query:
    """Windows of three panes, one pane of ten seconds apart."""
    source = Source(SOURCE, (Column("time", "timestamp"),), SourceFormat.CSV, "*.log", "time")
    program = Program(
        text="SELECT …",
        source=source,
        keys=Layout().keys,
        partials=Layout().partials,
        site_sql="…",
        root_sql="…",
        central_sql="…",
        columns_used=("time",),
        output=(Column("page", "string"), Column("n", "bigint")),
    )
    window = WindowSpec(30_000_000, 10_000_000)
    return Query(QueryId(name, "home", counter), window, "home", program)


def envelope_of(query: Query, window: int, **fields: Any) -> Envelope:
    given: dict[str, Any] = {
        "revision": 1,
        "expected": 3,
        "covered": 3,
        "missing": (),
        "missing_count": 0,
        "exact": True,
        "final": False,
    }
    return Envelope(
        stream=query.id.name,
        query=str(query.id),
        window=window,
        start_us=query.window.window_start_us(window),
        end_us=query.window.window_end_us(window),
        roster_version=1,
        staleness_s=0.5,
        answered_at_s=1234.5,
        trigger=Trigger.COMPLETE,
        **{**given, **fields},
    )


class FaultyDisk(Disk):
    """Fails the calls that a test names: ``fail["write_new"] = ENOSPC`` until it is cleared."""

    def __init__(self) -> None:
        self.fail: dict[str, int] = {}
        self.fail_after: dict[str, int] = {}
        """A verb works so many more times, then there is no space."""
        self.calls: dict[str, int] = {}
        self.bytes_read = 0

    def _maybe(self, verb: str, path: object) -> None:
        self.calls[verb] = self.calls.get(verb, 0) + 1
        code = self.fail.get(verb)
        if verb in self.fail_after:
            self.fail_after[verb] -= 1
            code = errno.ENOSPC if self.fail_after[verb] < 0 else None
        if code is not None:
            raise OSError(code, os.strerror(code), str(path))

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        self._maybe("write_new", path)
        super().write_new(path, pieces)

    def write_all(self, handle: int, data: bytes | memoryview) -> None:
        self._maybe("write_all", handle)
        super().write_all(handle, data)

    def sync_file(self, path: Path) -> None:
        self._maybe("sync_file", path)
        super().sync_file(path)

    def sync_directory(self, path: Path) -> None:
        self._maybe("sync_directory", path)
        super().sync_directory(path)

    def rename(self, old: Path, new: Path) -> None:
        self._maybe("rename", old)
        super().rename(old, new)

    def link(self, old: Path | str, new: Path) -> None:
        self._maybe("link", old)
        super().link(old, new)

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        if directory.name != "spool":
            self._maybe("scan", directory)
        return super().scan(directory)

    def open(self, path: Path | str) -> int:
        self._maybe("open", path)
        return super().open(path)

    def stat(self, path: Path | str) -> os.stat_result:
        self._maybe("stat", path)
        return super().stat(path)

    def read_file(self, path: Path) -> bytes:
        self._maybe("read_file", path)
        return super().read_file(path)

    def read_at(self, handle: int, count: int, offset: int) -> bytes:
        self._maybe("read_at", handle)
        data = super().read_at(handle, count, offset)
        self.bytes_read += len(data)
        return data


class FaultyConnection:
    """A connection to SQLite that fails where a test says so.

    ``fails`` is asked before every statement and gives an error code, or 0. One that fails does not
    happen, unless ``fails`` has done it itself.
    """

    def __init__(self, inner: sqlite3.Connection, fails: Callable[[str], int]) -> None:
        self._inner = inner
        self._fails = fails

    @classmethod
    def put_into(cls, manifest: Manifest, fails: Callable[[str], int]) -> None:
        manifest._connection = cls(manifest._connection, fails)  # type: ignore[assignment]

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self._maybe(sql)
        return self._inner.execute(sql, *values)

    def executemany(self, sql: str, values: Any) -> sqlite3.Cursor:
        self._maybe(sql)
        return self._inner.executemany(sql, values)

    def _maybe(self, sql: str) -> None:
        code = self._fails(sql)
        if code:
            error = sqlite3.OperationalError("injected")
            error.sqlite_errorcode = code
            raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Clock:
    """The site's clock, moved by hand."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


class CubeUser:
    """A cube with one query and one source, and the calls that tests make of it."""

    def __init__(self, directory: Path, clock: Clock, **options: Any) -> None:
        self.directory = directory
        self.clock = clock
        self.options = options
        self.cube = self._open()
        self._batch = 0

    def _open(self) -> Cube:
        asked = {name: of for name, of in self.options.items() if name in QueryFacts._fields}
        more = {name: of for name, of in self.options.items() if name not in asked}
        facts = QueryFacts(**{"merger_of": lambda query: MERGER} | asked)
        return Cube.open(self.directory, site="paris", facts=facts, clock=self.clock, **more)

    def reopen(self) -> None:
        self.cube.close()
        self.cube = self._open()

    def glob(self, directory: Path, pattern: str, disk: Disk | None = None) -> Glob:
        return Glob(directory, pattern, disk=disk or self.cube.cuts.disk)

    def install(self, query: str = QUERY, **fields: Any) -> None:
        self.cube.write([Remember(query, EdgeRecord(first_pane=0, **fields))])

    def cut_input(self) -> int:
        """Register one cut of input that holds nothing of interest; returns its number."""
        state = self.cube.cuts.open_source(SOURCE)
        if not state.epoch:
            self.cube.cuts.begin_epoch(SOURCE)
        chunk = self.cube.cuts.spool.write("chunk", [b"x\n"])
        self.cube.cuts.register(state, [NewCut("f", 0, 2, chunk, 2, 2)], poll_s=self.clock())
        return state.last_cut

    def commit(self, *rows: tuple[int, str, int], query: str = QUERY, **options: Any) -> Any:
        """Commit one batch of one cut with these rows."""
        through = self.cut_input()
        self._batch += 1
        epoch = options.pop("epoch", self.cube.cuts.state(SOURCE).epoch)
        batch = Batch(SOURCE, epoch, options.pop("batch_id", self._batch), through)
        return self.cube.commit_batch(batch, gave(*rows, query=query, **options))

    def make_updates(
        self, *panes: int, query: str = QUERY, sent: bool = False
    ) -> list[UpdatesMade]:
        record = next(kept.record for kept in self.cube.restore() if kept.query == query)
        return self.cube.write([MakeUpdates(query, tuple(panes), record, sent)])[0]
