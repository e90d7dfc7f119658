"""The columns of JSON objects, one in a line: members of members get a path.

>>> columns, broken = members_of(['{"a.b": 1, "geo": {"city": "Oslo", "x-y": 2}}', "x"])
>>> columns
{('a.b',): [1], ('geo', 'city'): ['Oslo'], ('geo', 'x-y'): [2]}
>>> broken
1
>>> path_text(("a.b",)), path_text(("geo", "city")), path_text(("geo", "x-y"))
('', 'geo.city', 'geo.`x-y`')
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from itertools import count
from typing import Any

DEPTH_MAX = 4
"""Objects within objects that are taken apart; what lies deeper is taken as text."""
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_BLANKS = re.compile(r"\s*")
_COMMA = re.compile(r"\s*,")
_DECODER = json.JSONDecoder()
COLUMNS_MAX = 200
"""Of one source; members beyond are said to be left out."""


def are_objects(lines: Sequence[str]) -> bool:
    """Nearly all, by their first and last sign, and the first few by all of it."""
    likely = sum(line.lstrip()[:1] == "{" and line.rstrip()[-1:] == "}" for line in lines)
    return likely >= 0.9 * len(lines) > 0 and any(_object(line) is not None for line in lines[:20])


def is_array(first_line: str) -> bool:
    """Whether a file that begins so may be one array of objects, over however many lines."""
    return re.match(r"\s*\[\s*([{\]]|$)", first_line) is not None


def elements_of(text: str) -> list[str]:
    """The whole elements at the beginning of an array, each in one line; what follows the first
    that is cut off, or broken, is left.

    >>> elements_of('[{"a": [1, 2],\\n "b": 1}, {"a": 3}, {"a"')
    ['{"a": [1, 2],  "b": 1}', '{"a": 3}']
    """
    one_line = text.replace("\r", " ").replace("\n", " ")
    at = one_line.find("[") + 1
    found: list[str] = []
    while at:
        start = _BLANKS.match(one_line, at).end()  # type: ignore[union-attr]
        try:
            _, end = _DECODER.raw_decode(one_line, start)
        except (ValueError, RecursionError):
            break
        found.append(one_line[start:end])
        after = _COMMA.match(one_line, end)
        at = after.end() if after is not None else 0
    return found


Place = tuple[str, ...]
"""The names of members, from the outermost in."""


def members_of(lines: Sequence[str]) -> tuple[dict[Place, list[Any]], int]:
    """By place the values that are not null, in the order of first sight; and how many lines are no
    objects."""
    columns: dict[Place, list[Any]] = {}
    broken = 0
    for line in lines:
        found = _object(line)
        if found is None:
            broken += 1
        else:
            _add(columns, found, ())
    return columns, broken


def path_text(place: Place) -> str:
    """As PATH has it; empty for a member of the record itself, which its name alone finds."""
    if len(place) == 1:
        return ""
    return ".".join(
        name if _PLAIN_NAME.fullmatch(name) else f"`{_doubled(name)}`" for name in place
    )


def column_name(place: Place, taken: Collection[str]) -> str:
    """Its own name, which finds it; for what lies deeper one that is free.

    >>> column_name(("geo", "city"), ["geo_city"]), column_name(("@timestamp",), ["@timestamp"])
    ('geo_city_2', '@timestamp')
    """
    if len(place) == 1:
        return place[0]
    name = re.sub(r"\W+", "_", "_".join(place))
    lower = {one.lower() for one in taken}
    if name.lower() not in lower:
        return name
    return next(f"{name}_{n}" for n in count(2) if f"{name}_{n}".lower() not in lower)


def _doubled(name: str) -> str:
    return name.replace("`", "``")


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _add(columns: dict[Place, list[Any]], found: dict[str, Any], above: Place) -> None:
    for name, value in found.items():
        place = (*above, name)
        if isinstance(value, dict) and value and len(place) < DEPTH_MAX:
            _add(columns, value, place)
        elif value is not None:
            columns.setdefault(place, []).append(value)
        else:
            columns.setdefault(place, [])
