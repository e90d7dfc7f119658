"""Cuts: what Spark is offered, what is freed, and how far a source is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_kit import QUERY, SOURCE, CubeUser, batch_of

from headwater.errors import StoreError
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.input.new_cut import NewCut


def cuts_of(user: CubeUser, count: int, *, size: int = 10) -> None:
    cuts = user.cube.cuts
    state = cuts.open_source(SOURCE)
    new = [
        NewCut("f", 0, size, cuts.spool.write("chunk", [b"x" * size]), size, size)
        for _ in range(count)
    ]
    cuts.register(state, new, poll_s=user.clock())


def commit(user: CubeUser, epoch: int, batch_id: int, through_cut: int) -> object:
    return user.cube.commit_batch(Batch(SOURCE, epoch, batch_id, through_cut), SiteOutcome())


def numbers(user: CubeUser, **options: int) -> list[int]:
    return [chunk.cut for chunk in user.cube.cuts.pending(SOURCE, **options)]


def test_pending_is_bounded_by_bytes_and_count_and_never_empty_handed(user: CubeUser) -> None:
    cuts_of(user, 5)
    assert numbers(user) == [1, 2, 3, 4, 5]
    assert numbers(user, bytes_max=25) == [1, 2]
    assert numbers(user, bytes_max=1) == [1]
    assert numbers(user, count_max=3) == [1, 2, 3]
    assert numbers(user, after_cut=3) == [4, 5]


def test_pending_begins_after_the_committed_cut_also_after_a_restart(user: CubeUser) -> None:
    cuts_of(user, 3)
    commit(user, user.cube.cuts.begin_epoch(SOURCE), 0, 2)
    user.reopen()
    assert numbers(user) == [3]
    assert numbers(user, after_cut=0) == [3]


def test_pending_never_goes_back_behind_the_committed_cut(user: CubeUser) -> None:
    for _ in range(2):
        user.commit((5, "/a", 1))
    last = user.cut_input()
    assert [chunk.cut for chunk in user.cube.cuts.pending(SOURCE, after_cut=1)] == [last]


def test_a_chunk_stays_until_the_batch_after_its_own_is_committed(user: CubeUser) -> None:
    """Spark may repeat its newest batch, so that batch's chunks must be there."""
    cuts_of(user, 3)
    paths = [chunk.path for chunk in user.cube.cuts.pending(SOURCE)]
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    commit(user, epoch, 0, 1)
    assert [path.exists() for path in paths] == [True, True, True]
    commit(user, epoch, 1, 2)
    assert [path.exists() for path in paths] == [False, True, True]
    assert user.cube.status().spool_bytes == 20


def test_a_new_epoch_frees_what_is_committed(user: CubeUser) -> None:
    cuts_of(user, 3)
    paths = [chunk.path for chunk in user.cube.cuts.pending(SOURCE)]
    commit(user, user.cube.cuts.begin_epoch(SOURCE), 0, 2)
    assert user.cube.cuts.begin_epoch(SOURCE) == 2
    assert [path.exists() for path in paths] == [False, False, True]


def test_a_batch_of_an_older_epoch_is_refused(user: CubeUser) -> None:
    cuts_of(user, 2)
    old = user.cube.cuts.begin_epoch(SOURCE)
    user.cube.cuts.begin_epoch(SOURCE)
    with pytest.raises(StoreError, match="another Spark has taken over"):
        commit(user, old, 0, 1)


def test_a_cut_that_does_not_exist_or_is_committed_already_is_refused(user: CubeUser) -> None:
    cuts_of(user, 2)
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    with pytest.raises(StoreError, match="up to 2, got 3"):
        commit(user, epoch, 0, 3)
    commit(user, epoch, 0, 2)
    rows = [QueryResult(QUERY, batch_of((5, "/a", 1)))]
    with pytest.raises(StoreError, match="committed already"):
        user.cube.commit_batch(Batch(SOURCE, epoch, 1, 1), SiteOutcome(tuple(rows)))


def test_a_batch_without_rows_over_cuts_that_were_all_lost_is_no_error(user: CubeUser) -> None:
    cuts_of(user, 2)
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    for cut in (1, 2):
        user.cube.cuts.quarantine(SOURCE, cut)
    commit(user, epoch, 0, 1)
    assert user.cube.cuts.state(SOURCE).committed_cut == 2


def test_read_through_is_the_newest_clean_poll_whose_cuts_are_all_committed(user: CubeUser) -> None:
    """Polls at 10 (two cuts), 20 (one cut) and 30 (nothing new); commits follow."""
    cuts = user.cube.cuts
    state = cuts.open_source(SOURCE)
    cuts_of(user, 2)
    assert cuts.polled(state, started_s=10.0, is_clean=True) is None
    cuts_of(user, 1)
    assert cuts.polled(state, started_s=20.0, is_clean=True) is None
    assert cuts.polled(state, started_s=30.0, is_clean=True) is None
    epoch = cuts.begin_epoch(SOURCE)
    seen = [commit(user, epoch, batch, through) for batch, through in enumerate((1, 2, 3))]
    assert [report.read_through_s for report in seen] == [None, 10.0, 30.0]  # type: ignore[attr-defined]


def test_a_poll_that_finds_nothing_new_is_reported_at_once(user: CubeUser) -> None:
    state = user.cube.cuts.open_source(SOURCE)
    report = user.cube.cuts.polled(state, started_s=10.0, is_clean=True)
    assert report is not None
    assert (report.queries, report.read_through_s, report.ended) == ((), 10.0, False)


def test_while_a_source_is_behind_nothing_is_said_to_be_read_through(user: CubeUser) -> None:
    cuts = user.cube.cuts
    state = cuts.open_source(SOURCE)
    cuts.polled(state, started_s=10.0, is_clean=True)
    report = cuts.polled(state, started_s=20.0, is_clean=False)
    assert report is not None
    assert report.read_through_s is None


def test_a_chunk_that_vanished_is_counted_as_lost_and_left_out(user: CubeUser) -> None:
    cuts_of(user, 3)
    user.cube.cuts.pending(SOURCE)[0].path.unlink()
    assert numbers(user) == [2, 3]
    assert user.cube.cuts.state(SOURCE).committed_cut == 1
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    assert commit(user, epoch, 0, 3).lost_bytes == 10  # type: ignore[attr-defined]


def test_a_chunk_that_spark_can_not_read_is_set_aside_not_deleted(user: CubeUser) -> None:
    cuts_of(user, 2)
    path = user.cube.cuts.pending(SOURCE)[1].path
    user.cube.cuts.quarantine(SOURCE, 2)
    assert numbers(user) == [1]
    aside: Path = user.directory / "quarantine" / path.name
    assert aside.read_bytes() == b"x" * 10
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    report = commit(user, epoch, 0, 2)
    assert report.lost_bytes == 10  # type: ignore[attr-defined]


def test_a_chunk_whose_rows_are_committed_is_not_lost_any_more(user: CubeUser) -> None:
    """It stays until the batch after its own, and may turn out to be unreadable by then."""
    user.commit((5, "/a", 1))
    user.cube.cuts.quarantine(SOURCE, user.cube.cuts.state(SOURCE).committed_cut)
    assert not user.cube.cuts.state(SOURCE).losses


def test_a_loss_is_told_again_if_the_process_ended_right_after_telling_it(user: CubeUser) -> None:
    cuts_of(user, 1)
    user.cube.cuts.quarantine(SOURCE, 1)
    state = user.cube.cuts.state(SOURCE)
    told = user.cube.cuts.polled(state, started_s=10.0, is_clean=True)
    user.reopen()
    state = user.cube.cuts.state(SOURCE)
    again = user.cube.cuts.polled(state, started_s=20.0, is_clean=True)
    assert told is not None
    assert again is not None
    assert (told.lost_bytes, again.lost_bytes) == (10, 10)
    cuts_of(user, 1)
    user.reopen()
    assert not user.cube.cuts.state(SOURCE).losses


def test_a_loss_is_kept_until_every_query_of_the_source_knows_of_it(user: CubeUser) -> None:
    """One of the two has heard of it, the other's record was not written any more."""
    for query, heard in ((QUERY, 1), ("hits@home#2", 0)):
        user.install(query, source=SOURCE, loss_heard=heard)
    user.cut_input()
    user.cube.cuts.pending(SOURCE)[0].path.unlink()
    assert user.cube.cuts.pending(SOURCE) == []
    state = user.cube.cuts.state(SOURCE)
    user.cube.cuts.polled(state, started_s=1.0, is_clean=True)
    user.cube.cuts.register(state, [], poll_s=2.0)
    user.reopen()
    assert list(user.cube.cuts.state(SOURCE).losses) == [1]


def test_stray_chunks_of_a_crash_are_swept_at_the_start(user: CubeUser) -> None:
    cuts_of(user, 1)
    stray = user.cube.cuts.spool.write("stray", [b"x"])
    user.reopen()
    assert not (user.cube.cuts.spool.directory / stray).exists()
    assert numbers(user) == [1]


def test_a_forgotten_source_leaves_nothing_in_the_spool(user: CubeUser) -> None:
    cuts_of(user, 2)
    user.cube.cuts.forget_source(SOURCE)
    assert list(user.cube.cuts.spool.directory.iterdir()) == []
    assert user.cube.status().spool_bytes == 0
    with pytest.raises(StoreError, match="no source"):
        user.cube.cuts.pending(SOURCE)
