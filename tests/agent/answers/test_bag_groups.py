"""Rows that occur more often than an answer can hold are left out, and take what they unfold to."""

from __future__ import annotations

import pyarrow as pa
from query_kit import queries_in

from headwater.agent.answers.bag_groups import COPIES_MAX, BagGroups, unfolded_bytes
from headwater.agent.query_book import QueryBook
from headwater.algebra.rows.types import summary_schema
from headwater.plan.query import Query

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked WITH (window = '10 seconds') AS {};
"""


def asked(select: str) -> Query:
    (query,) = queries_in(TEXT.format(select), at="r")
    return query


ROWS = asked("SELECT status FROM hits")
FIRST = asked("SELECT status FROM hits ORDER BY status LIMIT 5")


def rows_of(query: Query, *rows: tuple[int, int | None]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, schema=summary_schema(query.program))


def test_a_row_that_occurs_too_often_is_left_out_and_the_others_stand() -> None:
    """The root part makes one array of it: a count that anybody may send would end the JVM."""
    parts = [rows_of(ROWS, (200, COPIES_MAX), (404, 2)), rows_of(ROWS, (200, 1), (500, None))]
    found = BagGroups(ROWS).groups(parts)
    assert {row["status"] for row in found.merged.to_pylist()} == {404, 500}
    assert found.overflowing.to_pylist() == [{"status": 200}]
    assert (found.overflowing_count, found.columns) == (1, ("count_1",))
    assert found.reason == "a row occurs more than 10000000 times"


def test_an_answer_takes_what_its_rows_unfold_to() -> None:
    few, many = rows_of(ROWS, (200, 1)), rows_of(ROWS, (200, 1_000_000))
    assert unfolded_bytes(ROWS, many) == 1_000_000 * unfolded_bytes(ROWS, few) > 0
    assert unfolded_bytes(FIRST, rows_of(FIRST, (200, 1_000_000))) == 5 * few.nbytes


def test_a_site_counts_a_row_as_often_as_it_occurs() -> None:
    book = QueryBook(growing_rows_max=7)
    book.add(ROWS)
    limit = book.row_limit(str(ROWS.id))
    assert limit is not None
    assert limit.count(rows_of(ROWS, (200, 7), (404, 2))) == 9
