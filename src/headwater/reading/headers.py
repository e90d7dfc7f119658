"""The header that the lines of a chunk are below: found in the file that it was cut from.

A chunk of a growing file begins anywhere, so whoever cuts it looks at the file's beginning, at most
``HEADER_BYTES_MAX`` of it. In logs of the W3C's format the columns change in the middle of a file
wherever a ``#Fields:`` line says so; such a line begins a chunk of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.reading.form import Form
from headwater.reading.text import Encoding, as_utf8, encoding_of

HEADER_BYTES_MAX = 64 << 10
"""A header that does not end by then is cut there: it will name no column of a sane source."""
FIELDS_LINE = "#Fields:"
UTF8 = Encoding()

ReadAt = Callable[[int, int], bytes]
"""(count, offset) to bytes; fewer than asked for at the end of the file."""


def header_of(head: bytes, form: Form) -> str:
    """The header in the first bytes of a file; empty: it has none.

    >>> header_of(b"\\xef\\xbb\\xbf\\r\\nts,domain\\r\\n1,a", Form(has_header=True))
    'ts,domain'
    >>> header_of(b"#Version: 1.0\\n#Fields: date time\\n1 2", Form(has_fields_lines=True))
    '#Fields: date time'
    """
    encoding = encoding_of(head, form)
    head = as_utf8(head[encoding.mark_bytes : HEADER_BYTES_MAX], encoding)
    if form.has_fields_lines:
        at = fields_line_in(head)
        return "" if at < 0 else line_at(head, at)
    return line_at(head.lstrip(b"\r\n"), 0) if form.has_header else ""


def fields_line_in(block: bytes, start: int = 0, encoding: Encoding = UTF8) -> int:
    """Where the first line begins from ``start`` on that names columns, or -1."""
    line_feed, symbol = encoding.line_feed, fields_symbol(encoding)
    if start == 0 and block.startswith(symbol):
        return 0
    at = block.find(line_feed + symbol, max(0, start - len(line_feed)))
    return at + len(line_feed) if at >= 0 else -1


def fields_symbol(encoding: Encoding = UTF8) -> bytes:
    """What begins such a line, as it stands in the file."""
    return FIELDS_LINE.encode(encoding.name)


def line_at(block: bytes, at: int, encoding: Encoding = UTF8) -> str:
    """The line that begins there, without its end."""
    line = as_utf8(block[at : at + HEADER_BYTES_MAX], encoding)
    ends = [end for end in (line.find(b"\n"), line.find(b"\r")) if end >= 0]
    return line[: min(ends, default=len(line))].decode("utf-8", "replace")


def fields_before(read_at: ReadAt, position: int, encoding: Encoding = UTF8) -> str:
    """The newest line before ``position`` that names columns, as far as a look at the beginning and
    at the end of what lies before it tells."""
    start = max(0, position - HEADER_BYTES_MAX)
    near = read_at(position - start, start)
    at = near.rfind(encoding.line_feed + fields_symbol(encoding))
    if at >= 0:
        return line_at(near, at + len(encoding.line_feed), encoding)
    head = read_at(min(position, HEADER_BYTES_MAX), 0)
    form = Form(has_fields_lines=True, encoding=encoding.name)
    return header_of(head, form)
