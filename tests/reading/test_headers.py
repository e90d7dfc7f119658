"""Where the names of columns stand in a file."""

from __future__ import annotations

import pytest

from headwater.reading.form import Form
from headwater.reading.headers import (
    HEADER_BYTES_MAX,
    fields_before,
    fields_line_in,
    header_of,
    line_at,
)
from headwater.reading.text import Encoding

NAMED, FIELDS = Form(has_header=True), Form(has_fields_lines=True)


@pytest.mark.parametrize(
    ("head", "header"),
    [
        (b"a,b\n1,2\n", "a,b"),
        (b"a,b\r\n1,2\r\n", "a,b"),
        (b"a,b\r1,2\r", "a,b"),
        (b"a,b", "a,b"),
        (b"\xef\xbb\xbfa,b\n", "a,b"),
        (b"\n\r\na,b\n", "a,b"),
        (b"", ""),
        ("ä,ß\n".encode(), "ä,ß"),
    ],
)
def test_the_first_line_with_something_in_it_is_the_header(head: bytes, header: str) -> None:
    assert header_of(head, NAMED) == header


def test_a_header_is_cut_where_nobody_looks_further() -> None:
    assert header_of(b"a" * (2 * HEADER_BYTES_MAX), NAMED) == "a" * HEADER_BYTES_MAX


def test_a_source_without_header_has_none() -> None:
    assert header_of(b"a,b\n", Form()) == ""


def test_a_line_that_names_columns_begins_with_the_directive() -> None:
    text = b"#Version: 1.0\n#Fields: a b\n1 #Fields: 2\n#Fields: c\n"
    first = fields_line_in(text)
    second = fields_line_in(text, first + 1)
    assert [line_at(text, at) for at in (first, second)] == ["#Fields: a b", "#Fields: c"]
    assert fields_line_in(text, second + 1) == -1
    assert header_of(text, FIELDS) == "#Fields: a b"


def test_the_newest_names_before_a_position_hold() -> None:
    text = b"#Fields: a\n" + b"1\n" * HEADER_BYTES_MAX + b"#Fields: b\n2\n"

    def read_at(count: int, offset: int) -> bytes:
        return text[offset : offset + count]

    assert fields_before(read_at, len(text)) == "#Fields: b"
    short = b"#Fields: a\n1\n#Fields: b\n2\n#Fields: c\n3\n"
    assert fields_before(lambda count, at: short[at : at + count], len(short)) == "#Fields: c"
    assert fields_before(read_at, len(text) - 20) == "#Fields: a"


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "iso8859-15", "utf-16-le", "utf-16-be"])
def test_names_of_columns_are_read_in_the_encoding_of_their_file(encoding: str) -> None:
    text = "#Fields: a €\n1 2\n#Fields: € b\n3 4\n".encode(encoding)
    form = Form(has_fields_lines=True, encoding=encoding)
    assert header_of(text, form) == "#Fields: a €"
    assert (
        header_of("a,€\n1,2\n".encode(encoding), Form(has_header=True, encoding=encoding)) == "a,€"
    )
    found = Encoding(encoding)
    second = fields_line_in(text, 1, found)
    assert line_at(text, second, found) == "#Fields: € b"
    assert fields_line_in(text, second + 1, found) == -1

    def read_at(count: int, offset: int) -> bytes:
        return text[offset : offset + count]

    assert fields_before(read_at, len(text), found) == "#Fields: € b"
    assert fields_before(read_at, second, found) == "#Fields: a €"
