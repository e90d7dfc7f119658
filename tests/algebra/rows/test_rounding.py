"""*Rounding is no change*: which doubles a revision takes over."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from headwater.algebra.rows.rounding import RELATIVE, taken_over


def rows(*found: tuple[Any, ...]) -> pa.Table:
    keys, counts, sums = zip(*found, strict=True) if found else ((), (), ())
    return pa.table(
        {
            "key": pa.array(keys, pa.string()),
            "n": pa.array(counts, pa.int64()),
            "s": pa.array(sums, pa.float64()),
        }
    )


def values(former: pa.Table, now: pa.Table) -> list[float | None]:
    found: list[float | None] = taken_over(former, now)["s"].to_pylist()
    return found


def test_a_double_that_differs_by_rounding_is_the_former_one() -> None:
    near = 0.3 * (1 + RELATIVE / 2)
    former = rows(("a", 1, 0.3), ("b", 1, -0.3), (None, 1, 5.0))
    assert values(former, rows((None, 1, 5.0), ("a", 1, near), ("b", 1, -near))) == [5.0, 0.3, -0.3]


def test_one_that_differs_by_more_is_new() -> None:
    more = 0.3 * (1 + 3 * RELATIVE)
    assert values(rows(("a", 1, 0.3)), rows(("a", 1, more))) == [more]
    assert values(rows(("a", 1, 0.3)), rows(("a", 1, -0.3))) == [-0.3]


def test_a_row_that_has_changed_otherwise_takes_nothing_over() -> None:
    near = 0.3 * (1 + RELATIVE / 2)
    assert values(rows(("a", 1, 0.3)), rows(("a", 2, near), ("b", 1, near))) == [near, near]


def test_rows_that_can_t_be_told_apart_stay_as_they_are() -> None:
    near = 0.3 * (1 + RELATIVE / 2)
    assert values(rows(("a", 1, 0.3)), rows(("a", 1, near), ("a", 1, 0.7))) == [near, 0.7]
    assert values(rows(("a", 1, 0.3), ("a", 1, 0.7)), rows(("a", 1, near))) == [near]


def test_null_nan_and_infinity_are_themselves() -> None:
    former = rows(("a", 1, None), ("b", 1, math.nan), ("c", 1, math.inf), ("d", 1, 1.0))
    now = rows(("a", 1, 0.0), ("b", 1, 2.0), ("c", 1, math.inf), ("d", 1, None))
    assert values(former, now) == [0.0, 2.0, math.inf, None]


def test_other_columns_and_nothing_at_all_are_left_alone() -> None:
    now = rows(("a", 1, 0.3))
    assert taken_over(rows(), now) is now
    assert taken_over(now.select(["key", "s"]), now) is now
    assert taken_over(now, rows()).num_rows == 0


def test_nested_columns_do_not_stand_in_the_way() -> None:
    kind = pa.map_(pa.string(), pa.int32())
    now = rows(("a", 1, 0.3 * (1 + RELATIVE / 2)))
    now = now.append_column("m", pa.array([[("x", 1)]], kind))
    former = rows(("a", 1, 0.3)).append_column("m", pa.array([[("x", 1)]], kind))
    assert values(former, now) == [0.3]
