"""GROUPING SETS, ROLLUP and CUBE in GROUP BY: which columns each set has.

::

    domain, ROLLUP (year, month)    (domain, year, month), (domain, year), (domain)

The window stands beside them and is in every set: a group of no window would never be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from sqlglot import exp

from headwater.algebra.rows.columns import SETS_MAX
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.resolve.find_window import is_session_call, is_window_call

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
Set = list[exp.Expr]
CUBE_MAX = SETS_MAX.bit_length() - 1
"""Columns: each doubles the number of sets."""


def has_sets(groups: Sequence[exp.Expr]) -> bool:
    return any(isinstance(group, SETS) for group in groups)


def with_members(element: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The element of GROUP BY with what it lists changed. Raises ``Objection``."""
    if not isinstance(element, exp.Tuple | exp.Rollup | exp.Cube | exp.GroupingSets):
        return change(element.unnest())
    found = element.copy()
    found.set("expressions", [with_members(one, change) for one in element.expressions])
    if isinstance(element, SETS):
        _check_window_beside(found)
    return found


def listed(groups: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """All columns and expressions, in the order of the text: some stand there more than once."""
    for group in groups:
        if isinstance(group, exp.Tuple | exp.Rollup | exp.Cube | exp.GroupingSets):
            yield from listed(group.expressions)
        else:
            yield group


def _check_window_beside(sets: exp.Expr) -> None:
    for one in listed([sets]):
        if is_window_call(one) or is_session_call(one):
            raise Objection(
                one,
                "the window is in every grouping set; write GROUP BY window(…), ROLLUP (…), with "
                "the window beside the sets",
            )


def grouping_sets(groups: Sequence[exp.Expr]) -> list[Set]:
    """What each set lists. ``groups`` has no window. Raises ``Objection``."""
    choices = [_choices(group) for group in groups]
    count = 1
    for one, group in zip(choices, groups, strict=True):
        count *= len(one)
        if count > SETS_MAX:
            raise Objection(group, f"more than {SETS_MAX} grouping sets; write several streams")
    return [[one for some in chosen for one in some] for chosen in product(*choices)]


def _choices(element: exp.Expr) -> list[Set]:
    """The sets of one element, of which each set of the whole has one."""
    if isinstance(element, exp.Rollup):
        parts = [_members(one) for one in element.expressions]
        ends = range(len(parts), -1, -1)
        return [[one for part in parts[:end] for one in part] for end in ends]
    if isinstance(element, exp.Cube):
        parts = [_members(one) for one in element.expressions]
        if len(parts) > CUBE_MAX:
            raise Objection(element, f"CUBE takes up to {CUBE_MAX} columns, got {len(parts)}")
        sizes = range(len(parts), -1, -1)
        some = [chosen for size in sizes for chosen in combinations(parts, size)]
        return [[one for part in chosen for one in part] for chosen in some]
    if isinstance(element, exp.GroupingSets):
        return [one for inner in element.expressions for one in _inner(inner)]
    return [_members(element)]


def _inner(element: exp.Expr) -> list[Set]:
    return _choices(element) if isinstance(element, SETS) else [_members(element)]


def _members(element: exp.Expr) -> Set:
    members = list(element.expressions) if isinstance(element, exp.Tuple) else [element]
    for one in members:
        if isinstance(one, exp.Tuple | exp.Rollup | exp.Cube | exp.GroupingSets):
            raise Objection(one, f"wanted columns in a grouping set, got `{sql_of(one)[:60]}`")
    return members
