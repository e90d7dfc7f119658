"""The columns of JSON objects, one in a line: members of members get a path.

>>> columns, broken = members_of(['{"a": 1, "geo": {"city": "Oslo"}, "tags": [1]}', "x"])
>>> columns
{'a': [1], 'geo.city': ['Oslo'], 'tags': [[1]]}
>>> broken
1
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

DEPTH_MAX = 4
"""Objects within objects that are taken apart; what lies deeper is taken as text."""
COLUMNS_MAX = 200
"""Of one source; members beyond are said to be left out."""


def are_objects(lines: Sequence[str]) -> bool:
    """Nearly all, by their first and last sign, and the first few by all of it."""
    likely = sum(line.lstrip()[:1] == "{" and line.rstrip()[-1:] == "}" for line in lines)
    return likely >= 0.9 * len(lines) > 0 and any(_object(line) is not None for line in lines[:20])


def members_of(lines: Sequence[str]) -> tuple[dict[str, list[Any]], int]:
    """By path the values that are not null, in the order of first sight; and how many lines are no
    objects."""
    columns: dict[str, list[Any]] = {}
    broken = 0
    for line in lines:
        found = _object(line)
        if found is None:
            broken += 1
        else:
            _add(columns, found, "", 1)
    return columns, broken


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _add(columns: dict[str, list[Any]], found: dict[str, Any], above: str, depth: int) -> None:
    for name, value in found.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and value and depth < DEPTH_MAX:
            _add(columns, value, f"{path}.", depth + 1)
        elif value is not None:
            columns.setdefault(path, []).append(value)
        else:
            columns.setdefault(path, [])
