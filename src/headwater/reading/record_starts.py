r"""Records that begin with a line of a certain form: all lines up to the next such line are theirs.

A stack trace stands in the lines behind the record that it belongs to. What tells them apart is the
beginning of a line (``plan/sources/record_start.py``), looked for in whole blocks by Arrow. A
record is over where the next one begins; of the last one nobody knows that before something
follows, or its file is complete, or nothing has come for a while (``store/input/cutting.py``).

Lines before the first beginning are a record by themselves, and so is what goes on with a record
beyond ``RECORD_BYTES_MAX``: both are malformed, as a rule, and nothing is passed over in silence.

Records are handed to Spark with ``SEPARATOR`` between them, line feeds between their lines and
none behind the last.

>>> log = b"1 a\n\tat b\n2 c\r\n\n3 d\n"
>>> record_starts(log, r"\d").tolist()
[0, 10, 16]
>>> Joining(r"\d").next(log, is_last=True)
b'1 a\n\tat b\x1e2 c\x1e3 d\x1e'
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.plan.sources.record_start import anchored
from headwater.reading.records import RECORD_BYTES_MAX, SEPARATOR, Positions
from headwater.reading.text import Encoding, as_utf8, last_line_end

_LF = 0x0A


def record_starts(text: bytes, start: str, *, is_rest: bool = False) -> Positions:
    """Where records begin in lines, the last of which may lack its end. The first line begins one
    in any case, unless the lines may be the rest of a record (``is_rest``)."""
    lines = _line_starts(text)
    are_starts = _are_starts(text, lines, start)
    if not is_rest:
        are_starts[:1] = True
    return _within_limit(lines[:-1][are_starts], lines)


def _line_starts(text: bytes) -> Positions:
    """With where the last one ends."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _LF) + 1
    rest = [] if not text or text.endswith(b"\n") else [len(text)]
    return np.concatenate([[0], ends, rest]).astype(np.int64)


def _are_starts(text: bytes, lines: Positions, start: str) -> NDArray[np.bool_]:
    """By line."""
    buffers = [None, pa.py_buffer(lines.astype(np.int32)), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.string(), len(lines) - 1, buffers)
    found = pc.match_substring_regex(texts, anchored(start)).to_numpy(zero_copy_only=False)
    return np.array(found, dtype=bool)


def _within_limit(starts: Positions, lines: Positions) -> Positions:
    """A record that is too long ends with the last of its lines that fits."""
    ends = np.append(starts[1:], lines[-1:])[: len(starts)]
    if not (ends - starts > RECORD_BYTES_MAX).any():
        return starts
    found: list[int] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        at = start
        while at < end:
            found.append(at)
            at = _next_line(at, lines) if end - at > RECORD_BYTES_MAX else end
    return np.array(found, dtype=np.int64)


def _next_line(at: int, lines: Positions) -> int:
    """The first line that does not fit a record that begins there; a line that fits none is one."""
    fitting = int(np.searchsorted(lines, at + RECORD_BYTES_MAX, side="right")) - 1
    following = int(np.searchsorted(lines, at, side="right"))
    return int(lines[max(fitting, following)])


def starts_in_file(
    block: bytes, start: str, encoding: Encoding, *, is_rest: bool = False
) -> Positions:
    """As ``record_starts``, of the whole lines in a block that is as it stands in its file. It is
    looked at as UTF-8, whose lines are those of the file."""
    raw = block[: last_line_end(block, encoding.line_feed)]
    if encoding.is_utf8:
        return record_starts(raw, start, is_rest=is_rest)
    text = as_utf8(raw, encoding)
    numbers = np.searchsorted(_line_starts(text), record_starts(text, start, is_rest=is_rest))
    return np.append([0], _line_feeds(raw, encoding))[numbers]


def _line_feeds(raw: bytes, encoding: Encoding) -> Positions:
    """Behind each."""
    sign = encoding.line_feed
    units = np.frombuffer(raw[: len(raw) // len(sign) * len(sign)], f"V{len(sign)}")
    found: Positions = (np.flatnonzero(units == np.frombuffer(sign, units.dtype)[0]) + 1) * len(
        sign
    )
    return found


class Joining:
    """A file of such records, in UTF-8, block after block, as what Spark reads."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._kept = b""

    def next(self, block: bytes, *, is_last: bool = False) -> bytes:
        """What is complete by now."""
        data = self._kept + block
        end = len(data) if is_last else data.rfind(b"\n") + 1
        lines = data[:end].replace(b"\r\n", b"\n")
        if not lines:
            self._kept = data
            return b""
        starts = record_starts(lines, self._start)
        through = len(lines) if is_last else int(starts[-1])
        self._kept = lines[through:] + data[end:]
        return _joined(lines[:through], starts)


def _joined(lines: bytes, starts: Positions) -> bytes:
    """Whole records with the separator behind each, and no line feed before it."""
    if not lines:
        return b""
    lines = lines if lines.endswith(b"\n") else lines + b"\n"
    data = np.frombuffer(lines, np.uint8).copy()
    ends = np.append(starts[(starts > 0) & (starts < len(lines))], len(lines)) - 1
    data[ends] = ord(SEPARATOR)
    blank = ends[(ends > 0) & (data[ends - 1] == _LF)]
    if not len(blank):
        return data.tobytes()
    texts = np.flatnonzero(data != _LF)
    before = np.searchsorted(texts, blank) - 1
    kept = np.ones(len(data), bool)
    for last, end in zip(before.tolist(), blank.tolist(), strict=True):
        kept[texts[last] + 1 if last >= 0 else 0 : end] = False
    return data[kept].tobytes()
