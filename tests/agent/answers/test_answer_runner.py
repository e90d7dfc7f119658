"""Finished windows: what is kept of them, also where groups were left out."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from store_kit import query_of, rows_of

from headwater.agent.answers.answer_runner import FinishedRows
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


def test_a_window_whose_panes_have_not_changed_is_not_computed_again_with_its_bad_group() -> None:
    """Exact becoming final is such a revision; it must still lack the group, and say so."""
    jobs, query = Jobs(), query_of()
    finished = FinishedRows(GroupFinisher(jobs))
    panes = [(1, rows_of(("/a", 1), (BAD, 2)))]
    first = finished.of(query, {1: panes})
    before = jobs.count
    again = finished.of(query, {1: panes})
    assert jobs.count == before
    assert again.left_out == first.left_out
    assert again.left_out[1].count == 1
    assert again.rows[1].equals(first.rows[1])


def test_other_windows_of_the_answer_stand_beside_one_with_a_bad_group() -> None:
    jobs, query = Jobs(), query_of()
    finished = FinishedRows(GroupFinisher(jobs))
    good, bad = [(1, rows_of(("/a", 1)))], [(2, rows_of((BAD, 2)))]
    found = finished.of(query, {1: good, 2: bad})
    assert list(found.rows) == [1]
    assert list(found.left_out) == [2]
    before = jobs.count
    assert finished.of(query, {1: good, 2: bad}) == found
    assert jobs.count == before
