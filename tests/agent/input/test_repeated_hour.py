"""The hour that comes twice is said once, where a source has local times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headwater.agent.input.repeated_hour import KIND, RepeatedHour
from headwater.plan.sources.source import Source
from headwater.plan.sources.time_formats import CALENDAR_US
from headwater.sql.compile import parse_script


def source(options: str) -> Source:
    text = f"CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts'{options})"
    (found,) = parse_script(text).sources
    return found


def us(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


def test_it_is_said_once_as_records_reach_it_and_again_a_year_later() -> None:
    hour = RepeatedHour(source(", zone = 'Europe/Berlin'"))
    assert hour.reached(us("2024-10-26 23:59:59")) == []
    ((kind, text),) = hour.reached(us("2024-10-27 00:10:00"))
    assert kind == KIND
    assert "Europe/Berlin, and local times such as 02:10 come twice" in text
    assert hour.reached(us("2024-10-27 00:50:00")) == [], "it has been said"
    assert hour.reached(us("2024-10-27 01:10:00")) == [], "the second hour is no record's guess"
    assert hour.reached(us("2025-10-26 00:10:00")) != []


@pytest.mark.parametrize(
    "options", ["", ", zone = '+02:00'", ", zone = 'Europe/Berlin', timestamp_format = 'epoch_s'"]
)
def test_times_that_are_no_guess_are_never_told_of(options: str) -> None:
    assert RepeatedHour(source(options)).reached(us("2024-10-27 00:10:00")) == []


def test_the_ends_of_the_calendar_are_passed_over() -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):
        hour = RepeatedHour(source(f", zone = '{zone}'"))
        assert hour.reached(CALENDAR_US[0]) == hour.reached(CALENDAR_US[1] - 1) == []
    assert hour.reached(None) == []
