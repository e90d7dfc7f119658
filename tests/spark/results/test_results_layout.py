"""The difference of two bags of rows, for every kind of value that an answer may hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headwater.spark.results.results_layout import unmatched


@pytest.mark.parametrize(
    ("kind", "left", "right", "gone", "come"),
    [
        (pa.float64(), [float("nan"), None], [None, float("nan")], 0, 0),
        (pa.list_(pa.int64()), [[1, 2], [], None], [[1], [2], None], 2, 2),
        (pa.list_(pa.int64()), [[], None], [None, []], 0, 0),
        (pa.list_(pa.list_(pa.string())), [[["a"], ["b"]]], [[["a", "b"]]], 1, 1),
        (pa.struct([("x", pa.int64())]), [{"x": None}, None], [{"x": None}], 1, 0),
        (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], [[("a", 1)], [("a", 2)]], 0, 1),
        (pa.string(), [], ["a", "a"], 0, 2),
    ],
)
def test_rows_are_compared_by_value(
    kind: pa.DataType, left: list[Any], right: list[Any], gone: int, come: int
) -> None:
    tables = [pa.table({"other": [0] * len(v), "v": pa.array(v, kind)}) for v in (left, right)]
    masks = unmatched(*tables)
    assert [sum(mask.to_pylist()) for mask in masks] == [gone, come]
