"""What memory has of the disk: it changes with the commit, in one step, or not at all."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_kit import FaultyConnection

from headwater.errors import DiskFull, DiskTrouble, StoreBroken
from headwater.store.manifest import Manifest, Schema
from headwater.store.mirror import Mirror

SCHEMA = Schema("test", 77, (("CREATE TABLE t (a INTEGER)",),))


@pytest.fixture
def manifest(tmp_path: Path) -> Iterator[Manifest]:
    opened = Manifest.open(tmp_path / "m.sqlite", SCHEMA)
    yield opened
    opened.close()


@pytest.fixture
def mirror(manifest: Manifest) -> Mirror[list[int]]:
    return Mirror(manifest, [1], list)


def seen_by_another(mirror: Mirror[list[int]]) -> list[int]:
    """What a thread sees that is in no transaction; it must not have to wait for the lock."""
    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(mirror.value))
    thread.start()
    thread.join(120)
    return found[0]


def test_a_change_is_seen_inside_its_transaction_and_by_others_after_the_commit(
    manifest: Manifest, mirror: Mirror[list[int]]
) -> None:
    with manifest.transaction():
        mirror.change().append(2)
        mirror.change().append(3)
        assert mirror.value == [1, 2, 3]
        assert seen_by_another(mirror) == [1]
    assert mirror.value == seen_by_another(mirror) == [1, 2, 3]


def test_a_change_vanishes_with_a_transaction_that_fails(
    manifest: Manifest, mirror: Mirror[list[int]]
) -> None:
    def fail() -> None:
        with manifest.transaction():
            mirror.change().append(2)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert mirror.value == [1]
    with manifest.transaction():
        mirror.change().append(4)
    assert mirror.value == [1, 4], "nothing of the failed one was left behind"


@pytest.mark.parametrize(
    ("code", "error"), [(sqlite3.SQLITE_FULL, DiskFull), (sqlite3.SQLITE_IOERR_FSYNC, StoreBroken)]
)
def test_a_commit_that_fails_changes_nothing_in_memory(
    manifest: Manifest, mirror: Mirror[list[int]], code: int, error: type[Exception]
) -> None:
    called: list[int] = []
    FaultyConnection.put_into(manifest, lambda sql: code if sql == "COMMIT" else 0)

    def change() -> None:
        with manifest.transaction():
            manifest.run("INSERT INTO t VALUES (1)")
            mirror.change().append(2)
            manifest.after_commit(lambda: called.append(1))

    with pytest.raises(error):
        change()
    assert (mirror.value, called) == ([1], [])
    assert manifest.all("SELECT a FROM t") == []


def test_what_follows_a_commit_is_done_before_anybody_else_has_the_lock(manifest: Manifest) -> None:
    order: list[str] = []

    def look() -> None:
        with manifest.lock:
            order.append("another")

    other = threading.Thread(target=look)
    with manifest.transaction():
        other.start()
        manifest.after_commit(lambda: order.append("after"))
    other.join(120)
    assert order == ["after", "another"]


def test_memory_is_changed_by_whoever_has_the_transaction_only(
    manifest: Manifest, mirror: Mirror[list[int]]
) -> None:
    with pytest.raises(AssertionError, match="only a transaction"):
        mirror.change()
    with pytest.raises(AssertionError, match="one call is one"), manifest.transaction():  # noqa: SIM117
        with manifest.transaction():
            pass


def test_after_a_statement_that_undid_the_transaction_none_is_run_by_itself(
    manifest: Manifest,
) -> None:
    """SQLite rolls a transaction back by itself when a statement meets a failing disk."""

    def undone() -> None:
        with manifest.transaction():
            manifest.run("INSERT INTO t VALUES (1)")
            manifest._connection.execute("ROLLBACK")
            manifest.run("INSERT INTO t VALUES (2)")

    with pytest.raises(DiskTrouble, match="all is undone"):
        undone()
    assert manifest.all("SELECT a FROM t") == []
    assert not manifest.is_broken
