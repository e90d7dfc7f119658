"""What becomes of growing states in a plan is what its site part makes of records."""

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.rows.columns import Folding
from headwater.errors import QueryRefused
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS SELECT domain, count(DISTINCT id) AS ids, sum(DISTINCT status) AS s
FROM hits GROUP BY window(ts, '10 seconds'), domain;
"""


def with_numbers(*numbers: int) -> Query:
    (query,) = queries_in(SOURCE, at="r")
    folding = query.program.folding
    assert isinstance(folding, Folding)
    columns = tuple(
        msgspec.structs.replace(one, number=number)
        for one, number in zip(folding.columns, numbers, strict=True)
    )
    changed = msgspec.structs.replace(folding, columns=columns)
    program = msgspec.structs.replace(query.program, folding=changed)
    return msgspec.structs.replace(query, program=program)


def test_a_plan_of_two_growing_states_is_admitted() -> None:
    check_query(with_numbers(1, 2))


@pytest.mark.parametrize("numbers", [(2, 1), (1, 3), (0, 2)])
def test_a_fold_over_the_rows_of_another_state_is_refused(numbers: tuple[int, int]) -> None:
    with pytest.raises(QueryRefused, match="wanted hidden keys of one state"):
        check_query(with_numbers(*numbers))


def test_a_state_that_no_column_is_made_of_is_refused() -> None:
    query = with_numbers(1, 2)
    folding = query.program.folding
    assert isinstance(folding, Folding)
    changed = msgspec.structs.replace(folding, columns=folding.columns[:1])
    program = msgspec.structs.replace(query.program, folding=changed)
    with pytest.raises(QueryRefused, match="got none of rows with grouping number 2"):
        check_query(msgspec.structs.replace(query, program=program))
