"""What "equal" means for two answers: the same rows as a bag, doubles to 1e-9 relative.

Rows are matched by what is exact in them, their keys as a rule, and only then by their doubles.
Nearly equal doubles can sort either way, so where sorting leads to a difference, rows that agree
in everything exact are matched one by one before they are called different. NaN equals NaN, as in
Spark's grouping.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""Sums that cancel to nearly nothing have no relative precision left."""
MATCHED_ROWS_MAX = 3_000
"""So many rows that agree in everything exact are matched one by one: that is quadratic."""

Row = tuple[Any, ...]


def difference(left: pa.Table, right: pa.Table) -> str | None:
    """Where two tables first differ, in words; None: they are equal."""
    if left.num_columns != right.num_columns:
        return f"columns {left.schema.names} and {right.schema.names}"
    if left.num_rows != right.num_rows:
        return f"{left.num_rows} rows and {right.num_rows} rows"
    mine, theirs = _by_exact_part(left), _by_exact_part(right)
    for exact in sorted(mine.keys() | theirs.keys(), key=str):
        found = _bag_difference(mine.get(exact, []), theirs.get(exact, []))
        if found is not None:
            return found
    return None


def _by_exact_part(table: pa.Table) -> dict[Row, list[Row]]:
    """Rows that agree in all but their doubles, together."""
    found: dict[Row, list[Row]] = {}
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(tuple(map(_exact, row)), []).append(row)
    return found


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return "a double"
    if isinstance(value, dict):
        return tuple((name, _exact(one)) for name, one in value.items())
    return tuple(map(_exact, value)) if isinstance(value, list | tuple) else value


def _bag_difference(left: list[Row], right: list[Row]) -> str | None:
    if len(left) != len(right):
        row, count = (left or right)[0], (len(left), len(right))
        return f"row {row}: {count[0]} times and {count[1]} times"
    ordered = list(zip(sorted(left, key=_doubles), sorted(right, key=_doubles), strict=True))
    unlike = next((pair for pair in ordered if not _is_same(*pair)), None)
    if unlike is None or (len(left) <= MATCHED_ROWS_MAX and _is_matched(left, right)):
        return None
    return f"row {unlike[0]} and row {unlike[1]}"


def _is_matched(left: Iterable[Row], right: Iterable[Row]) -> bool:
    rest = list(right)
    for row in left:
        found = next((n for n, other in enumerate(rest) if _is_same(row, other)), None)
        if found is None:
            return False
        del rest[found]
    return True


def _doubles(row: Row) -> list[tuple[bool, float]]:
    """NaN is not in order with anything, so it comes last."""
    values = [value for one in row for value in _floats(one)]
    return [(math.isnan(value), 0.0 if math.isnan(value) else value) for value in values]


def _floats(value: Any) -> Iterator[float]:
    """Also those within nested values."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _floats(one)


def _is_same(left: Row, right: Row) -> bool:
    return all(map(is_same_value, left, right))


def is_same_value(left: Any, right: Any) -> bool:
    """As it is meant here: of doubles to a relative 1e-9, also within nested values."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            is_same_value(left[name], right[name]) for name in left
        )
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same_value, left, right))
    return bool(left == right)
