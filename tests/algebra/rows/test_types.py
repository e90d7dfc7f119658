"""Spark's types and Arrow's are the same types, one for one."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import (
    WINDOW_TYPE,
    arrow_type,
    decimal_digits,
    decimal_type,
    site_schema,
    spark_type,
    summary_schema,
)

SIMPLE = "boolean tinyint smallint int bigint float double string binary date timestamp"


class Layout:
    keys = (Column("domain", "string"), Column("price", "decimal(10,2)"))
    partials = (Partial("count_1", "bigint", "sum"),)


@pytest.mark.parametrize("name", [*SIMPLE.split(), WINDOW_TYPE])
def test_a_type_goes_to_arrow_and_back(name: str) -> None:
    assert spark_type(arrow_type(name)) == name


@given(st.integers(1, 38), st.data())
def test_decimals_go_to_arrow_and_back(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, precision))
    name = decimal_type(precision, scale)
    assert decimal_digits(name) == (precision, scale)
    assert spark_type(arrow_type(name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "decimal(39,0)",
        "decimal(5,6)",
        "decimal(0,0)",
        "array<text>",
        "",
        "INT",
        "interval day",
    ],
)
def test_what_no_column_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no column has type"):
        arrow_type(name)


def test_an_arrow_type_that_spark_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no column has Arrow type"):
        spark_type(pa.large_string())


def test_the_schema_of_a_summary_is_keys_then_partials() -> None:
    wanted = [("domain", pa.string()), ("price", pa.decimal128(10, 2)), ("count_1", pa.int64())]
    assert summary_schema(Layout()) == pa.schema(wanted)
    assert site_schema(Layout()) == pa.schema([("pane", pa.int64()), *wanted])
