r"""Records of a journal's export (``journalctl -o export``): where they end, and as text for Spark.

A record is lines of ``NAME=value`` up to an empty line. A value with a line break or another
control character is written in bytes: its name alone on a line, eight bytes of length, the lowest
first, then so many bytes, then a line feed. Those bytes may hold anything, empty lines among them,
so a record with such a value can only be walked field by field. Blocks without one, nearly all, are
cut at their empty lines.

For Spark a record stands between ``SEPARATOR``, its fields in lines. A line break within a value
is followed by ``BREAK``, which is no part of it. A value that is no text is told, not shown: after
the sign of equality comes ``BREAK`` and what it is.

>>> exported = b"A=1\nB\n\x04\0\0\0\0\0\0\0x\n\ny\n\nA=2\n\n"
>>> one = Journal()
>>> one.next(exported)
b'A=1\nB=x\n\x1f\n\x1fy\x1eA=2\x1e'
>>> record_end(exported), record_end(exported[:-1])
(25, 20)
"""

from __future__ import annotations

import re

from headwater.reading.records import SEPARATOR

BREAK = b"\x1f"
"""ASCII's own sign between units: after a line break within a value, or before what a value is."""
FIELD_BYTES_MAX = 16 << 20
"""Of one value; one with more, such as a core dump, is told by its size."""
SIZE_BYTES = 8
SIZE_MAX = 1 << 30
"""A journal takes no value of more than 768 MiB; eight letters read as a size are far more."""
_NAME = re.compile(rb"[A-Z0-9_]{1,64}")
_ALONE = re.compile(rb"(?:\A|\n)[A-Z0-9_]{1,64}\n")
"""A name without a value on its line."""


def record_end(block: bytes) -> int:
    """After the last whole record of a block that begins with one; 0: none is whole."""
    if _ALONE.search(block) is None:
        ends = (block.rfind(end) + len(end) for end in (b"\n\n", b"\n\r\n") if end in block)
        return max(ends, default=0)
    at = found = 0
    while (step := _step(block, at)) is not None:
        line, at, _ = step
        if not line.strip():
            found = at
    return found


class Journal:
    """An export, block after block, as what Spark reads."""

    def __init__(self) -> None:
        self._kept = b""
        self._fields: list[bytes] = []
        """Of the record under way."""
        self._skip = 0
        """Bytes of a value that is too long, still to come."""

    def next(self, block: bytes, *, is_last: bool = False) -> bytes:
        """What is whole by now."""
        data = self._kept + block
        if not self._skip and not self._fields and _ALONE.search(data) is None:
            end = len(data) if is_last else record_end(data)
            self._kept = data[end:]
            return _plain(data[:end])
        out: list[bytes] = []
        at = self._walk(data, out)
        self._kept = data[at:]
        if is_last:
            self._fields += _rest(self._kept)
            self._kept = b""
            self._flush(out)
        return b"".join(out)

    def _walk(self, data: bytes, out: list[bytes]) -> int:
        at = 0
        while True:
            passed = min(self._skip, len(data) - at)
            self._skip, at = self._skip - passed, at + passed
            step = _step(data, at, is_long_passed=True) if not self._skip else None
            if step is None:
                return at
            line, at, size = step
            if size > FIELD_BYTES_MAX:
                self._skip = max(0, at - len(data))
                at = min(at, len(data))
            if line.strip():
                self._fields.append(line)
            else:
                self._flush(out)

    def _flush(self, out: list[bytes]) -> None:
        if self._fields:
            out += [b"\n".join(self._fields), SEPARATOR]
            self._fields = []


Step = tuple[bytes, int, int]
"""A field as a line for Spark, where the next one begins, and the bytes of its value if those are
counted."""


def _step(data: bytes, at: int, *, is_long_passed: bool = False) -> Step | None:
    """The field that begins there; None: it is not whole. What looks like a name, and has no value
    behind it, is a line as it is. ``is_long_passed``: a value that is too long may end beyond the
    data."""
    end = data.find(b"\n", at)
    if end < 0:
        return None
    line = data[at:end].removesuffix(b"\r")
    if _NAME.fullmatch(line) is None:
        return line, end + 1, 0
    start = end + 1 + SIZE_BYTES
    if len(data) < start:
        return None
    size = int.from_bytes(data[end + 1 : start], "little")
    if size > SIZE_MAX:
        return line, end + 1, 0
    if size > FIELD_BYTES_MAX:
        told = f"{size:,} bytes, more than are taken ({FIELD_BYTES_MAX:,})".encode()
        is_there = is_long_passed or start + size < len(data)
        return (_told(line, told), start + size + 1, size) if is_there else None
    if len(data) <= start + size:
        return None
    if data[start + size] != 0x0A:
        return line, end + 1, 0
    return _field(line, data[start : start + size]), start + size + 1, size


def _field(name: bytes, value: bytes) -> bytes:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return _told(name, b"%d bytes that are not UTF-8" % len(value))
    if SEPARATOR in value or value.startswith(BREAK):
        return _told(name, b"%d bytes with control characters that no text has" % len(value))
    return name + b"=" + value.replace(b"\n", b"\n" + BREAK)


def _told(name: bytes, what: bytes) -> bytes:
    return name + b"=" + BREAK + what


def _rest(data: bytes) -> list[bytes]:
    """Fields of a record that the file ends in; a value that is cut off is told."""
    found: list[bytes] = []
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        line = data[at:end].removesuffix(b"\r")
        if _NAME.fullmatch(line) is not None:
            return [*found, _told(line, b"a value that is cut off")]
        found.append(line)
        at = end + 1
    return [*found, data[at:]] if data[at:] else found


def _plain(records: bytes) -> bytes:
    """Records without counted values; of a last one the empty line may be missing."""
    text = records.replace(b"\r\n", b"\n").strip(b"\n")
    return re.sub(rb"\n\n+", SEPARATOR, text) + SEPARATOR if text else b""
