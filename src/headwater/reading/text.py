"""Text in whatever encoding as UTF-8, and where its lines end before that.

Spark reads UTF-8. What a byte order mark says counts more than what the source says, and the mark
itself is no text. Bytes that are not of the encoding become U+FFFD, as they do in UTF-8.

Nearly all encodings have the line feed as one byte that is nothing else, so lines are found in the
bytes as they are. In UTF-16 and UTF-32 it has two or four, at places that are a multiple of that.
"""

from __future__ import annotations

import codecs

import msgspec

from headwater.reading.form import Form

MARK_BYTES_MAX = 4
UTF8_MARK = codecs.BOM_UTF8
_MARKS = (
    (UTF8_MARK, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The longer ones first: that of UTF-32 begins like one of UTF-16."""
_WITHOUT_MARK = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}


class Encoding(msgspec.Struct, frozen=True):
    """Of one file."""

    name: str = "utf-8"
    mark_bytes: int = 0
    """What the byte order mark at the beginning of the file takes."""

    @property
    def is_utf8(self) -> bool:
        return self.name == "utf-8"

    @property
    def line_feed(self) -> bytes:
        return "\n".encode(self.name)


def encoding_of(head: bytes, form: Form) -> Encoding:
    """By the first bytes of a file.

    >>> encoding_of(b"\\xff\\xfea\\0", Form())
    Encoding(name='utf-16-le', mark_bytes=2)
    >>> encoding_of(b"a", Form(encoding="latin1"))
    Encoding(name='iso8859-1', mark_bytes=0)
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name, len(mark))
    name = codecs.lookup(form.encoding).name
    return Encoding(_WITHOUT_MARK.get(name, name))


class ToUtf8:
    """A file's bytes, block after block, as UTF-8."""

    def __init__(self, encoding: Encoding) -> None:
        self._is_utf8 = encoding.is_utf8
        self._decoder = codecs.getincrementaldecoder(encoding.name)("replace")

    def next(self, block: bytes, *, is_last: bool = False) -> bytes:
        if self._is_utf8:
            return block
        return self._decoder.decode(block, is_last).encode("utf-8", "replace")


def as_utf8(block: bytes, encoding: Encoding) -> bytes:
    """Whole lines at once."""
    return ToUtf8(encoding).next(block, is_last=True)


def last_line_end(block: bytes, line_feed: bytes) -> int:
    """After the last line feed of a block that begins between two characters, or 0."""
    at = block.rfind(line_feed)
    while at > 0 and at % len(line_feed):
        at = block.rfind(line_feed, 0, at + len(line_feed) - 1)
    return at + len(line_feed) if at >= 0 and at % len(line_feed) == 0 else 0
