"""A file that is one JSON array, as lines."""

from __future__ import annotations

import msgspec

ARRAY_BYTES_MAX = 256 << 20
"""Of one file: all of it is in memory at once."""


def lines_of_array(data: bytes) -> bytes:
    """Raises ``ValueError`` for what is no array. A line break stands between values only: within
    a string JSON writes it as \\n, so none has to be looked for in there.

    >>> lines_of_array(b'[{"a": 1,\\n "b": 2}, {"a": 3}]')
    b'{"a": 1,  "b": 2}\\n{"a": 3}\\n'
    """
    text = data.replace(b"\r", b" ").replace(b"\n", b" ")
    if not text.strip():
        return b""
    try:
        values = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"wanted one JSON array: {error}") from error
    return b"".join(line for value in values for line in (bytes(value), b"\n"))
