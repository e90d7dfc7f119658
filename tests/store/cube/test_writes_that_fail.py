"""Batches and edge writes at the same time, on a disk that fails: every row once, or a word of it.

::

    Spark's thread   commit_batch ──► look ──► segment ──► transaction
    the edge's       write ─────────► transaction, which fails and is undone
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from store_kit import QUERY, SOURCE, Clock, CubeUser, FaultyConnection, batch_of, counts_of, gave

from headwater.edge.outputs import Forget, MakeUpdates, Remember
from headwater.edge.record import EdgeRecord
from headwater.errors import (
    DiskFull,
    EpochOver,
    QueryUnknown,
    SourceForgotten,
    StoreBroken,
    StoreError,
)
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.cube.cube import Cube
from headwater.store.disk import Disk
from headwater.store.input.source_state import Loss

Open = Callable[..., CubeUser]
SECOND = "hits@home#2"


def rows_in(cube: Cube, query: str = QUERY) -> Counter[str]:
    """All rows of all updates, and of those that wait, which are cut here."""
    kept = next(kept for kept in cube.restore() if kept.query == query)
    waiting = tuple(pane.pane for pane in kept.panes if pane.waiting_rows)
    if waiting:
        cube.write([MakeUpdates(query, waiting, kept.record, True)])
    found: Counter[str] = Counter()
    for pane in next(kept for kept in cube.restore() if kept.query == query).panes:
        if pane.updates:
            found.update(counts_of(cube.rows(query, pane.pane, ((1, pane.updates),))))
    return found


def batch(user: CubeUser, through: int, *rows: tuple[int, str, int], **options: Any) -> Any:
    epoch = options.pop("epoch", user.cube.cuts.state(SOURCE).epoch)
    of = Batch(SOURCE, epoch, options.pop("batch_id", through), through)
    return user.cube.commit_batch(of, gave(*rows), **options)


def once_written(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]
) -> None:
    """``then`` happens when segments are on the disk, and before anything names them."""
    write_segments = user.cube._rows.store.write

    def written(*args: Any) -> Any:
        segments = write_segments(*args)
        monkeypatch.undo()
        then()
        return segments

    monkeypatch.setattr(user.cube._rows.store, "write", written)


# One after the other, at chosen moments


def test_a_batch_is_stored_while_a_failed_write_is_being_undone(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch waits for the lock that the failing write has, and gets it as soon as that lets
    go; whatever the other does then, it does too late."""
    through = user.cut_input()
    at_the_door, is_committed = threading.Event(), threading.Event()
    state = user.cube.cuts.state

    def asked(name: str) -> Any:
        at_the_door.set()
        return state(name)

    monkeypatch.setattr(user.cube.cuts, "state", asked)
    spark = threading.Thread(
        target=lambda: (batch(user, through, (5, "/a", 1)), is_committed.set())
    )

    def fail(*_: Any, **__: Any) -> None:
        spark.start()
        assert at_the_door.wait(120)
        raise StoreError("the disk fails")

    monkeypatch.setattr(user.cube._queries, "write_record", fail)
    look = user.cube.manifest.all

    def late(*args: Any) -> Any:
        if threading.current_thread() is not spark and at_the_door.is_set():
            is_committed.wait(120)
        return look(*args)

    monkeypatch.setattr(user.cube.manifest, "all", late)
    with pytest.raises(StoreError, match="the disk fails"):
        user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0))])
    spark.join(120)
    monkeypatch.undo()
    assert user.cube.cuts.state(SOURCE).committed_cut == through
    assert rows_in(user.cube) == {"/a": 1}


def test_a_record_that_was_not_committed_decides_nothing(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sealed by a write that fails is not sealed, neither while it is under way."""
    seen: list[bool] = []
    queries = user.cube._queries
    write_record = queries.write_record

    def look() -> None:
        seen.append(queries.takes(QUERY)(5))

    class Stop(Exception):
        pass

    def stop(*record: Any) -> None:
        write_record(*record)
        other = threading.Thread(target=look)
        other.start()
        other.join(120)
        raise Stop

    monkeypatch.setattr(queries, "write_record", stop)
    with pytest.raises(Stop):
        user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0, sealed_through=9))])
    look()
    assert seen == [True, True]


def test_a_batch_of_a_query_that_no_record_knows_yet_is_refused_and_comes_again(
    user: CubeUser,
) -> None:
    """Its record is on its way to the disk: the rows must not be passed over for good."""
    through = user.cut_input()
    outcome = SiteOutcome((QueryResult(QUERY, batch_of((5, "/a", 1))), QueryResult(SECOND, None)))
    whole = Batch(SOURCE, 1, 1, through)
    with pytest.raises(QueryUnknown, match="hits@home#2"):
        user.cube.commit_batch(whole, outcome)
    assert user.cube.cuts.state(SOURCE).committed_cut == 0
    assert list((user.directory / "segments").iterdir()) == []
    user.install(SECOND)
    user.cube.commit_batch(whole, outcome)
    assert rows_in(user.cube) == {"/a": 1}


def test_a_batch_of_a_query_that_was_removed_leaves_its_rows_behind(user: CubeUser) -> None:
    """Also of one that never had a record, and when it is removed while the segment is written."""
    through = user.cut_input()
    user.cube.write([Forget(QUERY), Forget(SECOND)])
    results = tuple(QueryResult(id_, batch_of((5, "/a", 1))) for id_ in (QUERY, SECOND))
    report = user.cube.commit_batch(Batch(SOURCE, 1, 1, through), SiteOutcome(results))
    assert report.queries == ()
    assert user.cube.cuts.state(SOURCE).committed_cut == through


def test_a_query_that_is_removed_while_its_rows_are_written_leaves_no_file(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = user.cut_input()
    once_written(user, monkeypatch, lambda: user.cube.write([Forget(QUERY)]))
    assert batch(user, through, (5, "/a", 1)).queries == ()
    assert list((user.directory / "segments").iterdir()) == []


def test_a_source_that_is_forgotten_while_rows_are_written_takes_none_of_them(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = user.cut_input()
    once_written(user, monkeypatch, lambda: user.cube.cuts.forget_source(SOURCE))
    with pytest.raises(SourceForgotten):
        batch(user, through, (5, "/a", 1))
    assert list((user.directory / "segments").iterdir()) == []


def test_who_interrupts_a_batch_leaves_no_file_behind(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = user.cut_input()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(user.cube.cuts, "commit_cut", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch(user, through, (5, "/a", 1))
    assert list((user.directory / "segments").iterdir()) == []


def test_nothing_that_follows_a_commit_is_done_before_it(user: CubeUser) -> None:
    """All statements work, and the commit itself finds no room: memory and files stay."""
    first, second = user.cut_input(), user.cut_input()
    batch(user, first, (5, "/a", 1))
    cuts, is_full = user.cube.cuts, True
    state, incarnation = cuts.state(SOURCE), user.cube.incarnation
    FaultyConnection.put_into(
        user.cube.manifest, lambda sql: sqlite3.SQLITE_FULL if is_full and sql == "COMMIT" else 0
    )
    (lost,) = cuts.pending(SOURCE)
    away = lost.path.rename(lost.path.with_suffix(".away"))
    for call in (
        lambda: batch(user, second, (5, "/b", 1)),
        lambda: cuts.begin_epoch(SOURCE),
        lambda: cuts.forget_source(SOURCE),
        lambda: cuts.open_source("other"),
        lambda: cuts.register(state, [], poll_s=1.0, loss=Loss(1)),
        lambda: cuts.pending(SOURCE),
        lambda: user.cube.live_anew(incarnation),
    ):
        with pytest.raises(DiskFull):
            call()
    away.rename(lost.path)
    assert (cuts.names(), user.cube.incarnation) == ((SOURCE,), incarnation)
    assert (state.epoch, state.last_cut, state.committed_cut) == (1, second, first)
    assert not state.losses
    assert len(list((user.directory / "spool").iterdir())) == 2, "also what the next one frees"
    is_full = False
    batch(user, second, (5, "/b", 1))
    assert rows_in(user.cube) == {"/a": 1, "/b": 1}


def test_a_batch_that_two_threads_bring_at_the_same_time_counts_once(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has looked before the other has committed."""
    through = user.cut_input()
    once_written(user, monkeypatch, lambda: batch(user, through, (5, "/a", 1)))
    batch(user, through, (5, "/a", 1))
    assert rows_in(user.cube) == {"/a": 1}
    assert user.cube.status().segments == len(list((user.directory / "segments").iterdir())) == 1


def test_rows_of_cuts_that_are_all_committed_are_refused_under_any_number(user: CubeUser) -> None:
    through = user.cut_input()
    batch(user, through, (5, "/a", 1))
    with pytest.raises(StoreError, match="committed already"):
        batch(user, through, (5, "/a", 1), batch_id=99)
    assert rows_in(user.cube) == {"/a": 1}


def test_a_loss_that_is_found_right_after_a_commit_does_not_set_the_cut_back(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gets the lock after the transaction finds memory as the disk is."""
    first, second, third = (user.cut_input() for _ in range(3))
    chunks = user.cube.cuts.pending(SOURCE)
    chunks[2].path.unlink()
    transaction = user.cube.manifest.transaction

    @contextlib.contextmanager
    def watched() -> Iterator[None]:
        with transaction():
            yield
        monkeypatch.undo()
        assert user.cube.cuts.pending(SOURCE) == []

    monkeypatch.setattr(user.cube.manifest, "transaction", watched)
    batch(user, second, (5, "/a", 1))
    assert (first, user.cube.cuts.state(SOURCE).committed_cut) == (1, third)
    user.reopen()
    assert user.cube.cuts.state(SOURCE).committed_cut == third
    assert user.cube.cuts.pending(SOURCE) == [], "or the batch would be read again"


def test_a_batch_of_which_nobody_knows_whether_it_happened_is_found_out_by_a_new_start(
    user: CubeUser,
) -> None:
    through = user.cut_input()
    inner = user.cube.manifest._connection

    def fails(sql: str) -> int:
        if sql != "COMMIT":
            return 0
        inner.execute("COMMIT")  # it did happen; only its word was lost
        return sqlite3.SQLITE_IOERR_FSYNC

    FaultyConnection.put_into(user.cube.manifest, fails)
    with pytest.raises(StoreBroken):
        batch(user, through, (5, "/a", 1))
    with pytest.raises(StoreBroken, match="opened anew"):
        user.cube.refuse_if_broken()
    user.reopen()
    assert rows_in(user.cube) == {"/a": 1}, "its segment was not removed"
    with pytest.raises(EpochOver):
        batch(user, through, (5, "/a", 1), epoch=user.cube.cuts.begin_epoch(SOURCE) - 1)


@pytest.mark.parametrize("who", ["rows", "retention", "write"])
def test_who_reads_segments_and_who_frees_them_take_turns(user: CubeUser, who: str) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    calls = {
        "rows": lambda: user.cube.rows(QUERY, 5, ((1, 1),)),
        "retention": lambda: user.cube.retention(now_s=user.clock()),
        "write": lambda: user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0))]),
    }
    thread = threading.Thread(target=calls[who])
    with user.cube._turn:
        thread.start()
        thread.join(0.2)
        assert thread.is_alive(), "it is another one's turn"
    thread.join(120)
    assert not thread.is_alive()


def test_a_cut_of_which_nobody_knows_whether_it_happened_keeps_its_merged_rows(
    user: CubeUser,
) -> None:
    for page in ("/a", "/b"):
        user.commit((5, page, 1))
    inner = user.cube.manifest._connection

    def fails(sql: str) -> int:
        if sql != "COMMIT":
            return 0
        inner.execute("COMMIT")
        return sqlite3.SQLITE_IOERR_FSYNC

    FaultyConnection.put_into(user.cube.manifest, fails)
    with pytest.raises(StoreBroken):
        user.make_updates(5)
    user.reopen()
    assert rows_in(user.cube) == {"/a": 1, "/b": 1}


# Many short runs


@pytest.mark.parametrize("seed", range(12))
def test_every_row_is_counted_once_while_edge_writes_fail(tmp_path: Path, seed: int) -> None:
    disk = EdgeFaults()
    user = CubeUser(tmp_path / "cube", Clock(), disk=disk)
    run = Run(user, disk, random.Random(seed))
    try:
        edge = threading.Thread(target=run.write_until_over)
        edge.start()
        run.commit_all(batches=30)
        run.is_over.set()
        edge.join(120)
        assert not run.broken, run.broken
        disk.thread = None
        assert run.failures, "nothing failed, so nothing was shown"
        assert rows_in(user.cube) == run.sent
        user.reopen()
        assert rows_in(user.cube) == run.sent
    finally:
        user.cube.close()


class EdgeFaults(Disk):
    """Fails under the edge's hands only, so that Spark's thread has no excuse."""

    thread: int | None = None
    chance = random.Random(0)

    def write_new(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        if threading.get_ident() == self.thread and self.chance.random() < 0.1:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        super().write_new(path, pieces)


class Run:
    """Batches of numbered rows in one thread; records and cuts that fail now and then in another,
    which tries each until it is taken."""

    def __init__(self, user: CubeUser, disk: EdgeFaults, chance: random.Random) -> None:
        self.user = user
        self.disk = disk
        self.chance = chance
        disk.chance = random.Random(chance.random())
        self.sent: Counter[str] = Counter()
        self.failures = 0
        self.broken = ""
        self.is_over = threading.Event()
        user.install()
        FaultyConnection.put_into(user.cube.manifest, self._fails)

    def _fails(self, sql: str) -> int:
        if threading.get_ident() != self.disk.thread or sql == "ROLLBACK":
            return 0
        if self.disk.chance.random() >= 0.08:
            return 0
        return sqlite3.SQLITE_FULL if sql == "COMMIT" else sqlite3.SQLITE_IOERR_WRITE

    def commit_all(self, *, batches: int) -> None:
        for number in range(1, batches + 1):
            through = self.user.cut_input()
            rows = [(self.chance.randrange(4), f"{number}-{n}", 1) for n in range(3)]
            self.sent.update(page for _, page, _ in rows)
            batch(self.user, through, *rows)

    def write_until_over(self) -> None:
        self.disk.thread = threading.get_ident()
        record = EdgeRecord(first_pane=0)
        try:
            while not self.is_over.is_set():
                panes = tuple(self.disk.chance.sample(range(4), 2))
                self._try([Remember(QUERY, record), MakeUpdates(QUERY, panes, record, True)])
        except BaseException as error:
            self.broken = repr(error)
            raise

    def _try(self, writes: list[Any]) -> None:
        try:
            self.user.cube.write(writes)
        except StoreBroken:
            raise
        except StoreError:
            self.failures += 1
