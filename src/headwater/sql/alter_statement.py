"""ALTER STREAM in a file of statements: told apart from what is installed, in the file's order.

::

    ALTER STREAM hits SET (error = '0.5 % of total', staleness = '5 s');
"""

from __future__ import annotations

from headwater.errors import QueryRefused
from headwater.sql.read.refusal import refusal
from headwater.sql.read.sql_text import Unreadable, tokens_of
from headwater.sql.read.statements import AlterStatement, Option, StatementReader, parts_of


def split_alters(text: str) -> tuple[str, tuple[AlterStatement, ...]]:
    """The file without them, every other statement at its place in the text; empty where nothing
    else is in it. Raises ``QueryRefused`` for one that is not as it must be."""
    try:
        tokens = tokens_of(text)
    except Unreadable as error:
        raise refusal(text, error.offset, error.message) from error
    rest, alters, others = text, [], 0
    for part in filter(None, parts_of(tokens)):
        found = StatementReader(text, part).alteration()
        if found is None:
            others += 1
            continue
        alters.append(found)
        first, last = part[0].start, part[-1].end + 1
        rest = rest[:first] + _blank(rest[first:last]) + rest[last:]
    return (rest if others else ""), tuple(alters)


def _blank(text: str) -> str:
    return "".join("\n" if sign == "\n" else " " for sign in text)


def read_settings(text: str) -> tuple[Option, ...]:
    """Of the list alone, as it stands between the brackets of SET. Raises ``QueryRefused``."""
    rest, alters = split_alters(f"ALTER STREAM s SET ({text})")
    if rest or len(alters) != 1:
        raise QueryRefused(f"wanted settings, as in error = '0.5 % of total', got {text[:80]!r}")
    return alters[0].options
