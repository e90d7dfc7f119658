"""Where the answers by the sites differ from those of one plain Spark, in words.

Somebody who reads it wants to look at the records: so it names the window by its time, the group by
its keys, and what each side has there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.algebra.rows.columns import visible_keys
from headwater.algebra.rows.equality import difference, is_same_value
from headwater.local.trial.compare_bounded import bounded_difference
from headwater.root.said.envelope import LeftOut

if TYPE_CHECKING:
    from headwater.local.trial.results import StreamResult
    from headwater.plan.query import Query

SITES, ONE = "the sites", "one Spark"
WINDOWS_NAMED = 3
VALUE_CHARACTERS = 60
Tables = Sequence[tuple[int, pa.Table, pa.Table]]
"""Of each window, by the sites and by one Spark."""


def differences(left: list[StreamResult], right: list[StreamResult]) -> dict[str, str | None]:
    """For each stream where the two first differ; None: they are equal. ``left`` is by the sites,
    ``right`` by one Spark."""
    others = {one.query.id.name: one for one in right}
    return {one.query.id.name: _stream_difference(one, others[one.query.id.name]) for one in left}


def _stream_difference(left: StreamResult, right: StreamResult) -> str | None:
    mine = {one.window: one for one in left.windows}
    theirs = {one.window: one for one in right.windows}
    if mine.keys() != theirs.keys():
        return _window_difference(left.query, set(mine), set(theirs))
    tables = [(window, one.rows, theirs[window].rows) for window, one in mine.items()]
    by_rows = _bounded_rows if left.query.bounds else _exact_rows
    return (
        by_rows(left.query, tables)
        or _left_out_difference(left, right)
        or _malformed_difference(left, right)
    )


def _exact_rows(query: Query, tables: Tables) -> str | None:
    for window, mine, theirs in tables:
        found = difference(mine, theirs)
        if found is not None:
            return f"{_window(query, window)}: {_group_difference(query, mine, theirs) or found}"
    return None


def _bounded_rows(query: Query, tables: Tables) -> str | None:
    found = bounded_difference(query.bounds, tables)
    if found is None:
        return None
    window, words = found
    return words if window is None else f"{_window(query, window)}: {words}"


def _window_difference(query: Query, mine: set[int], theirs: set[int]) -> str:
    parts = []
    for side, other, only in ((SITES, ONE, mine - theirs), (ONE, SITES, theirs - mine)):
        if only:
            named = ", ".join(_start(query, window) for window in sorted(only)[:WINDOWS_NAMED])
            more = f" and {len(only) - WINDOWS_NAMED} more" if len(only) > WINDOWS_NAMED else ""
            parts.append(f"windows that {side} have and {other} has not: from {named}{more}")
    return "; ".join(parts).replace(f"{ONE} have and {SITES} has", f"{ONE} has and {SITES} have")


def _group_difference(query: Query, left: pa.Table, right: pa.Table) -> str | None:
    """By the keys of the answer; None: it has none by which its rows could be told apart."""
    names = {key.name for key in visible_keys(query.program)}
    keys = [name for name in left.column_names if name in names]
    mine, theirs = _by_keys(left, keys), _by_keys(right, keys)
    if mine is None or theirs is None or left.column_names != right.column_names:
        return None
    for at in sorted(mine.keys() | theirs.keys(), key=str):
        group = ", ".join(f"{key} = {_shown(value)}" for key, value in zip(keys, at, strict=True))
        group = group or "its only row"
        if at not in mine or at not in theirs:
            side = f"{SITES} have" if at in mine else f"{ONE} has"
            return f"only {side} {group}"
        one, other = mine[at], theirs[at]
        unlike = [name for name in one if not is_same_value(one[name], other[name])]
        if unlike:
            values = "; ".join(
                f"{name} is {_shown(one[name])} by {SITES}, {_shown(other[name])} by {ONE}"
                for name in unlike
            )
            return f"{group}: {values}"
    return None


def _by_keys(table: pa.Table, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]] | None:
    """None: two rows have the same."""
    found = {tuple(map(_hashable, (row[key] for key in keys))): row for row in table.to_pylist()}
    return found if len(found) == table.num_rows else None


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, dict | list) else value


def _left_out_difference(left: StreamResult, right: StreamResult) -> str | None:
    """Both find the groups that fail by themselves, and must have found as many."""
    for window in sorted(left.left_out.keys() | right.left_out.keys()):
        mine, theirs = _counts(one.left_out.get(window, LeftOut()).count for one in (left, right))
        if mine != theirs:
            at = _window(left.query, window)
            return f"{at}: groups left out: {mine} by {SITES}, {theirs} by {ONE}"
    return None


def _malformed_difference(left: StreamResult, right: StreamResult) -> str | None:
    """The rows are equal; then both must have passed over the same lines."""
    mine, theirs = _counts(one.unparsed for one in (left, right))
    if mine == theirs:
        return None
    return f"the rows are equal, but malformed lines are {mine} by {SITES}, {theirs} by {ONE}"


def _counts(two: Iterable[int]) -> tuple[int, ...]:
    return tuple(two)


def _window(query: Query, window: int) -> str:
    return f"the window from {_start(query, window)}"


def _start(query: Query, window: int) -> str:
    return query.bound_text(query.window.window_start_us(window))


def _shown(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"
