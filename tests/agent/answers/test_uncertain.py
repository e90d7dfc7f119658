"""What an answer of the largest rows says of those that may not be among them."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest

from headwater.agent.answers.uncertain import with_uncertain
from headwater.cli.show.headline import headline
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, Trigger
from headwater.root.said.withheld import StatedError, StatedErrors, UncertainRows
from headwater.sql.compile import compile_statements

KEPT = StatedErrors((StatedError("total", "600", 5.0, None, 9.0, True),), keys=2)


def query_of(rest: str, options: str = "error = '600'") -> Query:
    (query,) = compile_statements(
        "CREATE SOURCE r (ts TIMESTAMP, word STRING, b BIGINT) "
        "WITH (format = 'json', path = 'a.log', time = 'ts'); "
        f"CREATE STREAM s WITH ({options}) AS SELECT word, sum(abs(b)) AS total FROM r "
        f"GROUP BY window(ts, '1 minute'), word {rest}",
        root="a",
        installer="a",
        next_counter=1,
    )
    return query


def envelope(withheld: StatedErrors = KEPT) -> Envelope:
    return Envelope(
        stream="s",
        query="s@a#1",
        window=0,
        start_us=0,
        end_us=60_000_000,
        revision=1,
        roster_version=1,
        expected=1,
        covered=1,
        missing=(),
        missing_count=0,
        exact=False,
        final=False,
        staleness_s=1.0,
        answered_at_s=61.0,
        trigger=Trigger.COMPLETE,
        withheld=withheld,
    )


LARGEST = query_of("ORDER BY total DESC LIMIT 3")


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64(), pa.decimal128(20, 2)])
def test_it_names_the_rows_that_are_near_to_the_last_place(type_: pa.DataType) -> None:
    values = [Decimal(40), Decimal(14), Decimal(10)]
    rows = pa.table({"total": pa.array(values, pa.decimal128(20, 2)).cast(type_)})
    said = with_uncertain(envelope(), LARGEST, rows)
    assert said.withheld.uncertain == UncertainRows("total", below=15.0, rows=2, of=3)
    shown = headline(msgspec.to_builtins(said))
    assert "2 of 3 rows may not be among the largest: those with total below 15" in shown


def test_rows_that_come_in_pieces_are_looked_at_together() -> None:
    pieces = [pa.table({"total": [40]}), pa.table({"total": pa.array([None, 14], pa.int64())})]
    found = with_uncertain(envelope(), LARGEST, pieces).withheld.uncertain
    assert found == UncertainRows("total", below=5.0, rows=1, of=3)


@pytest.mark.parametrize("rest", ["", "ORDER BY total DESC"])
def test_an_answer_that_has_all_rows_has_none_that_do_not_belong(rest: str) -> None:
    assert with_uncertain(envelope(), query_of(rest), pa.table({"total": [1]})) == envelope()


def test_where_nothing_was_kept_back_nothing_is_said() -> None:
    whole = envelope(StatedErrors())
    assert with_uncertain(whole, LARGEST, pa.table({"total": [1, 1, 1]})) == whole
    assert with_uncertain(envelope(), LARGEST, None) == envelope()
