"""What a revision changes, for who follows answers: never from another one than is named."""

from __future__ import annotations

from typing import Any

from headwater.cli.show.changes import Revisions


def header(revision: int, *, window: int = 0, roster: int = 1, query: str = "hits@hub#1") -> Any:
    return {"query": query, "window": window, "revision": revision, "roster_version": roster}


def rows(*counts: int) -> list[dict[str, Any]]:
    return [{"page": "a", "n": count} for count in counts]


def test_the_first_answer_that_is_shown_comes_whole() -> None:
    found = Revisions().change(header(3), rows(1, 2))
    assert (found["revises"], found["rows"]) == (None, rows(1, 2))
    assert found["form"] == "replacement"


def test_a_revision_is_what_is_gone_and_what_is_new() -> None:
    revisions = Revisions()
    revisions.change(header(1), rows(1, 1, 2))
    found = revisions.change(header(2), rows(1, 2, 3))
    assert (found["revises"], found["deleted"], found["inserted"]) == (1, rows(1), rows(3))
    assert "rows" not in found
    assert found["form"] == "delta"
    found = revisions.change(header(3), rows())
    assert (found["revises"], found["deleted"]) == (2, rows(1, 2, 3))


def test_across_a_gap_the_answer_comes_whole() -> None:
    revisions = Revisions()
    revisions.change(header(1), rows(1))
    assert revisions.change(header(3), rows(2))["revises"] is None
    assert revisions.change(header(4), rows(2))["revises"] == 3


def test_across_a_change_of_the_roster_the_answer_comes_whole() -> None:
    revisions = Revisions()
    revisions.change(header(1), rows(1))
    assert revisions.change(header(2, roster=2), rows(1))["revises"] is None


def test_windows_and_queries_are_told_apart() -> None:
    revisions = Revisions()
    revisions.change(header(1), rows(1))
    assert revisions.change(header(2, window=1), rows(1))["revises"] is None
    assert revisions.change(header(2, query="hits@hub#2"), rows(1))["revises"] is None
    assert revisions.change(header(2), rows(1))["revises"] == 1


def test_of_more_windows_or_rows_than_are_kept_the_oldest_comes_whole() -> None:
    few = Revisions(windows_max=2)
    short = Revisions(rows_max=3)
    for revisions in (few, short):
        for window in range(3):
            revisions.change(header(1, window=window), rows(1, 2 if window else 1))
    assert few.change(header(2, window=0), rows())["revises"] is None
    assert few.change(header(2, window=2), rows())["revises"] == 1
    assert short.change(header(2, window=1), rows())["revises"] is None
    assert short.change(header(2, window=2), rows())["revises"] == 1


def test_rows_of_maps_and_lists_are_compared_by_value() -> None:
    revisions = Revisions()
    revisions.change(header(1), [{"v": {"a": [1, None]}}, {"v": float("nan")}])
    found = revisions.change(header(2), [{"v": float("nan")}, {"v": {"a": [1, 2]}}])
    assert found["deleted"] == [{"v": {"a": [1, None]}}]
    assert found["inserted"] == [{"v": {"a": [1, 2]}}]
