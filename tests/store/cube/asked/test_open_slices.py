"""Open panes in a question: what has come so far, each row once, though it moves meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from store_kit import MERGER, QUERY, CubeUser, counts_of, rows_of

from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.words.site_state import Declined, Reason
from headwater.edge.outputs import MakeEarly
from headwater.store.cube.asked.cube_slices import CubeSlice

EARLY = EarlyRows(("page",), ("n",))


@pytest.fixture
def user(open_cube: Callable[..., CubeUser]) -> CubeUser:
    opened = open_cube(early_of=lambda query: EARLY)
    opened.install()
    return opened


def tables_of(user: CubeUser, found: CubeSlice) -> list[pa.Table | None]:
    return [user.cube.slices.load(one) for _, one in found.between(found.first, found.last)]


def counted(user: CubeUser, pane: int = 101) -> dict[str, int]:
    found = user.cube.slices.slice(QUERY, pane, pane, opens=True)
    tables = [one for one in tables_of(user, found) if one is not None]
    assert len(tables) == len(tables_of(user, found))
    return counts_of(MERGER.merge(tables))


def test_what_left_before_the_close_counts_once(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (101, "/b", 2), (101, "/c", 3))
    user.commit((101, "/a", 10))
    user.cube.write([MakeEarly(QUERY, 101, EARLY.hashes(rows_of(("/a", 0))))])
    assert counted(user) == {"/a": 11, "/b": 2, "/c": 3}
    user.make_updates(101)
    assert counted(user) == {"/a": 11, "/b": 2, "/c": 3}


def test_what_an_update_was_made_of_meanwhile_is_found_again(user: CubeUser) -> None:
    user.commit((101, "/a", 1), (102, "/c", 3))
    user.commit((101, "/a", 10), (101, "/b", 2))
    found = user.cube.slices.slice(QUERY, 101, 102, opens=True)
    assert found.open == ((101, 102),)
    user.make_updates(101, 102)
    assert None in tables_of(user, found)
    again = user.cube.slices.load_anew(found, 101, 102)
    assert again is not None
    assert counts_of(MERGER.merge(again)) == {"/a": 11, "/b": 2, "/c": 3}


def test_late_rows_that_move_meanwhile_are_found_again(user: CubeUser) -> None:
    user.install(closed_through=102)
    user.commit((101, "/a", 1))
    user.make_updates(101)
    user.commit((101, "/a", 10))
    user.commit((101, "/b", 2))
    found = user.cube.slices.slice(QUERY, 101, 101)
    user.make_updates(101)
    assert None in tables_of(user, found)
    again = user.cube.slices.load_anew(found, 101, 101)
    assert again is not None
    assert counts_of(MERGER.merge(again)) == {"/a": 11, "/b": 2}


def test_what_is_declined_or_damaged_meanwhile_is_not_taken_for_whole(
    user: CubeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.install(closed_through=103)
    user.commit((101, "/a", 1), (102, "/c", 3))
    found = user.cube.slices.slice(QUERY, 101, 102)
    user.make_updates(101, 102)
    assert user.cube.slices.load_anew(found, 101, 102) is not None
    load = user.cube.slices.load
    tables = iter([None])
    monkeypatch.setattr(user.cube.slices, "load", lambda one: next(tables, load(one)))
    assert user.cube.slices.load_anew(found, 101, 102) is None
    monkeypatch.undo()
    gone = (Declined(101, 101, Reason.LOST),)
    user.install(closed_through=103, declined=gone)
    assert user.cube.slices.load_anew(found, 101, 102) is None
    assert user.cube.slices.load_anew(found, 102, 102) is not None
