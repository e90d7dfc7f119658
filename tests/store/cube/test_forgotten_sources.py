"""A source that is removed and made anew while its former self is still being read."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import QUERY, SOURCE, CubeUser, FaultyConnection, FaultyDisk, gave

from headwater.edge.record import EdgeRecord
from headwater.errors import DiskTrouble, EpochOver, SourceForgotten, StoreError
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import Start
from headwater.store.input.new_cut import NewCut

Open = Callable[..., CubeUser]


def made_anew(user: CubeUser) -> None:
    user.cube.cuts.forget_source(SOURCE)
    user.cube.cuts.open_source(SOURCE)


def follower_of(user: CubeUser, directory: Path) -> LogFollower:
    directory.mkdir(exist_ok=True)
    return LogFollower(
        user.cube.cuts, user.glob(directory, "*.log"), source=SOURCE, start=Start.BEGINNING
    )


def test_a_poll_of_a_forgotten_source_writes_nothing_into_the_new_one(
    user: CubeUser, tmp_path: Path
) -> None:
    old = follower_of(user, tmp_path / "logs")
    old.poll(now_s=1.0)
    (tmp_path / "logs" / "a.log").write_bytes(b"one\n")
    made_anew(user)
    with pytest.raises(SourceForgotten):
        old.poll(now_s=2.0)
    state = user.cube.cuts.state(SOURCE)
    assert (state.is_begun, state.last_cut, user.cube.cuts.files(state)) == (False, 0, [])
    assert user.cube.cuts.pending(SOURCE) == []
    assert list((user.directory / "spool").iterdir()) == [], "nor is a chunk left behind"
    assert user.cube.status().spool_bytes == 0


def test_a_poll_that_found_nothing_does_not_speak_for_the_new_source(user: CubeUser) -> None:
    old = user.cube.cuts.open_source(SOURCE)
    made_anew(user)
    with pytest.raises(SourceForgotten):
        user.cube.cuts.polled(old, started_s=10.0, is_clean=True)
    assert user.cube.cuts.state(SOURCE).read_through_s is None


def test_a_batch_of_a_forgotten_source_is_not_one_of_the_new(user: CubeUser) -> None:
    user.cut_input()
    old_epoch = user.cube.cuts.state(SOURCE).epoch
    made_anew(user)
    user.cut_input()  # the same cut number, and an epoch of its own
    with pytest.raises(EpochOver):
        user.cube.commit_batch(Batch(SOURCE, old_epoch, 0, 1), gave((5, "/old", 1)))
    assert user.cube.cuts.state(SOURCE).committed_cut == 0
    assert user.cube.status().waiting_rows == 0


def test_a_chunk_of_a_forgotten_source_is_not_set_aside_in_the_new(user: CubeUser) -> None:
    user.cut_input()
    old_epoch = user.cube.cuts.state(SOURCE).epoch
    made_anew(user)
    user.cut_input()
    with pytest.raises(EpochOver):
        user.cube.cuts.quarantine(SOURCE, 1, epoch=old_epoch)
    assert [chunk.cut for chunk in user.cube.cuts.pending(SOURCE)] == [1]


def test_a_batch_of_a_source_that_is_not_there_is_over(user: CubeUser) -> None:
    user.cut_input()
    user.cube.cuts.forget_source(SOURCE)
    with pytest.raises(SourceForgotten):
        user.cube.commit_batch(Batch(SOURCE, 1, 0, 1), SiteOutcome())


def test_numbers_and_epochs_are_not_used_again_after_a_restart(user: CubeUser) -> None:
    cuts = user.cube.cuts
    old = cuts.open_source(SOURCE)
    epoch = cuts.begin_epoch(SOURCE)
    cuts.forget_source(SOURCE)
    user.reopen()
    new = user.cube.cuts.open_source(SOURCE)
    assert new.id > old.id
    assert user.cube.cuts.begin_epoch(SOURCE) > epoch


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE])
def test_a_source_that_could_not_be_forgotten_or_made_is_as_it_was(
    user: CubeUser, code: int
) -> None:
    user.cut_input()
    cuts = user.cube.cuts
    failing = True
    FaultyConnection.put_into(
        user.cube.manifest,
        lambda sql: code if failing and sql.startswith(("DELETE", "INSERT", "UPDATE")) else 0,
    )
    for call in (
        lambda: cuts.forget_source(SOURCE),
        lambda: cuts.open_source("other"),
        lambda: cuts.begin_epoch(SOURCE),
    ):
        with pytest.raises(StoreError):
            call()
    assert (cuts.names(), cuts.state(SOURCE).epoch) == ((SOURCE,), 1)
    assert len(cuts.pending(SOURCE)) == 1
    failing = False
    assert cuts.open_source("other").name == "other"


# Chunks that can't be looked at


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.EACCES, errno.ESTALE])
def test_a_chunk_that_can_not_be_looked_at_now_is_not_lost(
    open_cube: Open, faulty_disk: FaultyDisk, code: int
) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    user.cut_input()
    faulty_disk.fail["stat"] = code
    with pytest.raises(DiskTrouble):
        user.cube.cuts.pending(SOURCE)
    faulty_disk.fail.clear()
    assert [chunk.cut for chunk in user.cube.cuts.pending(SOURCE)] == [1]
    assert not user.cube.cuts.state(SOURCE).losses


@pytest.mark.parametrize("comes_back_as", ["nothing", "an empty directory"])
def test_chunks_on_a_disk_that_is_not_mounted_are_not_lost(
    user: CubeUser, comes_back_as: str
) -> None:
    user.cut_input()
    spool, away = user.directory / "spool", user.directory / "away"
    spool.rename(away)
    if comes_back_as == "an empty directory":
        spool.mkdir()
    with pytest.raises(DiskTrouble, match="mounted"):
        user.cube.cuts.pending(SOURCE)
    if spool.exists():
        spool.rmdir()
    away.rename(spool)
    assert [chunk.cut for chunk in user.cube.cuts.pending(SOURCE)] == [1]
    assert not user.cube.cuts.state(SOURCE).losses


def test_a_chunk_that_was_freed_while_somebody_looked_is_not_lost(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = user.cube.cuts
    user.cut_input()
    listed = cuts.pending(SOURCE)
    bounded = cuts._bounded

    def later(*args: object) -> object:
        monkeypatch.undo()
        for batch in range(2):
            through = 1 if batch == 0 else user.cut_input()
            user.cube.commit_batch(Batch(SOURCE, 1, batch, through), SiteOutcome())
        assert not listed[0].path.exists()
        return bounded(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(cuts, "_bounded", later)
    assert cuts.pending(SOURCE) == []
    assert not cuts.state(SOURCE).losses


def test_what_a_source_has_goes_with_it(user: CubeUser) -> None:
    user.cube.write([])
    user.commit((5, "/a", 1), (6, "/b", 2))
    user.cut_input()
    state = user.cube.cuts.state(SOURCE)
    user.cube.cuts.forget_source(SOURCE)
    for table in ("cuts", "batches", "files", "losses"):
        assert user.cube.manifest.all(f"SELECT * FROM {table}") == []
    assert user.cube.cuts.open_source(SOURCE).id > state.id


def test_a_record_is_never_taken_for_that_of_a_later_query(user: CubeUser) -> None:
    """A query's number is not used again, as long as the cube lives."""
    number = user.cube._queries.number(QUERY)
    with user.cube.manifest.transaction():
        user.cube._queries.forget(QUERY)
    user.cube.write([])
    with user.cube.manifest.transaction():
        again = user.cube._queries.write_record("later@home#2", EdgeRecord(first_pane=0))
    assert number is not None
    assert again > number


def test_a_finite_chunk_is_a_cut_like_others(user: CubeUser, tmp_path: Path) -> None:
    """An input's own file that is gone is lost; its directory that is gone is trouble."""
    away = tmp_path / "input"
    away.mkdir()
    (away / "a.log").write_bytes(b"x\n")
    state = user.cube.cuts.open_source(SOURCE)
    cut = NewCut("a", 0, 2, str(away / "a.log"), 2, 0)
    user.cube.cuts.register(state, [cut], poll_s=0.0)
    away.rename(tmp_path / "elsewhere")
    with pytest.raises(DiskTrouble):
        user.cube.cuts.pending(SOURCE)
    away.mkdir()
    assert user.cube.cuts.pending(SOURCE) == []
    assert [loss.bytes for loss in state.losses.values()] == [2]
