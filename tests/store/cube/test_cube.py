"""The cube: batches once, updates numbered and fixed, all of it back after a restart."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import MERGER, QUERY, SOURCE, CubeUser, FaultyDisk, batch_of, counts_of, gave

from headwater.algebra.words.site_state import Declined, Reason
from headwater.edge.outputs import (
    Expire,
    Forget,
    MakeUpdates,
    MarkAcked,
    MarkSent,
    MarkUnacked,
    Remember,
)
from headwater.edge.record import EdgeRecord, PaneKept
from headwater.errors import AlreadyRunning, DiskFull, SegmentDamaged, StoreError
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.image_packer import ImagePacker

Open = Callable[..., CubeUser]


def pane_of(user: CubeUser, pane: int, query: str = QUERY) -> PaneKept:
    kept = next(kept for kept in user.cube.restore() if kept.query == query)
    return next(one for one in kept.panes if one.pane == pane)


def damage_segments(user: CubeUser) -> None:
    for path in (user.directory / "segments").iterdir():
        image = bytearray(path.read_bytes())
        image[len(image) // 2] ^= 1
        path.write_bytes(image)


# Identity


def test_an_incarnation_is_made_with_the_cube_and_stays(user: CubeUser, open_cube: Open) -> None:
    incarnation, born_s = user.cube.incarnation, user.cube.born_s
    user.clock.now_s += 50
    user.reopen()
    assert (user.cube.incarnation, user.cube.born_s) == (incarnation, born_s)
    assert 0 < incarnation < 2**62


def test_another_sites_cube_and_a_second_agent_are_refused(user: CubeUser) -> None:
    open_ = type(user.cube).open
    with pytest.raises(AlreadyRunning):
        open_(user.directory, site="paris", facts=QueryFacts(lambda query: MERGER))
    user.cube.close()
    with pytest.raises(StoreError, match="'oslo'"):
        open_(user.directory, site="oslo", facts=QueryFacts(lambda query: MERGER))
    user.reopen()


# Batches


def test_a_batch_is_stored_by_pane_and_reported(user: CubeUser) -> None:
    report = user.commit((7, "/b", 1), (5, "/a", 2), (7, "/a", 3), high_time_us=9, unparsed=4)
    (batch,) = report.queries
    assert batch.panes == ((5, 1), (7, 2))
    assert (report.source, report.high_time_us, report.unparsed) == (SOURCE, 9, 4)
    user.make_updates(5, 7)
    assert counts_of(user.cube.rows(QUERY, 7, ((1, 1),))) == {"/b": 1, "/a": 3}


def test_a_batch_is_told_before_a_poll_can_find_that_nothing_waits(user: CubeUser) -> None:
    """Told later, a poll would say that all is read, and close panes without the rows."""
    heard: list[str] = []

    def poll() -> None:
        state = user.cube.cuts.state(SOURCE)
        report = user.cube.cuts.polled(state, started_s=9.0, is_clean=True)
        heard.append("poll" if report is not None else "poll, and something waits")

    poller = threading.Thread(target=poll)

    def told(_: object) -> None:
        poller.start()
        poller.join(0.2)
        heard.append("batch")

    user.cube.commit_batch(Batch(SOURCE, 1, 1, user.cut_input()), gave((5, "/a", 2)), told=told)
    poller.join()
    assert heard == ["batch", "poll"]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_batch_that_comes_again_changes_nothing(user: CubeUser, restarts: bool) -> None:
    user.commit((5, "/a", 2), batch_id=9, unparsed=3)
    if restarts:
        user.reopen()
    again = user.cube.commit_batch(Batch(SOURCE, 1, 9, 1), gave((5, "/a", 2), unparsed=3))
    assert (again.queries, again.unparsed) == ((), 0)
    user.make_updates(5)
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 2}


def test_what_a_query_could_not_use_is_reported_of_it_whether_it_failed_or_not(
    user: CubeUser,
) -> None:
    for number, failed in enumerate((None, "[DIVIDE_BY_ZERO]"), start=1):
        result = QueryResult(QUERY, failed=failed, malformed=3)
        batch = Batch(SOURCE, 1, number, user.cut_input())
        report = user.cube.commit_batch(batch, SiteOutcome((result,), unparsed=5))
        assert [one.malformed for one in report.queries] == [3]
        assert report.unparsed == 5


def test_a_batch_that_comes_again_counts_nothing_again(user: CubeUser) -> None:
    through = user.cut_input()
    batch, counts = Batch(SOURCE, 1, 1, through), SiteOutcome(unparsed=1, fenced=2, refused=3)
    first, again = (user.cube.commit_batch(batch, counts) for _ in range(2))
    assert (first.unparsed, first.fenced, first.refused) == (1, 2, 3)
    assert (again.unparsed, again.fenced, again.refused) == (0, 0, 0)


def test_a_batch_that_comes_again_with_further_input_commits_none_of_that(user: CubeUser) -> None:
    """The rows of its queries are stored, those of the further input are not."""
    user.commit((5, "/a", 2), batch_id=9)
    committed, further = user.cube.cuts.state(SOURCE).committed_cut, user.cut_input()
    assert further > committed
    user.cube.commit_batch(Batch(SOURCE, 1, 9, further), gave((5, "/a", 7)))
    assert user.cube.cuts.state(SOURCE).committed_cut == committed


def test_the_same_batch_number_of_a_new_epoch_is_another_batch(user: CubeUser) -> None:
    user.commit((5, "/a", 2), batch_id=0)
    epoch = user.cube.cuts.begin_epoch(SOURCE)
    user.commit((5, "/a", 3), batch_id=0, epoch=epoch)
    user.make_updates(5)
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 5}


def test_a_repeated_batch_stores_a_query_that_was_not_in_it_the_first_time(user: CubeUser) -> None:
    user.commit((5, "/a", 2), batch_id=9)
    user.install("late@home#2")
    results = [
        QueryResult(QUERY, batch_of((5, "/a", 2))),
        QueryResult("late@home#2", batch_of((5, "/a", 7))),
    ]
    report = user.cube.commit_batch(Batch(SOURCE, 1, 9, 1), SiteOutcome(tuple(results)))
    assert [batch.query for batch in report.queries] == ["late@home#2"]


def test_a_failed_query_stores_nothing_and_the_others_are_committed(user: CubeUser) -> None:
    user.install("bad@home#2")
    through = user.cut_input()
    report = user.cube.commit_batch(
        Batch(SOURCE, 1, 1, through),
        SiteOutcome(
            (
                QueryResult(
                    "bad@home#2", batch_of((5, "/", 1)), failed="divided by 0", touched=(5, 5)
                ),
                QueryResult(QUERY, batch_of((5, "/a", 1))),
            )
        ),
    )
    bad, good = report.queries
    assert (bad.failed, bad.touched, bad.panes) == ("divided by 0", (5, 5), ())
    assert good.panes == ((5, 1),)


def test_rows_before_the_first_pane_and_of_sealed_panes_are_counted_not_stored(
    user: CubeUser,
) -> None:
    user.cube.write([Remember(QUERY, EdgeRecord(first_pane=3, sealed_through=5))])
    report = user.commit((2, "/", 1), (4, "/", 1), (5, "/", 1), (2, "/x", 1))
    (batch,) = report.queries
    assert (batch.panes, batch.too_late, batch.before_begin) == (((5, 1),), 1, 2)
    (batch,) = user.commit((1, "/", 1), (4, "/", 1), (3, "/", 1)).queries
    assert (batch.panes, batch.too_late, batch.before_begin) == ((), 2, 1)


def test_a_result_of_a_query_that_was_removed_meanwhile_is_dropped(user: CubeUser) -> None:
    user.cube.write([Forget(QUERY)])
    assert user.commit((5, "/a", 1)).queries == ()
    assert user.cube.status().segments == 0


@pytest.mark.parametrize("verb", ["write_new", "sync_file", "sync_directory"])
def test_a_full_disk_commits_nothing_and_the_same_batch_can_be_tried_again(
    open_cube: Open, faulty_disk: FaultyDisk, verb: str
) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    through = user.cut_input()
    batch = Batch(SOURCE, 1, 1, through)
    faulty_disk.fail[verb] = errno.ENOSPC
    with pytest.raises(DiskFull):
        user.cube.commit_batch(batch, gave((5, "/a", 1)))
    assert user.cube.cuts.state(SOURCE).committed_cut == 0
    assert user.cube.status().waiting_rows == 0
    faulty_disk.fail.clear()
    report = user.cube.commit_batch(batch, gave((5, "/a", 1)))
    assert report.queries[0].panes == ((5, 1),)


def test_a_full_manifest_commits_nothing_and_leaves_no_segment(user: CubeUser) -> None:
    (pages,) = user.cube.manifest.one("PRAGMA page_count")
    through = user.cut_input()
    user.cube.manifest.run(f"PRAGMA max_page_count = {pages}")
    rows = [(pane, "/", 1) for pane in range(5000)]
    result = QueryResult(QUERY, batch_of(*rows))
    with pytest.raises(DiskFull):
        user.cube.commit_batch(Batch(SOURCE, 1, 1, through), SiteOutcome((result,)))
    assert list((user.directory / "segments").iterdir()) == []
    user.cube.manifest.run("PRAGMA max_page_count = 1000000")
    report = user.cube.commit_batch(Batch(SOURCE, 1, 1, through), SiteOutcome((result,)))
    assert len(report.queries[0].panes) == 5000


# Updates


def test_an_update_is_the_merge_of_all_that_waited(user: CubeUser) -> None:
    user.commit((5, "/a", 1), (5, "/b", 1))
    user.commit((5, "/a", 10), (6, "/c", 1))
    (done,) = user.make_updates(5)
    assert (done.pane, done.first_update, done.last_update) == (5, 1, 1)
    assert done.row_bytes > 0
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 11, "/b": 1}
    assert pane_of(user, 6).waiting_rows == 1


def test_a_late_row_makes_a_further_update_and_the_first_stays_as_it_was(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.commit((5, "/a", 2))
    (done,) = user.make_updates(5)
    assert (done.first_update, done.last_update) == (2, 2)
    user.reopen()
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 1}
    assert counts_of(user.cube.rows(QUERY, 5, ((2, 2),))) == {"/a": 2}
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 2),))) == {"/a": 3}


def test_a_pane_with_nothing_waiting_gets_no_update(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    done = user.make_updates(5, 9)
    assert [(d.pane, d.first_update, d.last_update) for d in done] == [(5, 2, 1), (9, 1, 0)]


def test_a_large_pane_is_cut_into_several_updates_that_together_are_the_pane(
    open_cube: Open,
) -> None:
    user = open_cube(summary_bytes_max=200)
    user.install()
    user.commit(*((5, f"/{n}", n) for n in range(100)))
    (done,) = user.make_updates(5)
    assert done.last_update > 5
    assert done.row_bytes <= 200
    tables = [user.cube.rows(QUERY, 5, ((n, n),)) for n in range(1, done.last_update + 1)]
    assert sum(table.num_rows for table in tables) == 100
    assert all(MERGER.size_bytes(table) <= 200 for table in tables)
    whole = user.cube.rows(QUERY, 5, ((1, done.last_update),))
    assert counts_of(whole) == {f"/{n}": n for n in range(100)}


def test_the_rows_of_an_update_have_the_schema_of_a_summary(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.commit((6, "/a", 1))
    user.commit((6, "/a", 1))
    user.make_updates(5, 6)
    user.reopen()
    for pane in (5, 6):
        assert user.cube.rows(QUERY, pane, ((1, 1),)).schema.equals(MERGER.schema)


def test_a_group_that_overflows_leaves_apart_in_one_update_with_the_others(user: CubeUser) -> None:
    user.commit((5, "/a", 2**63 - 1), (5, "/b", 1))
    user.commit((5, "/a", 1), (5, "/b", 2))
    (done,) = user.make_updates(5)
    assert (done.first_update, done.last_update) == (1, 1)
    rows = user.cube.rows(QUERY, 5, ((1, 1),)).to_pylist()
    assert sorted(row["n"] for row in rows) == [1, 3, 2**63 - 1]


def test_updates_of_a_group_that_overflows_are_loaded_with_the_others_merged(
    user: CubeUser,
) -> None:
    for rows in ([(5, "/a", 2**63 - 1), (5, "/b", 1)], [(5, "/a", 1), (5, "/b", 2)]):
        user.commit(*rows)
        user.make_updates(5)
    rows = user.cube.rows(QUERY, 5, ((1, 2),)).to_pylist()
    assert sorted(row["n"] for row in rows) == [1, 3, 2**63 - 1]


def test_rows_committed_while_a_cut_is_planned_wait_for_the_next(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    packer = ImagePacker(user.cube._rows.store)
    wanted = MakeUpdates(QUERY, (5,), EdgeRecord(first_pane=0), True)
    prepared = user.cube._maker.prepare(wanted, packer)
    user.commit((5, "/a", 2))
    with user.cube.manifest.transaction():
        user.cube._maker.write(prepared, now_s=1.0)
    assert pane_of(user, 5).waiting_rows == 1
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/a": 1}


def test_segments_whose_rows_were_merged_elsewhere_are_removed(user: CubeUser) -> None:
    for n in range(10):
        user.commit((5, "/a", n))
    assert len(list((user.directory / "segments").iterdir())) == 10
    user.make_updates(5)
    assert len(list((user.directory / "segments").iterdir())) == 1


def test_all_writes_of_a_call_are_one_transaction(user: CubeUser) -> None:
    user.commit((5, "/a", 1), (6, "/a", 1))
    record = EdgeRecord(first_pane=0, closed_through=7)
    bad = MakeUpdates("query without a name\0", (5,), record, False)
    user.cube._maker._merger_of = lambda query: MERGER
    writes = [MakeUpdates(QUERY, (5, 6), record, True), bad]

    class Stop(Exception):
        pass

    original = user.cube._maker.write

    def fail_second(plan: object, **options: object) -> object:
        if plan.wanted is bad:  # type: ignore[attr-defined]
            raise Stop
        return original(plan, **options)  # type: ignore[arg-type]

    user.cube._maker.write = fail_second  # type: ignore[assignment, method-assign]
    with pytest.raises(Stop):
        user.cube.write(writes)
    assert pane_of(user, 5).updates == 0
    assert user.cube.restore()[0].record.closed_through != 7


# Marks and restoring


def test_everything_an_edge_needs_comes_back_after_a_restart(user: CubeUser) -> None:
    user.commit((5, "/a", 1), (6, "/a", 1), (7, "/a", 1))
    record = EdgeRecord(
        first_pane=0, closed_through=7, declined=(Declined(first=1, last=2, reason=Reason.LOST),)
    )
    user.cube.write([MakeUpdates(QUERY, (5, 6), record, False), MarkSent(QUERY, ((6, 1, 1),))])
    user.cube.write([MarkAcked(QUERY, ((6, 6),), 0, record)])
    user.commit((6, "/b", 1))
    user.reopen()
    (kept,) = user.cube.restore()
    assert kept.record == record
    five, six, seven = kept.panes
    assert (five.updates, five.sent, five.is_acked, five.waiting_rows) == (1, (), False, 0)
    assert (six.updates, six.sent, six.is_acked, six.waiting_rows) == (1, ((1, 1),), True, 1)
    assert (seven.updates, seven.waiting_rows, seven.written_s) == (0, 1, user.clock())


def test_a_further_update_takes_the_acknowledgement_away(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.cube.write([MarkAcked(QUERY, ((5, 5),), 0, EdgeRecord(first_pane=0))])
    assert pane_of(user, 5).is_acked
    user.commit((5, "/a", 1))
    user.make_updates(5)
    assert not pane_of(user, 5).is_acked


def test_a_root_that_began_anew_needs_everything_again(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5, sent=True)
    user.cube.write([MarkAcked(QUERY, ((0, 9),), 0, EdgeRecord(first_pane=0))])
    user.cube.write([MarkUnacked(QUERY)])
    assert not pane_of(user, 5).is_acked
    assert pane_of(user, 5).sent == ((1, 1),)


def test_panes_that_are_done_are_not_restored(user: CubeUser) -> None:
    user.commit((5, "/a", 1), (6, "/a", 1))
    user.make_updates(5, 6)
    user.cube.write([MarkAcked(QUERY, (), 6, EdgeRecord(first_pane=0, done_through=6))])
    (kept,) = user.cube.restore()
    assert [pane.pane for pane in kept.panes] == [6]


def test_an_expired_pane_is_gone_and_takes_no_more_rows(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    record = EdgeRecord(first_pane=0, declined=(Declined(first=5, last=5, reason=Reason.EXPIRED),))
    user.cube.write([Expire(QUERY, (5,), record)])
    with pytest.raises(StoreError, match="retention"):
        user.cube.rows(QUERY, 5, ((1, 1),))
    (batch,) = user.commit((5, "/a", 1), (6, "/a", 1)).queries
    assert (batch.panes, batch.too_late) == (((6, 1),), 1)
    assert user.cube.restore()[0].record == record
    user.reopen()
    assert user.commit((5, "/a", 1)).queries[0].too_late == 1


def test_a_forgotten_query_leaves_no_files(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    user.commit((6, "/a", 1))
    user.cube.write([Forget(QUERY)])
    assert user.cube.restore() == []
    assert list((user.directory / "segments").iterdir()) == []


# Damage


def cold_reopen(user: CubeUser) -> None:
    damage_segments(user)
    user.reopen()


def test_a_damaged_update_is_an_error_for_ever_and_its_file_is_kept_aside(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    user.make_updates(5)
    (name,) = [path.name for path in (user.directory / "segments").iterdir()]
    cold_reopen(user)
    for _ in range(2):
        with pytest.raises(SegmentDamaged):
            user.cube.rows(QUERY, 5, ((1, 1),))
    assert (user.directory / "quarantine" / name).exists()
    user.cube.write([Expire(QUERY, (5,), EdgeRecord(first_pane=0))])
    assert (user.directory / "quarantine" / name).exists()


def test_waiting_rows_that_are_damaged_are_declined_and_the_rest_is_cut(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    cold_reopen(user)
    user.commit((5, "/b", 2))
    (done,) = user.make_updates(5)
    assert (done.first_update, done.last_update) == (1, 1)
    assert not done.is_whole, "the edge learns of it with the cut, not a minute later"
    assert counts_of(user.cube.rows(QUERY, 5, ((1, 1),))) == {"/b": 2}
    user.reopen()
    assert user.cube.restore()[0].record.declined == (
        Declined(first=5, last=5, reason=Reason.LOST),
    )


def test_a_pane_all_of_whose_rows_are_damaged_does_not_look_empty(user: CubeUser) -> None:
    user.commit((5, "/a", 1))
    cold_reopen(user)
    (done,) = user.make_updates(5)
    assert (done.first_update, done.last_update) == (1, 1)
    assert user.cube.rows(QUERY, 5, ((1, 1),)).num_rows == 0
    assert not done.is_whole


def test_segments_can_be_read_by_anything(user: CubeUser) -> None:
    import pyarrow.parquet as pq

    user.commit((5, "/a", 1))
    user.commit((5, "/a", 2))
    user.make_updates(5)
    (path,) = (user.directory / "segments").iterdir()
    assert pq.read_table(path).to_pylist() == [{"pane": 5, "page": "/a", "n": 3}]
    assert isinstance(path, Path)
