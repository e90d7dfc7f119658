"""Whether Spark's own reader of JSON lines yields one row for each line of a file.

It passes over a line of blanks or ``null``, makes as many rows of an array as that has values, and
guesses the encoding of each line from its first bytes. So the first byte of every line is looked
at, which costs a fiftieth of parsing it: of lines that begin otherwise the reader makes one row,
with a value or as a line that it can't read. And it takes bytes for UTF-8 that are none, as long as
they come in the right number; so all bytes have to be.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable

import numpy as np

LINE_FEED, RETURN, NUL = b"\n", b"\r", b"\x00"
IS_DOUBTFUL = np.isin(np.arange(256), list(b"\t [n\xef"))
"""By its first byte, a line that may have nothing but blanks, may be an array or ``null``, or may
begin with a mark of its encoding. All other encodings than UTF-8 have a NUL there."""


def is_row_a_line(blocks: Iterable[bytes]) -> bool:
    """Of a file in blocks, which may end anywhere.

    >>> [is_row_a_line([one]) for one in (b'{}\\nx\\r\\n\\n{}', b'{}\\n[]', b'{}\\r {}')]
    [True, False, False]
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    before = LINE_FEED
    try:
        for block in blocks:
            if NUL in block or _begins_doubtfully(before, block):
                return False
            if not block.isascii() or decoder.getstate()[0]:
                decoder.decode(block)
            before = block[-1:] or before
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _begins_doubtfully(before: bytes, block: bytes) -> bool:
    """Any line that begins here, behind what the last block ended with."""
    if not block:
        return False
    data = np.frombuffer(block, np.uint8)
    if before in (LINE_FEED, RETURN) and IS_DOUBTFUL[data[0]]:
        return True
    is_end = data[:-1] == ord(LINE_FEED)
    if RETURN in block:
        is_end |= data[:-1] == ord(RETURN)
    return bool(IS_DOUBTFUL[data[1:][is_end]].any())
