"""The rows of a level: those of its full query's batches, of the panes that it has taken."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from store_kit import QUERY, Clock, CubeUser, batch_of, counts_of

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.reading.outcome import QueryResult
from headwater.store.level_rows import CoarserPieces, LevelGrid, coarser, level_results

LEVEL = "hits_1@home#2"
SECONDS_10, SECONDS_30 = (WindowSpec(s * MICROS, s * MICROS) for s in (10, 30))
GRID = LevelGrid(LEVEL, SECONDS_10, SECONDS_30)
ROWS = batch_of((2, "a", 1), (3, "a", 2), (5, "b", 3), (6, "a", 4))


def as_rows(table: pa.Table) -> list[tuple[int, str, int]]:
    return list(zip(*(table[name].to_pylist() for name in ("pane", "page", "n")), strict=True))


def test_rows_of_taken_panes_have_the_number_of_the_coarser_pane() -> None:
    assert as_rows(coarser(ROWS, GRID, ((1, 1),))) == [(1, "a", 2), (1, "b", 3)]


def test_panes_before_1970_lie_below_and_not_above() -> None:
    rows = batch_of((-1, "a", 1), (-3, "a", 2), (-4, "a", 3))
    assert as_rows(coarser(rows, GRID, ((-1, -1),))) == [(-1, "a", 1), (-1, "a", 2)]


def test_grids_that_begin_elsewhere_in_the_day_have_the_panes_that_a_pane_lies_in() -> None:
    fine = WindowSpec(10 * MICROS, 10 * MICROS, 4 * MICROS)
    grid = LevelGrid(LEVEL, fine, WindowSpec(30 * MICROS, 30 * MICROS, 24 * MICROS))
    panes = range(-4, 9)
    rows = coarser(batch_of(*((pane, "a", 1) for pane in panes)), grid, ((-99, 99),))
    assert rows["pane"].to_pylist() == [grid.pane_of(pane) for pane in panes]


def test_a_level_that_has_taken_nothing_gets_nothing() -> None:
    assert list(level_results(QueryResult(QUERY, ROWS), GRID, ())) == []
    assert list(level_results(QueryResult(QUERY, ROWS), GRID, ((9, 9),))) == []


def test_rows_in_files_are_renumbered_as_they_are_read() -> None:
    pieces = CoarserPieces(_Pieces([ROWS, ROWS]), GRID, ((2, 2),))
    assert pieces.num_rows == 2
    assert [as_rows(piece) for piece in pieces] == [[(2, "a", 4)], [(2, "a", 4)]]


def test_a_batch_that_failed_has_failed_for_what_was_taken_of_it() -> None:
    failed = QueryResult(QUERY, failed="division by zero", touched=(4, 7))
    (found,) = level_results(failed, GRID, ((2, 3),))
    assert (found.query, found.failed, found.touched) == (LEVEL, failed.failed, (1, 2))
    assert list(level_results(failed, GRID, ((9, 9),))) == []


def test_a_cube_gives_rows_to_a_query_and_to_its_level_and_each_has_an_update(
    tmp_path: Path,
) -> None:
    user = CubeUser(tmp_path, Clock(), levels_of=lambda of: (GRID,) if of == QUERY else ())
    user.install()
    user.install(LEVEL, taken=((1, 1),))
    report = user.commit((3, "a", 2), (4, "a", 1), (5, "b", 3), (6, "a", 4))
    assert [(one.query, one.panes) for one in report.queries] == [
        (QUERY, ((3, 1), (4, 1), (5, 1), (6, 1))),
        (LEVEL, ((1, 3),)),
    ]
    (made,) = user.make_updates(1, query=LEVEL)
    assert made.last_update == 1
    assert counts_of(user.cube.rows(LEVEL, 1, ((1, 1),))) == {"a": 3, "b": 3}
    assert [one.last_update for one in user.make_updates(3, 4, 5, 6)] == [1, 1, 1, 1]
    user.cube.close()


def test_a_batch_that_comes_again_adds_nothing_to_a_level(tmp_path: Path) -> None:
    user = CubeUser(tmp_path, Clock(), levels_of=lambda of: (GRID,) if of == QUERY else ())
    user.install()
    user.install(LEVEL, taken=((1, 1),))
    user.commit((3, "a", 2), batch_id=7)
    user._batch -= 1
    again = user.commit((3, "a", 2), batch_id=7)
    assert again.queries == ()
    user.make_updates(1, query=LEVEL)
    assert counts_of(user.cube.rows(LEVEL, 1, ((1, 1),))) == {"a": 2}
    user.cube.close()


class _Pieces:
    def __init__(self, tables: list[pa.Table]) -> None:
        self._tables = tables

    @property
    def num_rows(self) -> int:
        return sum(table.num_rows for table in self._tables)

    def __iter__(self):
        return iter(self._tables)
