"""A SQLite file whose transaction is the commit.

Parquet segments and spooled chunks are written and synced first; they count only once a row here
names them. So a crash at any point leaves either the row and the bytes, or stray files that the
next start sweeps away.

WAL with ``synchronous=FULL`` syncs the log once for every transaction, which is why callers put
all that a tick has to write into one. What is kept in memory beside it changes with the commit, in
the same hold of the lock, or not at all (``Mirror``, ``after_commit``).

A commit that failed with an I/O error may or may not be on the disk. Going on would build upon a
guess, so the manifest then refuses all further work until it is opened anew and has looked
(``StoreBroken``). Opening writes all that the log has into the file and syncs that, before anything
is built upon it: the pages that a failed sync left in memory may never have reached the disk.

On a disk that nobody opens again (``Disk.is_kept``) the manifest is in memory: the same statements
and transactions, without a file. Its tables are made when the first statement comes, for most sites
answer nothing and have no use for a ledger, and many manifests may share them (``Tables``). A
transaction there begins with its first statement, too: what only a next life would read is not
written (``is_kept``), and a transaction that has nothing else to write changes memory alone.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import DiskFull, DiskTrouble, StoreBroken, StoreError
from headwater.store.disk import Disk, explained, make_durably
from headwater.store.tables import Tables, Transaction

BUSY_TIMEOUT_MS = 5_000
WAL_BYTES_MAX = 64 << 20
"""To which the write-ahead log is cut back after a checkpoint."""
CHECK_BYTES_MAX = 64 << 20
"""A larger file is not checked page by page at the start; its segments have their checksums."""

TROUBLE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
)
"""Errors that say nothing about what is in the file: the same call may be tried again."""

Row = tuple[Any, ...]


class Schema(msgspec.Struct, frozen=True):
    """What a manifest holds. The first of ``migrations`` makes the tables as the version
    ``oldest`` had them, and each other one leads from a version to the next, as statements.

    A change of the schema is a further entry at the end, never an edit of one that has run
    somewhere.
    """

    name: str
    application_id: int
    """Tells a cube's manifest from a root's, so that the wrong file is refused, not migrated."""
    migrations: tuple[tuple[str, ...], ...]
    oldest: int = 1
    """The first version that is opened."""

    @property
    def newest(self) -> int:
        return self.oldest + len(self.migrations) - 1


class Manifest:
    """One connection for all threads of the process, one at a time."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection | Schema, tables: Tables | None = None
    ) -> None:
        """With a schema instead of a connection it is in memory, from the first statement on; then
        its ``tables`` may be those of others, too."""
        self.path = path
        self.is_kept = not isinstance(connection, Schema)
        """Whether somebody opens it again. What only they would read (what a query knew when the
        process ended, say) is left out where nobody does."""
        self._tables = tables or Tables()
        self.name_prefix = "" if tables is None else tables.new_prefix()
        """Before a name that is written into a column in which no two rows have the same."""
        self.lock = self._tables.lock
        if isinstance(connection, Schema):
            self._schema = connection
        else:
            self._connection = connection

    @classmethod
    def open(
        cls, path: Path, schema: Schema, *, disk: Disk | None = None, tables: Tables | None = None
    ) -> Manifest:
        """Open or make the file, and its directory, and bring it to the newest version of its
        schema. On a disk that nobody opens again it has a part of the ``tables``, if these are
        given."""
        disk = disk or Disk()
        if not disk.is_kept:
            return cls(path, schema, tables)
        assert tables is None, "a manifest that is kept is a file of its own"
        with explained(f"opening {path.parent}"):
            make_durably(disk, path.parent)
        connection = None
        try:
            _make_own(path)
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_MAX}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            manifest = cls(path, connection)
            _check(path, connection)
            # A table that others refer to can be made anew only while nobody minds.
            connection.execute("PRAGMA foreign_keys = OFF")
            manifest._migrate(schema)
            connection.execute("PRAGMA foreign_keys = ON")
        except (sqlite3.Error, StoreError) as error:
            if connection is not None:
                connection.close()
            if isinstance(error, StoreError):
                raise
            raise _explained(path, "opening", error) from error
        return manifest

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        """In memory. The first of those who share it makes the tables of the schema."""
        connection, is_new = self._tables.joined()
        if is_new:
            Manifest(self.path, connection)._migrate(self._schema)
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @property
    def is_shared(self) -> bool:
        """Rows of other manifests are in its tables: whoever asks for all of a table wants those
        that hang on names of this one."""
        return self.name_prefix != ""

    @property
    def is_untouched(self) -> bool:
        """It is in memory and had no statement yet: whoever looks finds nothing of it. What a
        store writes for its next life alone (its name, say) can be left out."""
        return "_connection" not in self.__dict__

    def _migrate(self, schema: Schema) -> None:
        (version,) = self.one("PRAGMA user_version")
        (application,) = self.one("PRAGMA application_id")
        if version and application != schema.application_id:
            raise StoreError(
                f"{self.path}: wanted a {schema.name} manifest, found one of another kind "
                f"(application id {application}); is this the right directory?"
            )
        if 0 < version < schema.oldest:
            raise StoreError(
                f"{self.path}: written by an older Headwater (schema {version}; this one opens "
                f"those from {schema.oldest} on); start 0.2 or 0.3 on this directory once, then "
                "this one"
            )
        if version > schema.newest:
            raise StoreError(
                f"{self.path}: written by a newer Headwater (schema {version}; this one knows "
                f"{schema.newest}); run that version, or a newer one"
            )
        if version == schema.newest:
            return
        with self.transaction():
            steps = schema.migrations[max(0, version - schema.oldest + 1) :]
            for statement in (s for step in steps for s in step):
                self.run(statement)
            stray = self.all("PRAGMA foreign_key_check")
            if stray:
                raise StoreError(
                    f"{self.path}: after bringing it to schema {schema.newest} rows of "
                    f"{stray[0][0]} refer to nothing; it is left as it was"
                )
            self.run(f"PRAGMA application_id = {schema.application_id}")
            self.run(f"PRAGMA user_version = {schema.newest}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, durable on return. Raises ``DiskFull`` or ``DiskTrouble`` with nothing
        changed, neither on the disk nor in memory; ``StoreBroken`` if that isn't known."""
        with self.lock:
            self.refuse_if_broken()
            assert self._tables.open is None, "a transaction is open; one call is one transaction"
            opened = Transaction(threading.get_ident(), is_begun=self.is_kept)
            try:
                if self.is_kept:
                    self.run("BEGIN IMMEDIATE")
                self._tables.open = opened
                yield
                self._commit()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._tables.open = None
            for mirror, value in opened.changed.items():
                mirror.committed = value
            for call in opened.after:
                call()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Inside a transaction: what memory, and files that are named no more, learn of it. It is
        done in the same hold of the lock as the commit, and it must not fail."""
        opened = self.own
        assert opened is not None, "only a transaction of this thread changes what memory has of it"
        opened.after.append(call)

    @property
    def own(self) -> Transaction | None:
        """The present thread's transaction, if it has one open."""
        opened = self._tables.open
        return opened if opened is not None and opened.thread == threading.get_ident() else None

    def run(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """One statement; changes belong inside ``transaction``."""
        with self.lock:
            self._begin_or_refuse()
            try:
                return self._connection.execute(sql, values)
            except sqlite3.Error as error:
                raise _explained(self.path, "writing", error) from error

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        with self.lock:
            rows = list(values)
            if not rows:  # to prepare a statement costs as much as a row
                return
            self._begin_or_refuse()
            try:
                self._connection.executemany(sql, rows)
            except sqlite3.Error as error:
                raise _explained(self.path, "writing", error) from error

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self.lock:
            self._begin_or_refuse()
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
            if self.is_kept:
                self._connection.close()
            elif not self.is_untouched:
                self._tables.left()

    def _commit(self) -> None:
        if self._tables.open is not None and not self._tables.open.is_begun:
            return
        self._begin_or_refuse()
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            explained = _explained(self.path, "committing", error)
            if not isinstance(explained, DiskFull):
                self._tables.broken = self._tables.broken or str(explained)
            self.refuse_if_broken()
            raise explained from error

    def _roll_back(self) -> None:
        if self.is_untouched:
            return
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        if self._connection.in_transaction and self._tables.broken is None:
            self._tables.broken = f"{self.path}: a transaction could not be undone"

    def _begin_or_refuse(self) -> None:
        """Before each statement: one of a transaction that SQLite has not begun begins it.

        SQLite undoes a whole transaction when a statement of it meets a failing disk. Whoever went
        on after that would change the disk statement by statement.
        """
        opened = self._tables.open
        if opened is None:
            return
        if not opened.is_begun:
            opened.is_begun = True
            self._connection.execute("BEGIN IMMEDIATE")
        if not self._connection.in_transaction:
            raise DiskTrouble(
                f"{self.path}: writing: an earlier statement failed; all is undone, and may be "
                "tried again"
            )

    @property
    def is_broken(self) -> bool:
        """A commit failed in a way that leaves open whether it happened."""
        return self._tables.broken is not None

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` where only opening it anew helps."""
        if self._tables.broken is not None:
            raise StoreBroken(
                f"{self._tables.broken}; nothing more is written until it is opened anew"
            )


def _make_own(path: Path) -> None:
    """Its owner's alone from the first moment; SQLite gives the files beside it the same mode. What
    fails here fails again when it is opened, and is told then."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if path.stat().st_size > CHECK_BYTES_MAX:
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StoreError(f"{path}: the manifest is damaged: {verdict}; restore it from a copy")


def _explained(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    """The error on which a caller acts. The low byte of SQLite's code is the kind."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    kind: type[StoreError] = DiskTrouble if code in TROUBLE else StoreError
    if code == sqlite3.SQLITE_FULL:
        kind = DiskFull
    return kind(f"{path}: {doing}: {error}")
