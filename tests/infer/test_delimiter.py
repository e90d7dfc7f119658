"""Which sign cuts lines into values."""

from __future__ import annotations

import pytest

from headwater.infer.delimiter import find_delimiter


def test_a_sign_that_cuts_all_lines_alike_beats_one_that_cuts_some_into_more() -> None:
    lines = [f"x;a,b,c,d,{n};1" for n in range(8)] + ["x;a;1", "y;b;2"]
    found = find_delimiter(lines)
    assert found is not None
    assert (found.symbol, found.width, found.share) == (";", 3, 1.0)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_comma_that_only_stands_between_digits_is_a_decimal_comma(sign: str) -> None:
    rows = [["ts", "a", "b"], *([f"2026-05-{day}", f"{day},5", "2,25"] for day in range(10, 31))]
    found = find_delimiter([sign.join(row) for row in rows])
    assert found is not None
    assert (found.symbol, found.width, found.share) == (sign, 3, 1.0)


def test_a_comma_between_digits_cuts_where_no_other_sign_does() -> None:
    found = find_delimiter(["1777636800,1,2", "1777636801,3,4"])
    assert found is not None
    assert (found.symbol, found.width) == (",", 3)
    other = find_delimiter(["a|b|c;d", "e|f|g;h"])
    assert other is not None
    assert (other.symbol, other.width) == ("|", 3)


def test_a_sign_that_cuts_too_many_lines_otherwise_is_none() -> None:
    even = ["a,b,c"] * 8
    assert find_delimiter([*even, "a", "b,c"]) is not None
    assert find_delimiter([*even[:7], "a", "b", "c,d"]) is None
