"""When malformed lines are too many."""

import pytest

from headwater.plan.sources.malformed_max import DEFAULT, malformed_max


@pytest.mark.parametrize(
    ("text", "malformed", "lines", "is_exceeded"),
    [
        ("1%", 0, 0, False),
        ("1%", 1, 26, False),
        ("1%", 2, 26, True),
        ("1%", 1, 1, True),
        ("1%", 10, 1_000, False),
        ("1%", 11, 1_000, True),
        ("0.1 %", 1, 1_000, False),
        ("0.1%", 2, 1_000, True),
        ("0%", 1, 1_000_000, True),
        ("100%", 5, 5, False),
        ("3", 3, 3, False),
        ("3", 4, 1_000_000, True),
        ("0", 1, 2, True),
    ],
)
def test_a_share_is_rounded_up_and_no_record_at_all_is_always_too_few(
    text: str, malformed: int, lines: int, is_exceeded: bool
) -> None:
    most = malformed_max(text)
    assert most is not None
    assert most.is_exceeded(malformed, lines=lines) is is_exceeded


@pytest.mark.parametrize(
    "text", ["", "%", "few", "-1", "1.5", "101%", "1e3", "1%%", "٣%", "9" * 99]
)
def test_what_is_neither_a_share_nor_a_number_is_none(text: str) -> None:
    assert malformed_max(text) is None


def test_one_percent_is_what_holds_unless_said() -> None:
    assert malformed_max("1%") == DEFAULT
