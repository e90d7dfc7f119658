"""Merging summaries: rows by the query's merger, coverage as a set."""

from collections.abc import Sequence

import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary, merge_summaries
from headwater.errors import OverlapError


class Bags:
    """Rows are sorted tuples; nothing is merged away, so what was merged can be seen."""

    def none(self) -> tuple[int, ...]:
        return ()

    def merge(self, parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        return tuple(sorted(number for part in parts for number in part))

    def size_bytes(self, rows: tuple[int, ...]) -> int:
        return len(rows)


def summary(ordinal: int, *, rows: tuple[int, ...] | None) -> Summary:
    coverage = Coverage.of_whole(ordinal, 1) if rows else Coverage.of_empty(ordinal, 1)
    return Summary(query="q@a#1", pane=5, coverage=coverage, rows=rows, roster_version=ordinal)


def test_rows_and_coverage_of_all_are_in_the_merge() -> None:
    merged = merge_summaries((summary(1, rows=(1, 2)), summary(2, rows=(7,))), Bags())
    assert merged.rows == (1, 2, 7)
    assert merged.coverage == Coverage.of_whole(1, 1).merge(Coverage.of_whole(2, 1))
    assert merged.roster_version == 2


def test_no_rows_on_one_side_leave_the_other_as_it_is() -> None:
    none = summary(2, rows=None)
    assert merge_summaries((summary(1, rows=(4,)), none), Bags()).rows == (4,)
    assert merge_summaries((none, summary(1, rows=(4,))), Bags()).rows == (4,)
    assert merge_summaries((summary(1, rows=None), none), Bags()).rows is None


def test_a_site_in_both_is_refused() -> None:
    with pytest.raises(OverlapError):
        merge_summaries((summary(1, rows=(1,)), summary(1, rows=(2,))), Bags())


def test_a_spare_is_never_merged() -> None:
    spare = Summary(
        query="q@a#1", pane=5, coverage=Coverage.of_whole(2, 1), rows=(1,), lane=Lane.SPARE
    )
    with pytest.raises(AssertionError, match="spare"):
        merge_summaries((summary(1, rows=(1,)), spare), Bags())


def test_a_state_of_several_panes_is_the_same_in_each_of_them() -> None:
    rows = (1, 2)
    whole = Summary(query="q@a#1", pane=5, coverage=Coverage.of_whole(1, 7), rows=rows, more=2)
    assert whole.last == 7
    parts = list(whole.by_pane())
    assert [(part.pane, part.more) for part in parts] == [(5, 0), (6, 0), (7, 0)]
    assert all(part.rows is rows and part.coverage == whole.coverage for part in parts)
    assert whole.at(6, 7) == Summary(
        query="q@a#1", pane=6, coverage=Coverage.of_whole(1, 7), rows=rows, more=1
    )
