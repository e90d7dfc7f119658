"""Rows and their order, as a site admits them, and what nobody admits."""

import msgspec
import pytest
import query_kit
from msgspec import UNSET
from query_kit import queries_in

from headwater.agent.query_book import QueryBook
from headwater.algebra.rows.columns import FirstRows, OrderTerm
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query

TEXT = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access/*.log', time = 'ts');
CREATE STREAM bag WITH (window = '10 seconds') AS SELECT ts, domain FROM access WHERE bytes > 0;
CREATE STREAM top WITH (window = '10 seconds') AS
SELECT domain, 1 AS one FROM access ORDER BY bytes DESC LIMIT 3 OFFSET 2;
CREATE STREAM kinds WITH (window = '10 seconds') AS
SELECT DISTINCT domain, bytes FROM access ORDER BY bytes NULLS LAST LIMIT 5;
CREATE STREAM sums AS SELECT domain, sum(bytes) AS b FROM access
GROUP BY window(ts, '10 seconds'), domain ORDER BY b DESC LIMIT 5;
CREATE STREAM since WITH (window = '10 seconds') AS
SELECT domain FROM access ORDER BY unix_micros(ts) - unix_micros(window.start) LIMIT 5;
CREATE STREAM all_kinds WITH (window = '10 seconds') AS SELECT DISTINCT domain, bytes FROM access;
"""
BAG, TOP, KINDS, SUMS, SINCE, ALL_KINDS = queries_in(TEXT, at="hub", begin="earliest")


@pytest.mark.parametrize("query", [BAG, TOP, KINDS], ids=lambda query: query.id.name)
def test_rows_are_admitted_as_they_travel(query: Query) -> None:
    check_query(query)
    sent = msgspec.msgpack.encode(FlatQuery.of(query))
    again = msgspec.msgpack.decode(sent, type=FlatQuery).query()
    assert again == query
    check_query(again)


def test_a_plan_says_which_rows_are_wanted_first_where_that_may_be_taken_early() -> None:
    assert TOP.program.first == FirstRows(
        5, (OrderTerm("bytes", True, True), OrderTerm("domain")), copies="count_1"
    )
    assert KINDS.program.first == FirstRows(
        5, (OrderTerm("bytes", nulls_last=True), OrderTerm("domain"))
    )
    assert BAG.program.first is UNSET, "all rows are wanted"
    assert SUMS.program.first is UNSET, "the largest sums may be small everywhere"
    assert SINCE.program.first is UNSET, "the order is made at the root, of the window"


def test_a_plan_without_first_rows_has_the_bytes_that_it_had() -> None:
    assert b"first" not in msgspec.msgpack.encode(FlatQuery.of(SUMS))


def rerooted(old: str, new: str, query: Query) -> Query:
    assert old in query.program.root_sql
    return query_kit.changed(query, root_sql=query.program.root_sql.replace(old, new))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (rerooted("ARRAY_REPEAT(0, CAST(__copies AS INT))", "SEQUENCE(1, 9)", BAG), "wanted EXPL"),
        (rerooted("LEAST(__copies, 5)", "LEAST(__copies, 9000000)", TOP), "wanted EXPLODE"),
        (rerooted("count_1 AS __copies", "domain AS __copies", BAG), "root part: wanted EXPLODE"),
        (rerooted("AS __copy", "AS copy", BAG), "got *, EXPLODE"),
        (query_kit.changed(SUMS, first=FirstRows(3, (OrderTerm("domain"),))), "first rows"),
        (query_kit.changed(TOP, first=FirstRows(3, (OrderTerm("domain"),))), "first rows"),
        (query_kit.changed(KINDS, first=FirstRows(0, KINDS.program.first.order)), "first rows"),
    ],
)
def test_rows_that_the_compiler_would_not_write_are_refused(query: Query, message: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query)
    assert message in str(caught.value)


def test_rows_have_a_limit_unless_only_the_first_are_asked_for() -> None:
    """A limit in rows for each site and pane: beyond it the pane is declined, never cut off."""
    book = QueryBook(growing_rows_max=7)
    for query in (BAG, TOP, SUMS):
        book.add(query)
    limit = book.row_limit(str(BAG.id))
    assert limit is not None
    assert limit.rows_max == 7
    assert "write ORDER BY … LIMIT" in limit.words(8)
    assert book.row_limit(str(TOP.id)) is None
    assert book.row_limit(str(SUMS.id)) is None


def test_rows_that_do_not_say_so_are_refused_for_they_would_have_no_limit() -> None:
    with pytest.raises(QueryRefused, match="needs: wanted form rows, which this plan uses"):
        check_query(msgspec.structs.replace(BAG, needs=UNSET))


def test_distinct_rows_have_the_same_limit() -> None:
    book = QueryBook(growing_rows_max=7)
    for query in (ALL_KINDS, KINDS):
        book.add(query)
    limit = book.row_limit(str(ALL_KINDS.id))
    assert limit is not None
    assert limit.rows_max == 7
    assert book.row_limit(str(KINDS.id)) is None, "only the first are asked for"
