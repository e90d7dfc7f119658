"""How wide the columns of a table are where the terminal is narrower than the table.

A table whose lines wrap can't be read. So long texts are cut, the longest first, down to a width at
which one still knows them; numbers never are. What does not fit even then goes into further tables
below, each of which begins with the first column again.
"""

from __future__ import annotations

from collections.abc import Sequence

TEXT_WIDTH_MIN = 16
"""A text is not cut below this many characters."""
EDGES = 3
"""Characters that a column takes beside its text: a space at each side, and a line."""


def fitted(
    widths: Sequence[int], is_text: Sequence[bool], *, columns: int
) -> list[list[tuple[int, int]]]:
    """For each table its (column, width), the first column in all of them.

    >>> fitted([5, 40, 6], [False, True, False], columns=80)
    [[(0, 5), (1, 40), (2, 6)]]
    >>> fitted([5, 40, 6], [False, True, False], columns=50)
    [[(0, 5), (1, 29), (2, 6)]]
    >>> fitted([5, 40, 6, 9], [False, True, False, False], columns=40)
    [[(0, 5), (1, 19), (2, 6)], [(0, 5), (3, 9)]]
    """
    least = [
        min(width, TEXT_WIDTH_MIN) if text else width
        for width, text in zip(widths, is_text, strict=True)
    ]
    groups = _groups(least, columns)
    return [_widened(group, widths, least, columns) for group in groups]


def _groups(least: Sequence[int], columns: int) -> list[list[int]]:
    """Columns that fit side by side at their least, in order; at least one beside the first."""
    groups = [[0]]
    for number in range(1, len(least)):
        wanted = _table_width([least[one] for one in (*groups[-1], number)])
        if wanted > columns and len(groups[-1]) > 1:
            groups.append([0])
        groups[-1].append(number)
    return groups


def _widened(
    group: Sequence[int], widths: Sequence[int], least: Sequence[int], columns: int
) -> list[tuple[int, int]]:
    """What room there is goes to the narrowest of those that are cut, so that the longest text is
    cut most."""
    given = {number: least[number] for number in group}
    room = columns - _table_width(list(given.values()))
    narrowed = [number for number in group if given[number] < widths[number]]
    while room > 0 and narrowed:
        narrowest = min(narrowed, key=lambda number: given[number])
        given[narrowest] += 1
        room -= 1
        narrowed = [number for number in narrowed if given[number] < widths[number]]
    return list(given.items())


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + EDGES * len(widths) + 1
