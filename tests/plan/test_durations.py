import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.plan.durations import DURATION_US_MAX, duration_text, duration_us

S = 1_000_000


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("10s", 10 * S),
        ("10 seconds", 10 * S),
        ("1 second", S),
        ("2 minutes", 120 * S),
        ("500ms", S // 2),
        ("250 microseconds", 250),
        ("1h", 3600 * S),
        ("1 hour 30 minutes", 5400 * S),
        ("7d", 7 * 86_400 * S),
        ("2 weeks", 14 * 86_400 * S),
        ("1.5 s", 3 * S // 2),
        ("0s", 0),
        (" 10  Seconds ", 10 * S),
    ],
)
def test_people_s_ways_of_writing_a_length_of_time(text: str, us: int) -> None:
    assert duration_us(text) == us


@pytest.mark.parametrize(
    "text", ["", "10", "s", "1 month", "1 year", "-5s", "10 parsecs", "5 s x", "1e3s", "9999999d"]
)
def test_what_has_no_fixed_length_is_none(text: str) -> None:
    assert duration_us(text) is None


@given(st.integers(0, DURATION_US_MAX))
def test_a_length_written_out_reads_back(us: int) -> None:
    assert duration_us(duration_text(us)) == us
