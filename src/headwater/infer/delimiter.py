r"""Which sign stands between the values of lines, and how many values a line has.

A sign is believed where it cuts (nearly) every line into the same number of values, more than one.
Of several that do, the one that cuts into more wins; but a comma that only stands between digits,
as in ``1,5;2,5``, is a decimal comma where a semicolon or a tab cuts as well.

>>> found = find_delimiter(["a;1,5;x", "b;2,5;y"])
>>> found.symbol, found.width, found.share
(';', 3, 1.0)
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

SYMBOLS = (",", "\t", ";", "|", "\x01", "~", "^")
"""From the most to the least usual, which decides between equals."""
SHARE_MIN = 0.8
"""Of all lines that must have the usual number of values."""
QUOTE = '"'
BESIDE_DECIMAL_COMMAS = (";", "\t")
"""Between values where numbers are written with commas."""
_OTHER_COMMA = re.compile(r"(?<!\d),|,(?!\d)")


class Delimiter(msgspec.Struct, frozen=True):
    symbol: str
    width: int
    """Values in a line, as most lines have it."""
    share: float
    """Of the lines that have that many."""
    is_quoted: bool
    """Values stand in quotes, at least some."""
    breaks: int = 0
    """Records that go over several lines."""


def find_delimiter(lines: Sequence[str]) -> Delimiter | None:
    """None where no sign cuts the lines evenly."""
    found = [one for symbol in SYMBOLS if (one := _tried(lines, symbol)) is not None]
    has_other = any(one.symbol in BESIDE_DECIMAL_COMMAS for one in found)
    if has_other and not any(_OTHER_COMMA.search(line) for line in lines):
        found = [one for one in found if one.symbol != ","]
    return max(found, key=_rank, default=None)


def _rank(found: Delimiter) -> tuple[float, int, int]:
    return round(found.share, 1), found.width, -SYMBOLS.index(found.symbol)


def _tried(lines: Sequence[str], symbol: str) -> Delimiter | None:
    is_quoted = any(_is_quoted(line, symbol) for line in lines)
    rows = records_of(lines, symbol, is_quoted=is_quoted)
    widths = Counter(len(row) for row in rows)
    if not widths:
        return None
    width, count = max(widths.items(), key=lambda one: (one[1], one[0]))
    share = count / len(rows)
    if width < 2 or share < SHARE_MIN:
        return None
    breaks = sum(any("\n" in value for value in row) for row in rows)
    return Delimiter(symbol, width, share, is_quoted, breaks)


def _is_quoted(line: str, symbol: str) -> bool:
    """A quote at the begin of a value."""
    return line.startswith(QUOTE) or f"{symbol}{QUOTE}" in line


def records_of(lines: Sequence[str], symbol: str, *, is_quoted: bool) -> list[list[str]]:
    """The values of each record. A record with a break in quotes takes several lines.

    >>> records_of(['a,"b', 'c",d'], ",", is_quoted=True)
    [['a', 'b\\nc', 'd']]
    """
    if not is_quoted:
        return [line.split(symbol) for line in lines]
    ended = [f"{line}\n" for line in lines]
    csv.field_size_limit(1 << 30)
    rows = list(csv.reader(ended, delimiter=symbol, quotechar=QUOTE, doublequote=True))
    return [row for row in rows if row]
