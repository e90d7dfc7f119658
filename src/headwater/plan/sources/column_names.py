"""Names of columns: what may stand in backticks, and paths to values within a record.

A name is a word, or anything in backticks that can be printed: ``@timestamp``, ``user-agent``. A
path leads into nested data: ``geo.country``, ``tags[0]``, ``labels['a b']``. Within a path a name
in backticks is taken as it is, dots and all.

>>> path_steps("geo.`odd.name`.city"), path_steps("tags[0]"), path_steps("m['k'].x")
(('geo', 'odd.name', 'city'), ('tags', 0), ('m', 'k', 'x'))
>>> path_text(("geo", "odd.name", 0))
'geo.`odd.name`[0]'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME_LENGTH_MAX = 100
PATH_LENGTH_MAX = 500
PATH_STEPS_MAX = 20
INDEX_DIGITS_MAX = 6
Step = str | int
_STEP = re.compile(
    r"""(?P<dot>\.?)(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<bare>[^.\[\]`'\s]+))
      | \[(?P<index>\d+)\]
      | \['(?P<key>[^']+)'\]""",
    re.VERBOSE,
)
_BARE = re.compile(r"[^.\[\]`'\s]+")


def name_fault(name: str) -> str | None:
    """What is wrong with a column's name, for people."""
    if not 1 <= len(name) <= NAME_LENGTH_MAX:
        return f"a name has 1 to {NAME_LENGTH_MAX} characters"
    if not name.isprintable():
        return "a name has no line breaks and no other signs that can't be printed"
    return None


def path_steps(path: str) -> tuple[Step, ...]:
    """Raises ``ValueError`` with a sentence."""
    wanted = "wanted a path such as geo.country, tags[0] or labels['a b']"
    if not 0 < len(path) <= PATH_LENGTH_MAX:
        raise ValueError(f"{wanted}, of at most {PATH_LENGTH_MAX} characters")
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or (bool(match["dot"]) != bool(steps) and match["dot"] is not None):
            raise ValueError(f"{wanted}, got '{path[:60]}'")
        at = match.end()
        steps.append(_step(match))
    fault = _fault(steps)
    if fault is not None:
        raise ValueError(fault)
    return tuple(steps)


def path_text(steps: Sequence[Step]) -> str:
    """The one way to write a path."""
    words = []
    for step in steps:
        if isinstance(step, int):
            words.append(f"[{step}]")
        else:
            bare = _BARE.fullmatch(step) is not None
            words.append(f".{step}" if bare else f".`{step.replace('`', '``')}`")
    return "".join(words).removeprefix(".")


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"][: INDEX_DIGITS_MAX + 1])
    if match["quoted"] is not None:
        return match["quoted"].replace("``", "`")
    return match["bare"] or match["key"]


def _fault(steps: Sequence[Step]) -> str | None:
    if len(steps) > PATH_STEPS_MAX:
        return f"a path has at most {PATH_STEPS_MAX} steps"
    if isinstance(steps[0], int):
        return "a path begins with a name"
    for step in steps[1:]:
        if isinstance(step, str) and (set(step) & set("'?") or step == "*"):
            return f"`{step[:60]}`: behind the first name Spark finds no names with ' or ?, nor *"
        if isinstance(step, int) and step >= 10**INDEX_DIGITS_MAX:
            return f"an index has at most {INDEX_DIGITS_MAX} digits"
    faults = (name_fault(step) for step in steps if isinstance(step, str))
    return next((fault for fault in faults if fault is not None), None)


def json_path(steps: Sequence[Step]) -> str:
    """As Spark's ``get_json_object`` takes it.

    >>> json_path(("odd.name", 0, "x"))
    "$['odd.name'][0]['x']"
    """
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in steps)
