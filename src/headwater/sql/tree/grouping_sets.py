"""Several groupings of one part: which keys each has, and the number that tells rows apart."""

from __future__ import annotations

from collections.abc import Sequence

GROUPING = "GROUPING_ID()"
"""The grouping number: which of several grouping sets a row is of."""

GROUPING_ID, GROUPING_OF = "grouping_id", "grouping"
"""Functions of SQL, which are about the user's own sets."""


def grouping_sql(keys: int, hidden: int, sets: Sequence[Sequence[int]]) -> list[str]:
    """What GROUP BY lists: the positions of the pane, of all keys, and of the hidden keys, or of
    those in each set.

    >>> grouping_sql(1, 2, ()), grouping_sql(1, 2, [(0,), (1,)])
    (['1', '2', '3', '4'], ['GROUPING SETS ((1, 2, 3), (1, 2, 4))'])
    """
    positions = [str(position) for position in range(1, 2 + keys + hidden)]
    if not sets:
        return positions
    fixed, rest = positions[: 1 + keys], positions[1 + keys :]
    listed = [f"({', '.join([*fixed, *(rest[place] for place in one)])})" for one in sets]
    return [f"GROUPING SETS ({', '.join(listed)})"]


def unlike_others(text: str, place: int) -> str:
    """The same value by an expression that no other key has: Spark takes keys that are equal, if
    otherwise written, for one, and then counts other bits than we do."""
    return f"CASE {place} WHEN {place} THEN {text} END"


def only_in(number: int, text: str) -> str:
    """An aggregate that is null in the rows of all other sets."""
    return f"CASE WHEN {GROUPING} = {number} THEN {text} END"


# The user's own: GROUPING SETS, ROLLUP and CUBE over keys, as one Spark is asked for them.


def sets_sql(window: str, keys: Sequence[str], sets: Sequence[Sequence[int]]) -> list[str]:
    """What GROUP BY lists: the window is in every set.

    >>> sets_sql("w", ["a", "b"], ()), sets_sql("w", ["a", "b"], [(0, 1), (1,), ()])
    (['w', 'a', 'b'], ['GROUPING SETS ((w, a, b), (w, b), (w))'])
    """
    if not sets:
        return [window, *keys]
    listed = [f"({', '.join([window, *(keys[place] for place in one)])})" for one in sets]
    return [f"GROUPING SETS ({', '.join(listed)})"]


def number_sql(keys: Sequence[str]) -> str:
    """The number of a set by the keys alone, whatever else is grouped by.

    >>> number_sql(["a", "b"])
    'CAST(GROUPING(a) AS BIGINT) * 2 + CAST(GROUPING(b) AS BIGINT) * 1'
    """
    places = range(len(keys) - 1, -1, -1)
    bits = [
        f"CAST(GROUPING({key}) AS BIGINT) * {1 << place}"
        for key, place in zip(keys, places, strict=True)
    ]
    return " + ".join(bits)
