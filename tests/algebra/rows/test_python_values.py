"""Values of columns, also of those that Python has no value for."""

import pyarrow as pa
import pytest

from headwater.algebra.rows.python_values import DAY_US, DAYS_MAX, python_values

TIMES = pa.timestamp("us", tz="UTC")


def days(*numbers: int) -> pa.Array:
    return pa.array(numbers, pa.int32()).cast(pa.date32())


def test_what_python_knows_is_as_it_was() -> None:
    assert [str(day) for day in python_values(days(1, 2))] == ["1970-01-02", "1970-01-03"]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (days(5_000_000), ["15659-07-15"]),
        (days(-2_000_000, DAYS_MAX), ["-3506-03-09", str(DAYS_MAX)]),
        (
            pa.array([None, 4_000_000 * DAY_US, 1 << 62], pa.int64()).cast(TIMES),
            [None, "12921-08-18 00:00:00.000000Z", str(1 << 62)],
        ),
    ],
)
def test_what_lies_beyond_its_years_is_a_text(column: pa.Array, texts: list[str]) -> None:
    assert python_values(column) == texts


def test_dates_within_others_are_texts_too() -> None:
    within = pa.StructArray.from_arrays([days(5_000_000)], ["day"])
    assert python_values(within) == [{"day": "15659-07-15"}]
