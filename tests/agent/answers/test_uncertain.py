"""What an answer of the largest rows says of those that may not be among them."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest

from headwater.agent.answers.uncertain import with_uncertain
from headwater.algebra.remainders.tolerance import ChosenRows, Condition
from headwater.cli.show.headline import headline
from headwater.root.said.envelope import Envelope, Trigger
from headwater.root.said.withheld import StatedError, StatedErrors, UncertainRows

ERRORS = (StatedError("total", "600", 5.0, None, 9.0, True),)
KEPT = StatedErrors(ERRORS, keys=2, chosen=ChosenRows("total", 3, is_never_negative=True))


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


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64(), pa.decimal128(20, 2)])
def test_it_names_the_rows_that_are_near_to_the_last_place(type_: pa.DataType) -> None:
    values = [Decimal(40), Decimal(14), Decimal(10)]
    rows = pa.table({"total": pa.array(values, pa.decimal128(20, 2)).cast(type_)})
    said = with_uncertain(envelope(), rows)
    assert said.withheld.uncertain == UncertainRows("total", below=15.0, rows=2, of=3)
    shown = headline(msgspec.to_builtins(said))
    assert "2 of 3 rows may not be among the largest: those with total below 15" in shown


def test_rows_that_come_in_pieces_are_looked_at_together() -> None:
    pieces = [pa.table({"total": [40]}), pa.table({"total": pa.array([None, 14], pa.int64())})]
    found = with_uncertain(envelope(), pieces).withheld.uncertain
    assert found == UncertainRows("total", below=5.0, rows=1, of=3)


def test_an_answer_that_has_all_rows_has_none_that_do_not_belong() -> None:
    every = envelope(StatedErrors(ERRORS, keys=2))
    assert with_uncertain(every, pa.table({"total": [1]})) == every


def test_where_nothing_was_kept_back_nothing_is_said() -> None:
    whole = envelope(StatedErrors())
    assert with_uncertain(whole, pa.table({"total": [1, 1, 1]})) == whole
    assert with_uncertain(envelope(), None) == envelope()


def test_it_says_how_many_rows_are_near_to_what_having_asks_for() -> None:
    by = Condition("total", "<", 100.0, is_never_negative=True)
    said = with_uncertain(
        envelope(StatedErrors(ERRORS, keys=2, conditions=(by,))), pa.table({"total": [40, 96]})
    )
    (found,) = said.withheld.uncertain_by
    assert (found.rows, found.of, found.lacking) == (1, 2, None)
    shown = headline(msgspec.to_builtins(said))
    assert "by total < 100: 1 of 2 rows may not belong in it" in shown


def test_an_answer_without_rows_may_lack_some() -> None:
    by = Condition("total", ">", 100.0, is_never_negative=True)
    said = with_uncertain(envelope(StatedErrors(ERRORS, keys=2, conditions=(by,))), None)
    (found,) = said.withheld.uncertain_by
    assert found.lacking == (95.0, 100.0)
    assert "by total > 100" in headline(msgspec.to_builtins(said))
