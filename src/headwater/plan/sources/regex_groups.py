"""Which group of a regular expression fills which column.

The pattern is Java's, since Spark runs it, so its groups are found by reading it: a group counts
when its bracket is not escaped, not in a character class and not of the ``(?…)`` kind, except for
``(?<name>…)``. Named groups fill the columns of their names, whatever the order; without names the
groups fill the columns from left to right.
"""

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"""\\Q.*?(?:\\E|$)      # quoted text
      | \\.                  # an escaped sign
      | \(\?<(?P<name>[A-Za-z][A-Za-z0-9]*)>
      | \(\?                 # a group that does not count
      | \(                   # a group that counts
      | \[\^?\]?             # a character class begins; a bracket right after it is a sign
      | \]                   # and ends
      | &&
    """,
    re.VERBOSE | re.DOTALL,
)


def groups_of(pattern: str) -> list[str | None]:
    """The groups that count, in order, each with its name or None.

    >>> groups_of(r"(?<ts>\\S+) (?:x|y) [(] \\( (?<domain>\\w+)")
    ['ts', 'domain']
    >>> groups_of(r"(a)(b(c))")
    [None, None, None]
    """
    found: list[str | None] = []
    depth = 0
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if text.startswith("["):
            depth += 1
        elif text == "]":
            depth = max(0, depth - 1)
        elif depth == 0 and text == "(":
            found.append(None)
        elif depth == 0 and token["name"]:
            found.append(token["name"])
    return found


def group_numbers(pattern: str, columns: Sequence[str]) -> list[int]:
    """For each column the number of its group, from 1. Raises ``ValueError`` with a sentence."""
    groups = groups_of(pattern)
    names = [name.lower() if name else None for name in groups]
    if not any(names):
        if len(groups) != len(columns):
            raise ValueError(
                f"the pattern has {len(groups)} groups for {len(columns)} columns; "
                "write one group (…) for each column, in order, or name them (?<column>…)"
            )
        return list(range(1, len(groups) + 1))
    missing = [column for column in columns if column.lower() not in names]
    unknown = [name for name in names if name and name not in {c.lower() for c in columns}]
    if missing or unknown:
        raise ValueError(
            f"the pattern's named groups and the columns differ: no group for {missing}, "
            f"no column for {unknown}; Java's group names have letters and digits only, so use "
            "groups without names for other columns"
        )
    return [names.index(column.lower()) + 1 for column in columns]
