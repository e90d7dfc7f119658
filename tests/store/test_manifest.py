"""The manifest: versions, migrations, and commits that fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_kit import FaultyConnection

from headwater.errors import DiskFull, DiskTrouble, StoreBroken, StoreError
from headwater.store.disk import ScratchDisk
from headwater.store.manifest import Manifest, Schema

FIRST = ("CREATE TABLE t (a INTEGER)",)
SECOND = ("ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7",)
SCHEMA = Schema("test", 77, (FIRST,))

Open = Callable[..., Manifest]


@pytest.fixture
def open_manifest(tmp_path: Path) -> Iterator[Open]:
    opened: list[Manifest] = []

    def open_(schema: Schema = SCHEMA) -> Manifest:
        opened.append(Manifest.open(tmp_path / "m.sqlite", schema))
        return opened[-1]

    yield open_
    for manifest in opened:
        manifest.close()


def put(manifest: Manifest, value: int) -> None:
    with manifest.transaction():
        manifest.run("INSERT INTO t (a) VALUES (?)", (value,))


def put_and_fail(manifest: Manifest, value: int) -> None:
    with manifest.transaction():
        manifest.run("INSERT INTO t (a) VALUES (?)", (value,))
        manifest.run("INSERT INTO nowhere VALUES (1)")


def test_a_transaction_in_memory_begins_with_its_first_statement(tmp_path: Path) -> None:
    manifest = Manifest.open(tmp_path / "m.sqlite", SCHEMA, disk=ScratchDisk())
    told: list[str] = []
    with manifest.transaction():
        manifest.after_commit(lambda: told.append("nothing was written"))
    assert told == ["nothing was written"]
    assert manifest.is_untouched
    put(manifest, 1)
    with pytest.raises(StoreError, match="no such table"):
        put_and_fail(manifest, 2)
    with pytest.raises(ZeroDivisionError), manifest.transaction():
        raise ZeroDivisionError
    put(manifest, 3)
    assert manifest.all("SELECT a FROM t ORDER BY a") == [(1,), (3,)]
    assert told == ["nothing was written"]
    manifest.close()


def test_every_commit_waits_for_the_disk(open_manifest: Open) -> None:
    manifest = open_manifest()
    full = 2
    assert manifest.one("PRAGMA synchronous") == (full,)
    assert manifest.one("PRAGMA journal_mode") == ("wal",)


def test_an_old_file_is_brought_to_the_newest_version_with_its_rows(open_manifest: Open) -> None:
    old = open_manifest()
    put(old, 1)
    old.close()
    new = open_manifest(Schema("test", 77, (FIRST, SECOND)))
    assert new.all("SELECT a, b FROM t") == [(1, 7)]


def test_a_file_of_a_newer_version_is_refused(open_manifest: Open) -> None:
    open_manifest(Schema("test", 77, (FIRST, SECOND))).close()
    with pytest.raises(StoreError, match="newer Headwater"):
        open_manifest()


def test_a_file_from_before_the_oldest_version_is_refused_and_what_to_do_is_said(
    open_manifest: Open,
) -> None:
    open_manifest().close()
    with pytest.raises(StoreError, match=r"schema 1; .* from 2 on\); start 0.2 or 0.3 on"):
        open_manifest(Schema("test", 77, (FIRST,), oldest=2))


def test_versions_are_counted_from_the_oldest_that_is_opened(
    open_manifest: Open, tmp_path: Path
) -> None:
    made = open_manifest(Schema("test", 77, (FIRST,), oldest=5))
    put(made, 1)
    assert made.one("PRAGMA user_version") == (5,)
    made.close()
    new = open_manifest(Schema("test", 77, (FIRST, SECOND), oldest=5))
    assert (new.one("PRAGMA user_version"), new.all("SELECT a, b FROM t")) == ((6,), [(1, 7)])


def test_a_manifest_of_another_kind_is_refused_not_migrated(open_manifest: Open) -> None:
    open_manifest().close()
    with pytest.raises(StoreError, match="another kind"):
        open_manifest(Schema("other", 78, (FIRST, SECOND)))


def test_a_migration_that_fails_leaves_the_old_version(open_manifest: Open) -> None:
    open_manifest().close()
    with pytest.raises(StoreError):
        open_manifest(Schema("test", 77, (FIRST, ("CREATE TABLE u (x)", "nonsense"))))
    tables = open_manifest().all("SELECT name FROM sqlite_master WHERE type = 'table'")
    assert tables == [("t",)]


def test_a_damaged_file_is_said_to_be_damaged(open_manifest: Open, tmp_path: Path) -> None:
    manifest = open_manifest()
    with manifest.transaction():
        manifest.run_many("INSERT INTO t (a) VALUES (?)", ((value,) for value in range(2000)))
    manifest.close()
    image = bytearray((tmp_path / "m.sqlite").read_bytes())
    image[8192:12288] = b"\xa5" * 4096
    (tmp_path / "m.sqlite").write_bytes(image)
    with pytest.raises(StoreError):
        open_manifest()


def test_an_exception_inside_a_transaction_undoes_all_of_it(open_manifest: Open) -> None:
    manifest = open_manifest()

    def fail() -> None:
        with manifest.transaction():
            manifest.run("INSERT INTO t (a) VALUES (1)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert manifest.all("SELECT a FROM t") == []


def test_a_full_disk_is_told_apart_and_the_same_call_works_once_there_is_room(
    open_manifest: Open,
) -> None:
    manifest = open_manifest()
    (pages,) = manifest.one("PRAGMA page_count")
    manifest.run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFull), manifest.transaction():
        manifest.run_many("INSERT INTO t (a) VALUES (?)", ((n,) for n in range(5000)))
    assert manifest.one("SELECT count(*) FROM t") == (0,)
    manifest.run("PRAGMA max_page_count = 100000")
    with manifest.transaction():
        manifest.run_many("INSERT INTO t (a) VALUES (?)", ((n,) for n in range(5000)))
    assert manifest.one("SELECT count(*) FROM t") == (5000,)


class NoCommit:
    """A connection whose commits fail with an I/O error."""

    def __init__(self, inner: sqlite3.Connection) -> None:
        self._inner = inner

    def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
        if sql == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self._inner.execute(sql, *rest)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def test_after_a_commit_with_an_unknown_outcome_nothing_more_is_written(
    open_manifest: Open,
) -> None:
    manifest = open_manifest()
    put(manifest, 1)
    manifest._connection = NoCommit(manifest._connection)  # type: ignore[assignment]
    with pytest.raises(StoreBroken, match="disk I/O error"):
        put(manifest, 2)
    with pytest.raises(StoreBroken, match="opened anew"):
        put(manifest, 3)
    assert manifest.is_broken
    assert manifest.all("SELECT a FROM t") == [(1,)]


def test_a_table_that_others_refer_to_can_be_made_anew(open_manifest: Open) -> None:
    first = (
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        "CREATE TABLE children (of INTEGER NOT NULL REFERENCES parents ON DELETE CASCADE)",
        "INSERT INTO parents VALUES (1)",
        "INSERT INTO children VALUES (1)",
    )
    second = (
        "CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT)",
        "INSERT INTO other SELECT id FROM parents",
        "DROP TABLE parents",
        "ALTER TABLE other RENAME TO parents",
    )
    open_manifest(Schema("test", 77, (first,))).close()
    new = open_manifest(Schema("test", 77, (first, second)))
    assert new.all("SELECT of FROM children") == [(1,)]
    with new.transaction():
        new.run("DELETE FROM parents")
    assert new.all("SELECT of FROM children") == [], "they still refer to it"


def test_a_migration_that_leaves_rows_behind_is_refused(open_manifest: Open) -> None:
    first = (
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        "CREATE TABLE children (of INTEGER NOT NULL REFERENCES parents)",
        "INSERT INTO parents VALUES (1)",
        "INSERT INTO children VALUES (1)",
    )
    open_manifest(Schema("test", 77, (first,))).close()
    with pytest.raises(StoreError, match="children refer to nothing"):
        open_manifest(Schema("test", 77, (first, ("DELETE FROM parents",))))
    assert open_manifest(Schema("test", 77, (first,))).all("SELECT id FROM parents") == [(1,)]


def test_opening_puts_what_the_log_has_into_the_file(open_manifest: Open, tmp_path: Path) -> None:
    """A commit whose sync failed may be in the system's memory alone; what is built upon must be
    written anew."""
    put(open_manifest(), 1)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("m.sqlite", "m.sqlite-wal"):  # as a process leaves them that was killed
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    assert (copy / "m.sqlite-wal").stat().st_size
    opened = Manifest.open(copy / "m.sqlite", SCHEMA)
    assert (copy / "m.sqlite-wal").stat().st_size == 0
    assert opened.all("SELECT a FROM t") == [(1,)]
    opened.close()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_BUSY])
def test_trouble_that_changed_nothing_is_told_apart(open_manifest: Open, code: int) -> None:
    manifest = open_manifest()
    failing = [code]
    FaultyConnection.put_into(
        manifest, lambda sql: failing.pop() if failing and sql.startswith("INSERT") else 0
    )
    with pytest.raises(DiskTrouble):
        put(manifest, 1)
    put(manifest, 2)
    assert manifest.all("SELECT a FROM t") == [(2,)]


def test_a_transaction_that_can_not_be_undone_ends_all_writing(open_manifest: Open) -> None:
    manifest = open_manifest()

    class NoRollback(NoCommit):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql == "ROLLBACK":
                raise sqlite3.OperationalError("disk I/O error")
            return self._inner.execute(sql, *rest)  # type: ignore[arg-type]

    manifest._connection = NoRollback(manifest._connection)  # type: ignore[assignment]
    with pytest.raises(KeyError), manifest.transaction():
        raise KeyError
    with pytest.raises(StoreBroken, match="could not be undone"):
        put(manifest, 1)
