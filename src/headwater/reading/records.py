"""Records that are longer than a line: where they end, found in whole blocks of bytes.

In csv a quoted value may hold line breaks. A line feed ends a record where an even number of quotes
stand before it: a quote within a value is doubled, so it counts twice. That is found for a block at
once. It holds as long as every quote that opens a value stands at its beginning; where one does not
(``5" pipe``), the quotes of that block are walked one by one.

A quote that never closes would swallow the rest of its file. So where no record ends within
``RECORD_BYTES_MAX``, the line that opened is a record by itself, and malformed.

Records are handed to Spark with ``SEPARATOR`` between them instead of line feeds.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

RECORD_BYTES_MAX = 1 << 20
"""Of one record over several lines."""
SEPARATOR = b"\x1e"
"""ASCII's own sign between records."""
_LF, _CR, _SEPARATOR = 0x0A, 0x0D, 0x1E
Positions = NDArray[np.int64]


class Quoting(msgspec.Struct, frozen=True):
    """How values with line breaks are written."""

    quote: bytes = b'"'
    escape: bytes = b'"'
    """Before a quote within a value."""
    delimiter: bytes = b","


def record_ends(block: bytes, quoting: Quoting) -> Positions:
    r"""After each record's line feed, for a block that begins with a record.

    >>> record_ends(b'a,"b\nc"\nd\n"e', Quoting()).tolist()
    [8, 10]
    """
    data = np.frombuffer(block, dtype=np.uint8)
    breaks = np.flatnonzero(data == _LF)
    quotes = _quotes(block, data, quoting)
    if not len(quotes) or not len(breaks):
        return breaks + 1
    before = np.searchsorted(quotes, breaks)
    found: Positions = breaks[before % 2 == 0] + 1
    return found


def _quotes(block: bytes, data: NDArray[np.uint8], quoting: Quoting) -> Positions:
    """Those that open and close values, in turn."""
    if quoting.quote not in block:
        return np.empty(0, dtype=np.int64)
    quotes = np.flatnonzero(data == quoting.quote[0])
    is_doubled = quoting.escape in (quoting.quote, b"")
    if not is_doubled and quoting.escape in block:
        quotes = quotes[~_is_escaped(data, quotes, quoting.escape[0])]
    opening = quotes[::2]
    before = data[opening[opening > 0] - 1]
    fine = (_LF, _CR, quoting.delimiter[-1], quoting.quote[0])
    if np.isin(before, fine).all():
        return quotes
    return _walked(block, quotes.tolist(), quoting, is_doubled=is_doubled)


def _is_escaped(data: NDArray[np.uint8], quotes: Positions, escape: int) -> NDArray[np.bool_]:
    """By an odd number of escapes right before."""
    others = np.flatnonzero(data != escape)
    last = np.searchsorted(others, quotes) - 1
    at = np.where(last >= 0, others[np.maximum(last, 0)], -1)
    found: NDArray[np.bool_] = (quotes - 1 - at) % 2 == 1
    return found


def _walked(block: bytes, quotes: list[int], quoting: Quoting, *, is_doubled: bool) -> Positions:
    """Quotes one by one, where some stand within values that are not quoted."""
    starts, kept, skip = b"\r\n" + quoting.delimiter[-1:], list[int](), -1
    for n, at in enumerate(quotes):
        if at <= skip:
            continue
        if len(kept) % 2:
            if is_doubled and n + 1 < len(quotes) and quotes[n + 1] == at + 1:
                skip = at + 1
            else:
                kept.append(at)
        elif at == 0 or block[at - 1] in starts:
            kept.append(at)
    return np.array(kept, dtype=np.int64)


def whole_records(block: bytes, quoting: Quoting, *, is_last: bool) -> Positions:
    """The ends of records that can be told now. A quote that does not close in time makes a record
    of its line; with ``is_last`` nothing follows, and what is left is lines."""
    found: list[Positions] = []
    start = 0
    while True:
        ends = record_ends(block[start:], quoting) + start
        found.append(ends)
        start = int(ends[-1]) if len(ends) else start
        is_stuck = len(block) - start > RECORD_BYTES_MAX
        if is_last:
            is_stuck = _is_open(block[start:], quoting)
        end = block.find(b"\n", start) + 1
        if not is_stuck or not end:
            return np.concatenate(found)
        found.append(np.array([end], dtype=np.int64))
        start = end


def _is_open(block: bytes, quoting: Quoting) -> bool:
    """Whether a quote does not close in what is left."""
    return len(_quotes(block, np.frombuffer(block, dtype=np.uint8), quoting)) % 2 == 1


def separated(block: bytes, ends: Positions) -> bytes:
    """The block with the separator for the line feeds, and CR LF, that end records."""
    data = np.frombuffer(block, dtype=np.uint8).copy()
    last = ends - 1
    data[last] = _SEPARATOR
    before = last[last > 0] - 1
    returns = before[data[before] == _CR]
    return np.delete(data, returns).tobytes() if len(returns) else data.tobytes()


class Separating:
    """A file of such records, block after block."""

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        self._kept = b""

    def next(self, block: bytes, *, is_last: bool = False) -> bytes:
        """What is complete by now."""
        data = self._kept + block
        ends = whole_records(data, self._quoting, is_last=is_last)
        through = len(data) if is_last else int(ends[-1]) if len(ends) else 0
        self._kept = data[through:]
        return separated(data[:through], ends)
