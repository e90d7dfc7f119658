"""Structs and arrays are keys: two are one group where Spark takes them for equal."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial

NAN = float("nan")
KEY = "struct<a:int,b:array<double>>"


class Layout:
    keys = (Column("k", KEY), Column("tags", "array<string>"), Column("n", "int"))
    partials = (Partial("count_1", "bigint", "sum"),)


MERGER = ArrowMerger(Layout())
DOUBLES = st.none() | st.sampled_from([0.0, -0.0, NAN, -NAN, 1.5])
STRUCTS = st.none() | st.fixed_dictionaries(
    {"a": st.none() | st.integers(0, 1), "b": st.none() | st.lists(DOUBLES, max_size=2)}
)
ROWS = st.tuples(
    STRUCTS,
    st.none() | st.lists(st.none() | st.sampled_from(["", "a", "ab"]), max_size=2),
    st.integers(0, 1),
    st.integers(-5, 5),
)


def table(rows: list) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[]] * 4
    return pa.table(
        [pa.array(one, type_) for one, type_ in zip(columns, MERGER.schema.types, strict=True)],
        schema=MERGER.schema,
    )


def same(value: object) -> object:
    """What Spark takes for one value."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    if isinstance(value, dict):
        return tuple(same(value[name]) for name in sorted(value))
    return tuple(map(same, value)) if isinstance(value, list) else value


def sums(rows: list) -> dict[object, int]:
    found: dict[object, int] = {}
    for *key, count in rows:
        found[same(key)] = found.get(same(key), 0) + count
    return found


@given(st.lists(ROWS, min_size=1, max_size=12), st.integers(0, 12))
def test_nested_keys_group_as_spark_does(rows: list, cut: int) -> None:
    parts = [table(part) for part in (rows[:cut], rows[cut:]) if part]
    merged = MERGER.groups(parts).merged
    found = [list(row.values()) for row in merged.to_pylist()]
    assert sums(found) == sums(rows)
    assert len(found) == len(sums(rows))
    assert merged.schema == MERGER.schema


def test_a_null_array_is_no_empty_one() -> None:
    rows = table([(None, None, 1, 1), (None, [], 1, 2), ({"a": None, "b": None}, None, 1, 4)])
    assert MERGER.groups([rows]).merged.num_rows == 3


def test_columns_that_spark_marks_as_never_null_are_taken() -> None:
    """The elements of ``split`` can't be null, and Spark says so in the type."""
    marked = pa.list_(pa.field("element", pa.string(), nullable=False))
    rows = table([(None, ["a"], 1, 1)])
    rows = rows.set_column(1, "tags", pa.array([["a"]], marked))
    assert MERGER.merge([rows, table([(None, ["a"], 1, 2)])]).to_pylist()[0]["count_1"] == 3
