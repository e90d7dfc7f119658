"""Rates as operators write them."""

from __future__ import annotations

import pytest

from headwater.algebra.byte_rate import bytes_per_s_of, rate_text


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("200 kbit/s", 25_000),
        ("25 kB/s", 25_000),
        ("1.5 Mbit/s", 187_500),
        ("64kbit/s", 8_000),
        ("9600 bit/s", 1_200),
        (" 1 Gbit/s ", 125e6),
        ("2 MB/s", 2e6),
    ],
)
def test_bits_and_bytes_are_told_apart(text: str, bytes_per_s: float) -> None:
    assert bytes_per_s_of(text) == pytest.approx(bytes_per_s)


@pytest.mark.parametrize(
    "text",
    ["200", "200 kb/s", "200 kbps", "200 kbit", "kbit/s", "", "-1 kB/s", "0 kB/s", "1e3 kB/s",
     "2000 GB/s", "200 Kbit/s", "nan kB/s", "1 kB/s 2 kB/s"],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="200 kbit/s") as refused:
        bytes_per_s_of(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    "text", ["200 kbit/s", "1.5 Mbit/s", "96 bit/s", "1 Gbit/s", "12.5 kbit/s"]
)
def test_a_rate_is_shown_as_it_is_written(text: str) -> None:
    assert rate_text(bytes_per_s_of(text)) == text
