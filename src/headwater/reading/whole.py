"""Whether a file that is read as a whole is complete, and what stands for its header."""

from __future__ import annotations

from headwater.plan.sources.compressed import expanded_suffix
from headwater.reading.columnar import NOT_WHOLE, schema_of
from headwater.reading.expand import Damaged, Expanded, Incomplete, ReadAt
from headwater.reading.form import Form
from headwater.reading.text import MARK_BYTES_MAX, as_utf8, encoding_of

__all__ = ["Damaged", "Incomplete", "look_whole"]

END_BYTES = 4096
"""At the end of an array: blanks may follow its bracket."""
EXPANDED_BYTES_MAX = 1 << 30


def look_whole(read_at: ReadAt, size: int, name: str, form: Form) -> str:
    """Raises ``Incomplete`` and ``Damaged``, and what reading the file raises."""
    if form.columnar:
        return schema_of(read_at, size, form.columnar)
    suffix = expanded_suffix(name)
    if suffix:
        expanded = Expanded(read_at, suffix=suffix)
        held = expanded.size(bytes_max=EXPANDED_BYTES_MAX)
        if held is None:
            raise Damaged(0, f"holds more than {EXPANDED_BYTES_MAX >> 30} GiB")
        read_at, size = expanded.read_at, held
    encoding = encoding_of(read_at(MARK_BYTES_MAX, 0), form)
    start = max(encoding.mark_bytes, size - END_BYTES)
    start -= (start - encoding.mark_bytes) % len(encoding.line_feed)
    if not as_utf8(read_at(size - start, start), encoding).rstrip().endswith(b"]"):
        raise Incomplete(0, f"one JSON array, and {NOT_WHOLE}")
    return ""
