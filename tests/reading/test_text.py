"""Encodings, byte order marks, and where lines end before they are UTF-8."""

from __future__ import annotations

import pytest

from headwater.reading.arrays import lines_of_array
from headwater.reading.form import Form
from headwater.reading.headers import header_of
from headwater.reading.text import ToUtf8, as_utf8, encoding_of, last_line_end

TEXT = "zeit,größe\n1,ä€\n2,ß\n"


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("windows-1252", b""),
        ("utf-16-be", b""),
    ],
)
def test_text_of_any_encoding_becomes_utf8_block_by_block(encoding: str, mark: bytes) -> None:
    form = Form(encoding="utf-8" if mark else encoding, has_header=True)
    data = mark + TEXT.encode(encoding)
    found = encoding_of(data, form)
    one = ToUtf8(found)
    blocks = [data[at : at + 3] for at in range(found.mark_bytes, len(data), 3)]
    text = b"".join(map(one.next, blocks)) + one.next(b"", is_last=True)
    assert text.decode() == TEXT
    assert header_of(data, form) == "zeit,größe"


def test_what_is_not_of_the_encoding_becomes_a_sign_of_it() -> None:
    form = Form(encoding="ascii")
    assert as_utf8(b"a\xe4b", encoding_of(b"", form)).decode() == "a\ufffdb"


def test_a_line_feed_of_two_bytes_stands_at_even_places() -> None:
    text = "aĊb\n\u0a00\u0100x".encode("utf-16-le")  # its bytes are in here at an odd place, too
    assert text.rfind(b"\n\0") % 2 == 1
    assert text[: last_line_end(text, b"\n\0")].decode("utf-16-le") == "aĊb\n"
    assert last_line_end("aĊb".encode("utf-16-le"), b"\n\0") == 0
    assert last_line_end(b"a\nb", b"\n") == 2


def test_an_array_is_lines_of_its_values() -> None:
    data = b'[\r\n {"a": "x\\ny",\n  "b": [1,\n2]},\n\t3 ]\n'
    assert lines_of_array(data) == b'{"a": "x\\ny",   "b": [1, 2]}\n3\n'
    assert lines_of_array(b" \n") == b""
    for bad in (b'{"a": 1}', b"[1, 2", b"[1] 2"):
        with pytest.raises(ValueError, match="wanted one JSON array"):
            lines_of_array(bad)
