"""A site's own count of what it reads for a query moves with the committed cut alone."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest
from store_kit import QUERY, SOURCE, CubeUser, FaultyDisk, batch_of

from headwater.algebra.panes import WindowSpec
from headwater.edge.outputs import Remember
from headwater.edge.record import EdgeRecord
from headwater.errors import DiskFull
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome

WINDOW = WindowSpec(10, 10)


def counting(through: int | None, *rows: tuple[int, str, int], **more: Any) -> SiteOutcome:
    table = batch_of(*rows) if rows else None
    return SiteOutcome((QueryResult(QUERY, table, counted_through=through, **more),))


def commit(user: CubeUser, number: int, outcome: SiteOutcome, *, cut: int | None = None) -> Any:
    through = user.cut_input() if cut is None else cut
    return user.cube.commit_batch(Batch(SOURCE, 1, number, through), outcome)


def counted(user: CubeUser) -> int:
    return user.cube.counted(QUERY, WINDOW)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_batch_that_comes_again_counts_once(user: CubeUser, restarts: bool) -> None:
    commit(user, 1, counting(7, (0, "/a", 7)))
    if restarts:
        user.reopen()
    assert counted(user) == 7, "so the next batch begins where this one ended"
    again = commit(user, 1, counting(14, (0, "/a", 3), (1, "/a", 4)), cut=1)
    assert (again.queries, counted(user)) == ((), 7)


def test_a_batch_without_rows_counts_too_and_says_so(user: CubeUser) -> None:
    report = commit(user, 1, counting(25))
    assert [one.counted_through for one in report.queries] == [25]
    assert counted(user) == 25


def test_what_was_not_committed_is_not_counted(
    open_cube: Callable[..., CubeUser], faulty_disk: FaultyDisk
) -> None:
    user = open_cube(disk=faulty_disk)
    user.install()
    commit(user, 1, counting(7, (0, "/a", 7)))
    cut = user.cut_input()
    faulty_disk.fail["write_new"] = errno.ENOSPC
    with pytest.raises(DiskFull):
        commit(user, 2, counting(12, (0, "/a", 3), (1, "/a", 2)), cut=cut)
    assert counted(user) == 7


def test_a_failed_batch_counts_nothing(user: CubeUser) -> None:
    commit(user, 1, counting(7))
    commit(user, 2, counting(None, failed="[DIVIDE_BY_ZERO]"))
    assert counted(user) == 7


def test_what_the_edge_writes_does_not_set_the_count_back(user: CubeUser) -> None:
    commit(user, 1, counting(7))
    user.cube.write([Remember(QUERY, EdgeRecord(first_pane=0, message="x"))])
    user.reopen()
    (kept,) = user.cube.restore()
    assert (counted(user), kept.record.counted, kept.record.message) == (7, 7, "x")


def test_a_count_goes_on_with_the_first_pane_that_the_site_answers_for(user: CubeUser) -> None:
    commit(user, 1, counting(7))
    user.cube.write([Remember(QUERY, EdgeRecord(first_pane=4))])
    assert counted(user) == 40
    commit(user, 2, counting(45, (4, "/a", 5)))
    assert counted(user) == 45
