"""Two answers are equal as bags of rows, doubles to 1e-9 relative."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from headwater.algebra.rows.equality import difference

NAN = float("nan")


def table(*rows: tuple[Any, ...]) -> pa.Table:
    return pa.table({f"c{n}": [row[n] for row in rows] for n in range(len(rows[0]))})


def test_order_does_not_matter_and_number_does() -> None:
    rows = [("a", 1, 0.5), ("a", 1, 0.5), (None, 2, NAN), ("b", None, None), ("", -1, -0.0)]
    shuffled = list(rows)
    random.Random(1).shuffle(shuffled)
    assert difference(table(*rows), table(*shuffled)) is None
    assert difference(table(*rows), table(*rows[1:])) == "5 rows and 4 rows"
    assert difference(table(*rows[:2]), table(rows[0], rows[2])) is not None


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        (1.0, 1.0 + 1e-10, True),
        (1.0, 1.0 + 1e-8, False),
        (1e300, 1e300 * (1 + 1e-10), True),
        (0.0, -0.0, True),
        (0.0, 1e-13, True),
        (0.0, 1e-6, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (float("inf"), float("inf"), True),
        (float("inf"), float("-inf"), False),
        (None, 0.0, False),
        (1e-11, 2e-11, False),
    ],
)
def test_doubles_are_equal_to_nine_digits(
    left: float | None, right: float | None, is_equal: bool
) -> None:
    schema = pa.schema([("x", pa.float64())])
    one, other = (pa.table({"x": [value]}, schema=schema) for value in (left, right))
    assert (difference(one, other) is None) == is_equal


def test_doubles_that_differ_in_the_last_digit_do_not_change_places() -> None:
    left = [(0.1 + 0.2, n) for n in range(50)]
    right = [(0.3, n) for n in reversed(range(50))]
    assert difference(table(*left), table(*right)) is None


def test_rows_of_doubles_alone_are_matched_even_if_they_sort_otherwise() -> None:
    low, high = 0.3, 0.1 + 0.2
    assert low < high
    assert difference(table((low, 1.0), (high, 2.0)), table((high, 1.0), (low, 2.0))) is None
    assert difference(table((low, 1.0), (high, 2.0)), table((high, 1.0), (low, 1.0))) is not None
    assert difference(table((NAN, 1.0), (0.0, 2.0)), table((-0.0, 2.0), (NAN, 1.0))) is None


def test_columns_are_compared_by_number_not_by_name() -> None:
    assert difference(pa.table({"a": [1]}), pa.table({"b": [1]})) is None
    assert difference(pa.table({"a": [1]}), pa.table({"a": [1], "b": [1]})) is not None
