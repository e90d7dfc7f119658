"""Values that are near the truth are held against their bound."""

from decimal import Decimal

import pyarrow as pa
import pytest

from headwater.algebra.rows.bounded import Bound, Bounded, BoundedColumn, BoundKind
from headwater.local.trial.compare_bounded import bounded_difference

CERTAIN = Bound(BoundKind.VALUE, 0.01)
LIKELY = Bound(BoundKind.VALUE, 0.1, 0.95)


def compared(bound: Bound, mine: list, truth: list, *, rows: bool = False):
    tables = [pa.table({"k": list(range(len(side))), "v": side}) for side in (mine, truth)]
    bounded = Bounded((BoundedColumn("v", bound),), rows=rows)
    return bounded_difference(bounded, [(7, *tables)])


def test_a_certain_bound_is_never_exceeded() -> None:
    assert compared(CERTAIN, [100.0, None], [101.0, None]) is None
    window, words = compared(CERTAIN, [100.0, 5.0], [100.0, 5.1])
    assert window == 7
    assert "v is 5.0 by the sites, 5.1 by one Spark, which is not within 1% of the value" in words


def test_a_value_that_is_rounded_to_its_type_may_be_off_by_that() -> None:
    assert compared(CERTAIN, [61], [60]) is None
    assert compared(CERTAIN, [62], [60]) is not None
    assert compared(CERTAIN, [Decimal("0.61")], [Decimal("0.60")]) is None
    assert compared(CERTAIN, [Decimal("0.62")], [Decimal("0.60")]) is not None


@pytest.mark.parametrize(("mine", "truth"), [([None], [1]), ([1], [None]), ([1, 2], [1])])
def test_nothing_and_missing_rows_are_differences(mine: list, truth: list) -> None:
    assert compared(CERTAIN, mine, truth) is not None


def test_a_likely_bound_may_be_exceeded_seldom_and_not_by_much() -> None:
    truth = [1000] * 100
    assert compared(LIKELY, [1000] * 95 + [1150] * 5, truth) is None
    assert compared(LIKELY, [1000] * 99 + [1250], truth) is not None
    window, words = compared(LIKELY, [1000] * 80 + [1150] * 20, truth)
    assert window is None
    assert words.startswith("v: of 100 values 20 are not within 10% of the value in 95% of cases")


def test_rows_that_are_chosen_by_such_a_value_are_compared_where_both_have_them() -> None:
    assert compared(CERTAIN, [1.0, 2.0], [1.0], rows=True) is None
    assert compared(CERTAIN, [1.0, 2.0], [3.0], rows=True) is not None


def test_lists_are_compared_one_by_one() -> None:
    assert compared(CERTAIN, [[1.0, 2.0]], [[1.0, 2.01]]) is None
    assert compared(CERTAIN, [[1.0, 2.0]], [[1.0, 2.1]]) is not None
