"""Finished windows: what is kept of them, also where groups were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from store_kit import query_of, rows_of

from headwater.agent.answers.answer_runner import FinishedRows
from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.windows.pane_source import Stamps
from headwater.errors import GroupFailed
from headwater.plan.query import Query
from headwater.spark.root.bad_groups import GroupFinisher, Verdict

BAD = "/bad"


class Jobs:
    """Rows as they are, unless a page is bad."""

    def __init__(self) -> None:
        self.count = 0

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        self.count += 1
        if any(BAD in table["page"].to_pylist() for table in windows.values()):
            raise GroupFailed("q", "[BAD]")
        return dict(windows)

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        self.count += 1
        pages = {window: table["page"].to_pylist() for window, table in windows.items()}
        return {
            window: Verdict(tuple(n for n, page in enumerate(found) if page == BAD))
            for window, found in pages.items()
        }


def groups_of(panes: Mapping[int, pa.Table]) -> Callable[[int, Stamps], Groups]:
    merger = ArrowMerger(query_of().program)
    return lambda window, stamps: merger.groups([panes[pane] for pane in stamps])


def test_a_window_whose_panes_have_not_changed_is_not_computed_again_with_its_bad_group() -> None:
    """Exact becoming final is such a revision; it must still lack the group, and say so."""
    jobs, query = Jobs(), query_of()
    finished = FinishedRows(GroupFinisher(jobs))
    panes = {1: rows_of(("/a", 1), (BAD, 2))}
    first = finished.of(query, {1: {1: 0}}, groups_of(panes))
    before = jobs.count
    again = finished.of(query, {1: {1: 0}}, groups_of(panes))
    assert jobs.count == before
    assert again.left_out == first.left_out
    assert again.left_out[1].count == 1
    assert again.rows[1].equals(first.rows[1])


def test_other_windows_of_the_answer_stand_beside_one_with_a_bad_group() -> None:
    jobs, query = Jobs(), query_of()
    finished = FinishedRows(GroupFinisher(jobs))
    panes = {1: rows_of(("/a", 1)), 2: rows_of((BAD, 2))}
    windows = {1: {1: 0}, 2: {2: 0}}
    found = finished.of(query, windows, groups_of(panes))
    assert list(found.rows) == [1]
    assert list(found.left_out) == [2]
    before = jobs.count
    assert finished.of(query, windows, groups_of(panes)) == found
    assert jobs.count == before


def test_a_window_one_of_whose_panes_has_changed_is_computed_again() -> None:
    jobs, query = Jobs(), query_of()
    finished = FinishedRows(GroupFinisher(jobs))
    finished.of(query, {1: {1: 0}}, groups_of({1: rows_of(("/a", 1))}))
    again = finished.of(query, {1: {1: 1}}, groups_of({1: rows_of(("/a", 2))}))
    assert jobs.count == 2
    assert again.rows[1].column(1).to_pylist() == [2]


class Sums:
    """What Spark makes of a group: a double, in one order of adding or in another."""

    def __init__(self) -> None:
        self.sums = [0.3, 0.1 + 0.2, 0.4]

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        found = pa.table({"page": ["/a"], "s": [self.sums.pop(0)]})
        return dict.fromkeys(windows, found)

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        raise AssertionError("nothing fails")


def test_a_revision_takes_over_what_differs_by_rounding() -> None:
    finished, query = FinishedRows(GroupFinisher(Sums())), query_of()
    panes = groups_of({1: rows_of(("/a", 1))})
    found = [finished.of(query, {1: {1: stamp}}, panes).rows[1]["s"][0] for stamp in range(3)]
    assert [one.as_py() for one in found] == [0.3, 0.3, 0.4]
