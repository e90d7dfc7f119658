"""A SQLite file whose transaction is the commit.

Parquet segments and spooled chunks are written and synced first; they count only once a row here
names them. So a crash at any point leaves either the row and the bytes, or stray files that the
next start sweeps away.

WAL with ``synchronous=FULL`` syncs the log once for every transaction, which is why callers put
all that a tick has to write into one. A commit that failed with an I/O error may or may not be on
the disk. Going on would build upon a guess, so the manifest then refuses all further work until
it is opened anew and has looked.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import DiskFull, StoreBroken, StoreError

BUSY_TIMEOUT_MS = 5_000
WAL_BYTES_MAX = 64 << 20
"""To which the write-ahead log is cut back after a checkpoint."""
CHECK_BYTES_MAX = 64 << 20
"""A larger file is not checked page by page at the start; its segments have their checksums."""

Row = tuple[Any, ...]


class Schema(msgspec.Struct, frozen=True):
    """What a manifest holds. ``migrations[n]`` leads from version n to n + 1, as statements.

    A change of the schema is a further entry at the end, never an edit of one that has run
    somewhere.
    """

    name: str
    application_id: int
    """Tells a cube's manifest from a root's, so that the wrong file is refused, not migrated."""
    migrations: tuple[tuple[str, ...], ...]


class Manifest:
    """One connection for all threads of the process, one at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._connection = connection
        self._broken: str | None = None

    @classmethod
    def open(cls, path: Path, schema: Schema) -> Manifest:
        """Open or make the file and bring it to the newest version of its schema."""
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")
            connection.execute("PRAGMA foreign_keys = ON")
            manifest = cls(path, connection)
            _check(path, connection)
            manifest._migrate(schema)
        except sqlite3.Error as error:
            raise _explained(path, "opening", error) from error
        return manifest

    def _migrate(self, schema: Schema) -> None:
        (version,) = self.one("PRAGMA user_version")
        (application,) = self.one("PRAGMA application_id")
        if version and application != schema.application_id:
            raise StoreError(
                f"{self.path}: wanted a {schema.name} manifest, found one of another kind "
                f"(application id {application}); is this the right directory?"
            )
        if version > len(schema.migrations):
            raise StoreError(
                f"{self.path}: written by a newer Headwater (schema {version}; this one knows "
                f"{len(schema.migrations)}); run that version, or a newer one"
            )
        if version == len(schema.migrations):
            return
        with self.transaction():
            for statement in (s for step in schema.migrations[version:] for s in step):
                self.run(statement)
            self.run(f"PRAGMA application_id = {schema.application_id}")
            self.run(f"PRAGMA user_version = {len(schema.migrations)}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, durable on return. Raises ``DiskFull`` with nothing changed."""
        with self.lock:
            self._refuse_if_broken()
            self.run("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            self._commit()

    def run(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """One statement; changes belong inside ``transaction``."""
        with self.lock:
            try:
                return self._connection.execute(sql, values)
            except sqlite3.Error as error:
                raise _explained(self.path, "writing", error) from error

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        with self.lock:
            try:
                self._connection.executemany(sql, values)
            except sqlite3.Error as error:
                raise _explained(self.path, "writing", error) from error

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self.lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _explained(self.path, "reading", error) from error

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row:
        """The only row; it must exist."""
        rows = self.all(sql, values)
        assert len(rows) == 1, f"wanted one row, got {len(rows)}: {sql}"
        return rows[0]

    def first(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        rows = self.all(sql, values)
        return rows[0] if rows else None

    def close(self) -> None:
        with self.lock, contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            explained = _explained(self.path, "committing", error)
            if not isinstance(explained, DiskFull):
                self._broken = str(explained)
                self._refuse_if_broken()
            raise explained from error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    @property
    def is_broken(self) -> bool:
        """A commit failed in a way that leaves open whether it happened."""
        return self._broken is not None

    def _refuse_if_broken(self) -> None:
        if self._broken is not None:
            raise StoreBroken(f"{self._broken}; nothing more is written until it is opened anew")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if path.stat().st_size > CHECK_BYTES_MAX:
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StoreError(f"{path}: the manifest is damaged: {verdict}; restore it from a copy")


def _explained(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    kind = DiskFull if code == sqlite3.SQLITE_FULL else StoreError
    return kind(f"{path}: {doing}: {error}")
