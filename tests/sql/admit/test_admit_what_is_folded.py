"""Growing states from the wire: the site part and what folds its rows must say the same."""

from typing import Any

import msgspec
import pytest
import query_kit
from query_kit import queries_in

from headwater.algebra.rows.bounded import Bound, Bounded, BoundedColumn, BoundKind
from headwater.algebra.rows.columns import Folding
from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS
SELECT domain, count(DISTINCT id) AS ids, sum(DISTINCT status) AS s, count(*) AS n
FROM hits GROUP BY window(ts, '10 seconds'), domain;
"""
(ASKED,) = queries_in(TEXT, at="r", begin="earliest")
FOLDING = ASKED.program.folding
assert isinstance(FOLDING, Folding)
IDS, STATUSES = FOLDING.columns


def folding(**changes: Any) -> Query:
    return query_kit.changed(ASKED, folding=msgspec.structs.replace(FOLDING, **changes))


def fold(**changes: Any) -> Query:
    """With another first fold."""
    return folding(columns=(msgspec.structs.replace(IDS, **changes), STATUSES))


def rewritten(old: str, new: str) -> Query:
    assert old in ASKED.program.site_sql
    return query_kit.changed(ASKED, site_sql=ASKED.program.site_sql.replace(old, new))


def test_what_the_compiler_writes_of_growing_states_is_admitted() -> None:
    check_query(ASKED)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (folding(columns=()), "hidden keys and what becomes of them, got 3 and 0 columns"),
        (folding(hidden=1), "wanted 2 to 4 hidden keys"),
        (fold(over=("count_1",)), "wanted hidden keys of one state"),
        (fold(over=STATUSES.over), "wanted hidden keys of one state"),
        (fold(values=(0.5,) * 1_001), "wanted at most 1000 values, got 1001"),
        (
            rewritten("(1, 2, 3), (1, 2, 4)", "(1, 2, 4), (1, 2, 3)"),
            "wanted several GROUPING SETS that have 2 hidden keys in this order",
        ),
        (
            rewritten("(1, 2, 3), (1, 2, 4)", "(1, 2, 3), (1, 2, 4), (1, 2, 4)"),
            "wanted several GROUPING SETS that have 2 hidden keys in this order",
        ),
        (rewritten("CASE WHEN GROUPING_ID() = 1", "CASE WHEN GROUPING_ID() = 3"), "THEN … END"),
        (rewritten("CASE WHEN GROUPING_ID() = 1", "CASE WHEN GROUPING_ID() < 9"), "THEN … END"),
    ],
)
def test_rows_that_are_folded_otherwise_than_they_are_made_are_refused(
    query: Query, message: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query)
    assert message in str(caught.value)


def test_a_bound_of_a_column_that_no_answer_has_is_refused() -> None:
    near = BoundedColumn("m", Bound(BoundKind.VALUE, 0.1, 0.95))
    with pytest.raises(QueryRefused, match="bounded: wanted columns of the answer, got 'm'"):
        check_query(query_kit.changed(ASKED, bounded=Bounded((near,))))


def test_names_and_a_node_set_do_not_go_together() -> None:
    query = query_kit.changed(ASKED, node_set="eu-*", sites=("eu-1",))
    with pytest.raises(QueryRefused, match="sites: wanted names or a node set, got both"):
        check_query(query)
