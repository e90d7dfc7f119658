from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.plan.timestamps import timestamp_text, timestamp_us

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))


@given(moments)
def test_the_calendar_is_python_s(moment: datetime) -> None:
    us = (moment - EPOCH) // timedelta(microseconds=1)
    assert timestamp_us(moment.isoformat()) == us
    assert timestamp_us(timestamp_text(us).replace(" UTC", "Z")) == us


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-01T00:00:00.25Z", 250_000),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31 23:00:00 -0100", 0),
        ("2024-02-29", 1_709_164_800_000_000),
    ],
)
def test_people_s_ways_of_writing_a_moment(text: str, us: int) -> None:
    assert timestamp_us(text) == us


@pytest.mark.parametrize(
    "text", ["", "now", "2026-13-01", "2026-02-29", "2026-01-01 24:00", "2026-1-1", "12:00"]
)
def test_what_is_no_moment_is_none(text: str) -> None:
    assert timestamp_us(text) is None
