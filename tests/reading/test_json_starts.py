"""Lines of which Spark's own reader of JSON makes one row each, told by their first bytes."""

from __future__ import annotations

import pytest

from headwater.reading.json_starts import is_row_a_line

GOOD = ["{}\n{}", "", "\n\r\n\n", '{"a":"ä😀"}\r{}\r\n', "{", 'x\n7\n"x"\n', "{}x\x01\n", "}{\n"]
OTHERS = [
    b" \n", b"{}\n \n{}", b"{}\n\t{}", b"[]", b"{}\n[{},{}]\n", b"null", b"{}\r\nnull\n",
    b"{}\r[]", b"\xef\xbb\xbf{}", b"{}\n\xef\xbb\xbf{}", b"{\x00}\x00", b'{"a":"\x00"}',
    b'{"a":"\xff"}', b'{"a":"\xc0\x80"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc3',
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_lines_that_begin_as_no_other_value(text: str) -> None:
    assert all(map(is_row_a_line, in_two(text.encode())))


@pytest.mark.parametrize("data", OTHERS)
def test_lines_that_may_be_none_or_several_or_no_text(data: bytes) -> None:
    """Wherever a block ends."""
    assert not any(map(is_row_a_line, in_two(data)))


def in_two(data: bytes) -> list[list[bytes]]:
    return [[data], *([data[:at], data[at:]] for at in range(len(data) + 1))]
