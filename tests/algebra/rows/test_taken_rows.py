"""Rows are taken in whole, or refused: none is passed over later."""

import msgspec
import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.taken_rows import taker
from headwater.algebra.rows.types import summary_schema
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.rows import RowsCodec
from headwater.plan.program import Program

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS SELECT domain, {} FROM hits GROUP BY window(ts, '10 seconds'), domain;
"""
TWO_STATES = "count(DISTINCT id) AS ids, sum(DISTINCT status) AS s, count(*) AS n"


def program_of(items: str) -> Program:
    (query,) = queries_in(SOURCE.format(items), at="r")
    return query.program


def numbered(*numbers: int | None) -> pa.Table:
    program = program_of(TWO_STATES)
    rows = [("a", 200, None, number, 4) for number in numbers]
    columns = list(zip(*rows, strict=True)) or [[]] * 5
    return pa.table([list(one) for one in columns], schema=summary_schema(program))


@pytest.mark.parametrize("numbers", [(), (1,), (2, 1, 1)])
def test_rows_of_states_that_are_folded_are_taken_as_they_are(numbers: tuple[int, ...]) -> None:
    take = taker(program_of(TWO_STATES))
    assert take is not None
    rows = numbered(*numbers)
    assert take(rows) == rows


@pytest.mark.parametrize(("number", "got"), [(0, "0"), (3, "3"), (-1, "-1"), (None, "None")])
def test_a_row_with_a_grouping_number_that_no_fold_has_is_refused(
    number: int | None, got: str
) -> None:
    take = taker(program_of(TWO_STATES))
    assert take is not None
    with pytest.raises(ValueError, match=rf"grouping: wanted one of \[1, 2\], got {got}"):
        take(numbered(1, 2, number))


def test_a_summary_with_such_a_row_is_refused_and_counted_as_invalid() -> None:
    program = program_of(TWO_STATES)
    codec = RowsCodec(lambda _: summary_schema(program), taker_of=lambda _: taker(program))
    assert codec.decode("q", codec.encode("q", numbered(1, 2))).num_rows == 2
    with pytest.raises(Refused, match=r"wanted one of \[1, 2\], got 3") as refused:
        codec.decode("q", codec.encode("q", numbered(1, 3)))
    assert refused.value.reason is Refusal.ROWS_INVALID


def test_one_growing_state_has_no_number_to_look_at() -> None:
    assert taker(program_of("count(DISTINCT id) AS ids, count(*) AS n")) is None


def test_a_plan_whose_last_key_is_no_grouping_number_has_no_rows_to_take() -> None:
    program = program_of(TWO_STATES)
    keys = (*program.keys[:-1], Column("grouping", "string"))
    with pytest.raises(ValueError, match="grouping number"):
        taker(msgspec.structs.replace(program, keys=keys))
