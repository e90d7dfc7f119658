"""A flush that a deadline may cut off: what matters most leaves first, in pieces, over a real disk.

::

    rows of a pane     /a 1   /b 9   /c 4   /d 2   …
    update 1           /b 9   /c 4           the link has carried it when the deadline comes
    update 2           /d 2   /a 1           it has not
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from store_kit import MERGER, QUERY, CubeUser, FaultyConnection, counts_of, rows_of

from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance
from headwater.edge.outputs import PIECES_MAX, MakeEarly, MakeUpdates, UpdatesMade
from headwater.errors import StoreError
from headwater.store.cube.split_rows import in_pieces

EARLY = EarlyRows(("page",), ("n",))
TOLERANCE = Tolerance((ToleratedColumn("hits", "n", ErrorForm.TOTAL, 0.02),), Finally.BOUNDED)
PAGES = [(101, f"/{n}", n * 7 % 41 + 1) for n in range(40)]
WHOLE = {page: n for _, page, n in PAGES}


def flush(user: CubeUser, piece_bytes: int) -> UpdatesMade:
    record = user.cube.restore()[0].record
    (made,) = user.cube.write(
        [MakeUpdates(QUERY, (101,), record, sent=False, piece_bytes=piece_bytes)]
    )
    assert made is not None
    return made[0]


def pieces_of(user: CubeUser, made: UpdatesMade) -> list[dict[str, int]]:
    numbers = range(made.first_update, made.last_update + 1)
    return [counts_of(user.cube.rows(QUERY, 101, ((n, n),))) for n in numbers]


@pytest.fixture
def user(open_cube: Callable[..., CubeUser]) -> CubeUser:
    opened = open_cube(early_of=lambda query: EARLY)
    opened.install()
    opened.commit(*PAGES)
    return opened


def size_of(count: int) -> int:
    return int(MERGER.size_bytes(rows_of(*(one[1:] for one in PAGES[:count]))))


def test_each_piece_has_nothing_smaller_than_any_after_it(user: CubeUser) -> None:
    made = flush(user, size_of(40) // 4)
    pieces = pieces_of(user, made)
    assert 4 <= len(pieces) <= 5
    assert sum(map(len, pieces)) == 40
    assert {page: n for piece in pieces for page, n in piece.items()} == WHOLE
    for before, after in itertools.pairwise(pieces):
        assert min(before.values()) >= max(after.values())


def test_a_pane_has_no_more_pieces_than_members_take(user: CubeUser) -> None:
    assert flush(user, 1).last_update == PIECES_MAX


def test_what_the_way_carries_at_once_is_one_update_that_is_not_written_anew(
    user: CubeUser,
) -> None:
    before = user.cube.status().segments
    assert flush(user, size_of(40)).last_update == 1
    assert user.cube.status().segments == before


def test_without_a_deadline_rows_stay_as_they_are(user: CubeUser) -> None:
    made = flush(user, 0)
    assert made.last_update == 1
    assert list(pieces_of(user, made)[0]) == list(WHOLE)


def test_what_is_not_to_be_measured_leaves_as_ever(open_cube: Callable[..., CubeUser]) -> None:
    user = open_cube()
    user.install()
    user.commit(*PAGES)
    assert flush(user, 1).last_update == 1


def test_what_left_early_is_in_no_piece_and_what_is_kept_back_is_told_with_the_last(
    open_cube: Callable[..., CubeUser],
) -> None:
    user = open_cube(
        early_of=lambda query: EARLY, allowance_of=lambda query, pane: Allowance(TOLERANCE, 1)
    )
    user.install()
    user.commit(*PAGES)
    largest = sorted(WHOLE, key=lambda page: WHOLE[page])[-3:]
    keys = EARLY.hashes(rows_of(*((page, 0) for page in largest)))
    user.cube.write([MakeEarly(QUERY, 101, keys)])
    made = flush(user, 1)
    assert made.first_update == 2
    assert PIECES_MAX / 2 < made.last_update <= 1 + PIECES_MAX
    (kept,) = made.withheld
    pieces = pieces_of(user, made)
    assert not set(largest) & {page for piece in pieces for page in piece}
    in_pieces_ = sum(sum(piece.values()) for piece in pieces)
    assert in_pieces_ + kept.total + sum(WHOLE[page] for page in largest) == sum(WHOLE.values())
    lows, highs = [min(p.values()) for p in pieces], [max(p.values()) for p in pieces]
    assert all(low >= high for low, high in zip(lows, highs[1:], strict=False))


def test_of_several_measures_a_row_goes_by_the_one_that_it_has_most_of() -> None:
    rows = pa.table({"page": ["/a", "/b", "/c", "/d"], "n": [5, 1, 90, 4], "m": [1, 9, 1, 1]})
    early = EarlyRows(("page",), ("n", "m"), largest=("m",))
    pieces = in_pieces(rows, MERGER, early, 1, bytes_max=1 << 20)
    assert [piece["page"].to_pylist() for piece, _ in pieces] == [["/b"], ["/c"], ["/a"], ["/d"]]


def test_values_below_zero_matter_as_those_above() -> None:
    rows = pa.table({"page": ["/a", "/b", "/c"], "n": np.array([5, -70, 6])})
    pieces = in_pieces(rows, MERGER, EARLY, 1, bytes_max=1 << 20)
    assert [piece["page"][0].as_py() for piece, _ in pieces] == ["/b", "/c", "/a"]


def test_a_crash_at_any_statement_leaves_all_pieces_or_none(
    open_cube: Callable[..., CubeUser],
) -> None:
    for step in range(1, 60):
        user = open_cube(early_of=lambda query: EARLY, name=f"cube{step}")
        user.install()
        user.commit(*PAGES)
        left = step

        def fails(sql: str) -> int:
            nonlocal left
            left -= 1
            return sqlite3.SQLITE_IOERR if left == 0 else 0

        FaultyConnection.put_into(user.cube.manifest, fails)
        try:
            flush(user, 1)
        except StoreError:
            user.reopen()
            assert user.cube.restore()[0].panes[0].updates in (0, PIECES_MAX)
            flush(user, 1)
        is_through, left = left > 0, 0
        (pane,) = user.cube.restore()[0].panes
        found: Counter[str] = Counter()
        for number in range(1, pane.updates + 1):
            found += Counter(counts_of(user.cube.rows(QUERY, 101, ((number, number),))))
        assert found == WHOLE, step
        user.cube.close()
        if is_through:
            return
    raise AssertionError("the last one went through")
