"""Keys that leave before the close of their pane, over a real disk.

What is left of them is derived, and the same after a crash at any point."""

from __future__ import annotations

import errno
import sqlite3
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_kit import MERGER, QUERY, CubeUser, FaultyConnection, FaultyDisk, counts_of, rows_of

from headwater.algebra.remainders.early_rows import EarlyRows, Taken, left_of
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.edge.outputs import MakeEarly, MakeUpdates, UpdatesMade
from headwater.errors import StoreError

EARLY = EarlyRows(("page",), ("n",))
TOLERANCE = Tolerance((ToleratedColumn("hits", "n", ErrorForm.TOTAL, 0.02),), Finally.EXACT)


@pytest.fixture
def user(open_cube: Callable[..., CubeUser]) -> CubeUser:
    opened = open_cube(early_of=lambda query: EARLY)
    opened.install()
    return opened


def wanted(*pages: str, pane: int = 101) -> MakeEarly:
    return MakeEarly(QUERY, pane, EARLY.hashes(rows_of(*((page, 0) for page in pages))))


def cut_early(user: CubeUser, *pages: str, pane: int = 101) -> UpdatesMade:
    ((made,),) = user.cube.write([wanted(*pages, pane=pane)])
    return made


def update_of(user: CubeUser, number: int, *, pane: int = 101) -> dict[str, int]:
    return counts_of(user.cube.rows(QUERY, pane, ((number, number),)))


def test_chosen_keys_leave_and_the_close_takes_what_is_left(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2), (101, "/c", 3))
    made = cut_early(user, "/a", "/b")
    assert (made.first_update, made.last_update, made.is_early) == (1, 1, True)
    assert update_of(user, 1) == {"/a": 1, "/b": 2}
    user.commit((101, "/a", 10), (101, "/d", 4))
    (closed,) = user.make_updates(101)
    assert (closed.first_update, closed.last_update, closed.is_whole) == (2, 2, True)
    assert update_of(user, 2) == {"/a": 10, "/c": 3, "/d": 4}


def test_a_key_may_leave_again_with_what_has_come_since(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.commit((101, "/a", 10))
    user.reopen()
    assert cut_early(user, "/a").last_update == 2
    assert update_of(user, 2) == {"/a": 10}
    assert cut_early(user, "/a").last_update == 2, "nothing of it is unsent"
    (closed,) = user.make_updates(101)
    assert update_of(user, closed.last_update) == {"/b": 2}


def test_a_group_is_left_for_the_close(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a", "/b")
    assert len(update_of(user, 1)) == 1
    user.make_updates(101)
    assert len(update_of(user, 2)) == 1


def test_what_does_not_fit_into_an_update_waits(open_cube: Callable[..., CubeUser]) -> None:
    user = open_cube(early_of=lambda query: EARLY, summary_bytes_max=64)
    user.install()
    rows = [(101, f"/{n}", n) for n in range(1, 21)]
    user.commit(*rows)
    cut_early(user, *(page for _, page, _ in rows))
    table = user.cube.rows(QUERY, 101, ((1, 1),))
    assert 0 < table.num_rows < 20
    (closed,) = user.make_updates(101)
    found = Counter(update_of(user, 1))
    for number in range(2, closed.last_update + 1):
        found += Counter(update_of(user, number))
    assert found == {page: n for _, page, n in rows}


def test_what_is_closed_in_the_same_write_is_not_cut_before(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    record = user.cube.restore()[0].record
    early, closed = user.cube.write([wanted("/a"), MakeUpdates(QUERY, (101,), record, False)])
    assert early is not None
    assert closed is not None
    assert early[0].last_update < early[0].first_update
    assert (closed[0].first_update, closed[0].last_update) == (1, 1)
    assert update_of(user, 1) == {"/a": 1, "/b": 2}


def test_a_restart_finds_the_update_sent_and_the_pane_open(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.reopen()
    (pane,) = user.cube.restore()[0].panes
    assert (pane.updates, pane.sent, pane.waiting_rows) == (1, ((1, 1),), 2)


def test_a_late_record_follows_as_ever(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.make_updates(101)
    user.commit((101, "/a", 5))
    (late,) = user.make_updates(101)
    assert (late.first_update, late.last_update) == (3, 3)
    assert update_of(user, 3) == {"/a": 5}


def test_the_share_of_a_total_counts_what_was_sent_early(
    open_cube: Callable[..., CubeUser],
) -> None:
    """2 % of 200 are 4; of the 16 that are left at the close they would be less than 1."""
    user = open_cube(
        early_of=lambda query: EARLY, allowance_of=lambda query, pane: Allowance(TOLERANCE, 1)
    )
    user.install()
    user.commit((101, "/big", 90), (101, "/large", 94), (101, "/small", 4))
    cut_early(user, "/big", "/large")
    user.commit((101, "/big", 2), (101, "/new", 10))
    (closed,) = user.make_updates(101)
    assert closed.withheld == (Remainder(largest=4.0, total=6.0, keys=2, of=200.0),)
    assert update_of(user, 2) == {"/new": 10}
    (rest,) = user.make_updates(101)
    assert update_of(user, rest.last_update) == {"/big": 2, "/small": 4}


def test_a_damaged_part_is_not_made_up_for_twice(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.commit((101, "/a", 10), (101, "/c", 3))
    damage(user, "parts", "ORDER BY segment LIMIT 1")
    (closed,) = user.make_updates(101)
    assert not closed.is_whole
    assert update_of(user, 2) == {"/a": 10, "/c": 3}


def test_where_an_early_update_is_lost_nothing_that_was_in_it_is_sent_again(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.commit((101, "/a", 10), (101, "/c", 3))
    damage(user, "updates", "")
    (closed,) = user.make_updates(101)
    assert not closed.is_whole
    assert update_of(user, 2) == {"/a": 10, "/c": 3}


def damage(user: CubeUser, table: str, which: str) -> None:
    """The bytes of a segment that this table names are wrong."""
    name = user.cube.manifest.one(
        f"SELECT name FROM segments WHERE id = (SELECT segment FROM {table} {which})"
    )[0]
    (path,) = (user.directory / "segments").rglob(f"{name}*")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    user.reopen()


def test_retention_takes_the_pane_whole(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2))
    cut_early(user, "/a")
    user.clock.now_s += 30 * 86_400.0
    user.cube.retention(now_s=user.clock())
    made = cut_early(user, "/b")
    assert made.last_update < made.first_update
    assert user.cube.status().segments == 0


def test_a_disk_that_is_full_changes_nothing(open_cube: Callable[..., CubeUser]) -> None:
    disk = FaultyDisk()
    user = open_cube(early_of=lambda query: EARLY, disk=disk)
    user.install()
    user.commit((101, "/a", 1), (101, "/b", 2))
    disk.fail["write_new"] = errno.ENOSPC
    with pytest.raises(StoreError):
        cut_early(user, "/a")
    disk.fail.clear()
    assert cut_early(user, "/a").last_update == 1


def test_a_crash_at_any_statement_leaves_all_or_nothing(open_cube: Callable[..., CubeUser]) -> None:
    """After each of the statements of an early cut, and of the close after it."""
    for step in range(1, 60):
        user = open_cube(early_of=lambda query: EARLY, name=f"cube{step}")
        user.install()
        user.commit((101, "/a", 1), (101, "/b", 2))
        cut_early(user, "/a")
        user.commit((101, "/a", 10), (101, "/c", 3))
        left = step

        def fails(sql: str) -> int:
            nonlocal left
            left -= 1
            return sqlite3.SQLITE_IOERR if left == 0 else 0

        FaultyConnection.put_into(user.cube.manifest, fails)
        try:
            cut_early(user, "/a", "/b")
            user.make_updates(101)
        except StoreError:
            user.reopen()
            user.make_updates(101)
        is_through, left = left > 0, 0
        (pane,) = user.cube.restore()[0].panes
        found: Counter[str] = Counter()
        for number in range(1, pane.updates + 1):
            found += Counter(update_of(user, number))
        assert found == {"/a": 11, "/b": 2, "/c": 3}, step
        user.cube.close()
        if is_through:
            return
    raise AssertionError("the last one went through")


PAGES = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 9)), max_size=6)


@given(
    batches=st.lists(PAGES, min_size=1, max_size=5),
    cuts=st.lists(st.tuples(st.integers(0, 4), st.sets(st.sampled_from("abcde")))),
)
@settings(max_examples=60, deadline=None)
def test_what_left_and_what_is_left_are_what_came(
    batches: list[list[tuple[str, int]]], cuts: list[tuple[int, set[str]]]
) -> None:
    """Whatever is cut after whichever batch."""
    parts = [MERGER.merge([rows_of(one) for one in batch]) for batch in batches]
    taken: list[Taken] = []
    for through, pages in sorted(cuts, key=lambda cut: cut[0]):
        so_far = [
            left_of(part, ("page",), taken, batch=n) for n, part in enumerate(parts) if n <= through
        ]
        keys = EARLY.hashes(rows_of(*((page, 0) for page in pages)))
        gone = [one.filter(np.isin(EARLY.hashes(one), keys)) for one in so_far]
        taken.append(Taken(through, MERGER.merge(gone)))
    left = [left_of(part, ("page",), taken, batch=n) for n, part in enumerate(parts)]
    rows = [one.rows for one in taken if one.rows is not None]
    came = Counter[str]()
    for batch in batches:
        for page, n in batch:
            came[page] += n
    assert Counter(counts_of(MERGER.merge([*rows, *left]))) == came
