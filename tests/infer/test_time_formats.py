"""Texts as points in time, in the forms that were found."""

from __future__ import annotations

import pytest

from headwater.infer.epoch import find_unit
from headwater.infer.time_formats import find_format, format_us
from headwater.plan.timestamps import timestamp_us

HALVES = "MM/dd/yyyy hh:mm:ss a"


@pytest.mark.parametrize(
    ("value", "pattern", "utc"),
    [
        ("05/31/2026 12:00:00 PM", HALVES, "2026-05-31 12:00:00"),
        ("05/31/2026 12:00:00 AM", HALVES, "2026-05-31 00:00:00"),
        ("05/31/2026 01:00:00 PM", HALVES, "2026-05-31 13:00:00"),
        ("2026-05-01 12:00:00+02", "", "2026-05-01 10:00:00"),
        ("2026-05-01 12:00:00 UTC", "", "2026-05-01 12:00:00"),
        ("01/May/2026:14:00:00 +0230", "dd/MMM/yyyy:HH:mm:ss Z", "2026-05-01 11:30:00"),
        ("2026-05-01 12:00:00,250", "yyyy-MM-dd HH:mm:ss,SSS", "2026-05-01 12:00:00.25"),
    ],
)
def test_a_time_is_read_as_what_it_says(value: str, pattern: str, utc: str) -> None:
    assert format_us(value, pattern) == timestamp_us(utc)


@pytest.mark.parametrize("hour", ["00", "13"])
def test_there_is_no_such_hour_of_half_a_day(hour: str) -> None:
    assert format_us(f"05/31/2026 {hour}:00:00 PM", HALVES) is None


def test_a_first_value_that_is_malformed_does_not_hide_the_form_of_the_others() -> None:
    found = find_format(["soon", *["31.05.2026 12:00:00"] * 20], share=0.9)
    assert found is not None
    assert found.pattern == "dd.MM.yyyy HH:mm:ss"


def test_seconds_of_nine_digits_are_times() -> None:
    assert find_unit(["999999999", "1000000000"]) == "epoch_s"
    assert find_unit(["631151999"]) is None, "before 1990"
    assert find_unit(["4102444799"]) == "epoch_s"
    assert find_unit(["4102444800"]) is None, "from 2100 on"
