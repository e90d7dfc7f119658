"""Text from outside as people may see it: without what a terminal would obey.

A record's value, a file's name or an error's words may hold control characters: an escape sequence
sets a window's title, writes to the clipboard or hides what was printed before it; a mark of
direction makes a name look like another. Each is replaced by ``�``, so that a reader sees that
something was there. Programs read JSON, which has ways to write any character: there nothing is
lost, and the same characters stand as escapes.
"""

import re
from typing import Any

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""C0, DEL and C1, less the tab and the end of a line."""
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES = "\u2028\u2029"
_HALVES = "\ud800-\udfff"
"""Halves of a pair, which no output can write."""
_UNSEEN = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_LINES}{_HALVES}]")
_GAPS = re.compile("[\t\r\n]+")
REPLACED = "\ufffd"


def shown(text: str) -> str:
    """A text of several lines. Doing it twice changes nothing more.

    >>> shown("title \\x1b]0;root\\x07 end")
    'title �]0;root� end'
    """
    return _UNSEEN.sub(REPLACED, text)


def shown_line(text: str) -> str:
    """In one line, so that a value can't pass for further lines of what it is shown in.

    >>> shown_line("one\\ntwo: exact")
    'one two: exact'
    """
    return shown(_GAPS.sub(" ", text))


def shown_within(value: Any) -> Any:
    """Plain data with every text in it, keys among them, in one line."""
    if isinstance(value, str):
        return shown_line(value)
    if isinstance(value, dict):
        return {shown_within(key): shown_within(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(shown_within(item) for item in value)
    return value


def escaped_json(text: str) -> str:
    """JSON in which no character is left that a terminal obeys: they can stand within strings only,
    and there an escape means the same.

    >>> escaped_json('{"name": "\\x9b1m"}')
    '{"name": "\\\\u009b1m"}'
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
