"""Approximate never passes for exact: a rank by a bounded column is bounded, and what it cuts."""

import pytest
from query_kit import queries_in

from headwater.plan.query import Query

SOURCE = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, user STRING)
WITH (format = 'csv', path = '*.log', time = 'ts');
"""
NEAR = (
    "SELECT domain, approx_count_distinct(user) AS n{more} FROM access "
    "GROUP BY window(ts, '10 s'), domain"
)
RANK = "row_number() OVER (PARTITION BY window ORDER BY {by})"


def compiled(select: str) -> Query:
    (query,) = queries_in(f"{SOURCE} CREATE STREAM s AS {select};", at="hub", begin="earliest")
    return query


@pytest.mark.parametrize(
    ("more", "after", "columns", "rows"),
    [
        ("", "", ["n"], False),
        (f", {RANK.format(by='approx_count_distinct(user)')} AS place", "", ["n", "place"], False),
        ("", f" QUALIFY {RANK.format(by='n DESC')} <= 3", ["n"], True),
        ("", f" QUALIFY {RANK.format(by='domain')} <= 3 AND n > 2", ["n"], True),
    ],
)
def test_what_ranks_make_of_a_bounded_column_is_bounded(
    more: str, after: str, columns: list[str], rows: bool
) -> None:
    bounds = compiled(NEAR.format(more=more) + after).bounds
    assert [one.column for one in bounds.columns] == columns
    assert bounds.rows is rows


@pytest.mark.parametrize(
    "select",
    [
        "SELECT domain{rank} FROM access GROUP BY window(ts, '10 s'), domain",
        "SELECT domain FROM access GROUP BY window(ts, '10 s'), domain QUALIFY {qualified}",
        "SELECT domain{rank} FROM access GROUP BY window(ts, '10 s'), domain ORDER BY place",
    ],
)
def test_a_rank_may_go_by_an_aggregate_that_is_not_shown(select: str) -> None:
    rank = RANK.format(by="count(*) DESC")
    program = compiled(select.format(rank=f", {rank} AS place", qualified=f"{rank} <= 3")).program
    assert [partial.name for partial in program.partials] == ["count_1"]
    assert "count_1 AS __ranked_by_1" in program.root_sql
