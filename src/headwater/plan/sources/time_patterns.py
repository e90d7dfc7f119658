"""Patterns of dates and times, as Spark takes them: which are sound.

Spark compiles a pattern when a batch runs, so a bad one would fail every batch, for ever. The rules
are those of Java's ``DateTimeFormatter`` with what Spark leaves out of it, held against a running
Spark by tests. Letters have a meaning and a largest count; text stands in quotes; brackets enclose
what may be missing.

>>> pattern_fault("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX")
>>> pattern_fault("yyyy-MM-dd B")
"'B' is no letter of a pattern"
"""

from __future__ import annotations

import re

PATTERN_LENGTH_MAX = 200
COUNTS = {
    "G": 4,
    "y": 6,
    "M": 4,
    "L": 4,
    "d": 2,
    "D": 3,
    "E": 4,
    "F": 1,
    "a": 1,
    "h": 2,
    "K": 2,
    "k": 2,
    "H": 2,
    "m": 2,
    "s": 2,
    "S": 9,
    "z": 4,
    "X": 5,
    "x": 5,
    "Z": 5,
    "Q": 4,
    "q": 4,
}
"""How often a letter may stand in a row."""
EXACT = {"V": (2,), "O": (1, 4)}
ONLY_WRITTEN = frozenset("EFQq")
"""Spark can write these, and does not read them."""
RESERVED = frozenset("{}#")
ZONES = frozenset("XxZzVO")
NUMERIC = frozenset("yMdDhHkKmsS")
_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)


def pattern_fault(pattern: str, *, is_read: bool = False) -> str | None:
    """What is wrong with a pattern, for people; ``is_read``: it is for reading texts."""
    if not 0 < len(pattern) <= PATTERN_LENGTH_MAX:
        return f"a pattern has 1 to {PATTERN_LENGTH_MAX} characters"
    depth = 0
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        depth += (piece == "[") - (piece == "]")
        fault = _letters_fault(piece, is_read=is_read) if match[1] else _symbol_fault(piece, depth)
        if fault is not None:
            return fault
    return None


def _letters_fault(piece: str, *, is_read: bool) -> str | None:
    letter, count = piece[0], len(piece)
    wanted = EXACT.get(letter) or range(1, COUNTS.get(letter, 0) + 1)
    if not wanted:
        return f"{letter!r} is no letter of a pattern"
    if count not in wanted:
        return f"{letter!r} stands {count} times in a row; wanted {' or '.join(map(str, wanted))}"
    if is_read and letter in ONLY_WRITTEN:
        return f"{letter!r} is only for writing; Spark does not read it"
    return None


def _symbol_fault(piece: str, depth: int) -> str | None:
    if piece == "'":
        return "a quote that does not end"
    if piece in RESERVED:
        return f"{piece!r} is reserved; write it in quotes"
    return "a bracket ends that did not begin" if depth < 0 else None


def has_zone(pattern: str) -> bool:
    """Whether a text says its zone or offset by itself.

    >>> has_zone("yyyy-MM-dd'Z' HH:mm"), has_zone("HH:mm[XXX]")
    (False, True)
    """
    return any(match[1] in ZONES for match in _PIECE.finditer(pattern) if match[1])


def is_zone_optional(pattern: str) -> bool:
    depth = 0
    for match in _PIECE.finditer(pattern):
        depth += (match.group() == "[") - (match.group() == "]")
        if depth and match[1] in ZONES:
            return True
    return False


def year_letters(pattern: str) -> int:
    """The most in a row."""
    return max((len(m.group()) for m in _PIECE.finditer(pattern) if m[1] == "y"), default=0)


def with_full_years(pattern: str) -> str:
    """``y`` as ``yyyy``: the same for years of four digits, and bounded.

    >>> with_full_years("d.M.y 'y'")
    "d.M.yyyy 'y'"
    """
    pieces = (match.group() for match in _PIECE.finditer(pattern))
    return "".join("yyyy" if piece in ("y", "yyy") else piece for piece in pieces)


def far_year(pattern: str) -> str | None:
    r"""A regular expression of texts whose year Java would read, and Spark fail by, for the whole
    batch: six digits and more, which take a sign. None: the pattern has no such year.

    >>> far_year("yyyy-MM-dd"), far_year("dd/MM/yyyy HH"), far_year("yy-MM")
    ('^\\s*[-+]\\d{6}', '/[-+]\\d{6}', None)
    >>> far_year("yyyyMMdd-HHmmss")
    '^\\s*[-+]\\d{10}'
    """
    pieces = list(_PIECE.finditer(with_full_years(pattern)))
    for at, match in enumerate(pieces):
        if match.group() == "yyyy":
            digits = 0
            for later in pieces[at:]:
                if later[1] not in NUMERIC:
                    break
                digits += len(later.group())
            before = pieces[at - 1].group() if at else ""
            symbol = re.escape(before) if before and not before[0].isalnum() else ""
            if before in ("[", "]") or before.startswith("'"):
                symbol = ""
            return (symbol if at else r"^\s*") + rf"[-+]\d{{{digits + 2}}}"
    return None
