"""Refusals that point into the text: where, what is wrong, and what is possible.

::

    line 4:8: no column `domian` in source `access`; did you mean `domain`? columns: ts, domain
      SELECT domian, count(*)
             ^
"""

from collections.abc import Iterable
from difflib import get_close_matches

from headwater.errors import QueryRefused

NAMES_SHOWN = 20
LINE_SHOWN = 200
"""Characters of the offending line; a longer one is shown around the place."""


def refusal(text: str, offset: int, message: str) -> QueryRefused:
    """The error to raise for something at this offset of the text."""
    offset = max(0, min(offset, len(text)))
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)].replace("\t", " ")
    column = offset - line_start
    first = max(0, column - LINE_SHOWN // 2)
    shown = line[first : first + LINE_SHOWN].rstrip()
    number = text.count("\n", 0, offset) + 1
    caret = " " * (column - first) + "^"
    return QueryRefused(
        f"line {number}:{column + 1}: {message}\n  {shown}\n  {caret}", offset=offset, said=message
    )


def choices(what: str, names: Iterable[str], *, near: str | None = None) -> str:
    """``; did you mean `x`? columns: …``, to end a message with.

    >>> choices("columns", ["domain", "bytes"], near="domian")
    '; did you mean `domain`? columns: domain, bytes'
    """
    known = list(names)
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches((near or "").lower(), by_lower, n=1)
    hint = f"; did you mean `{by_lower[found[0]]}`?" if found else ";"
    more = ", …" if len(known) > NAMES_SHOWN else ""
    return f"{hint} {what}: {', '.join(known[:NAMES_SHOWN]) or 'none'}{more}"
