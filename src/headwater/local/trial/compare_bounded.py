"""Answers with bounded columns against the truth, which one Spark computes.

All other columns are compared as ever. Rows are matched by these, and then each value that is near
the truth is held against its bound. One that is certain is never exceeded. One that holds in a
share of cases may be exceeded in the rest of them, by chance in a few more, but never by twice its
size.

Three things can't be held against a value: how far away a rank is (the records would be needed),
what is computed of bounded values, and a sketch. Of these it is compared whether there is one.
Where rows themselves are chosen by such a value, those that both sides have are compared.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headwater.algebra.rows.bounded import Bound, Bounded, BoundedColumn, BoundKind
from headwater.algebra.rows.equality import difference

CHANCE_DEVIATIONS = 3
"""By so many standard deviations the number of exceeded bounds may be above what is expected."""
FARTHEST = 2.0
"""Times its size no bound is exceeded, however unlikely it is to hold."""
Pair = tuple[Any, Any]


def bounded_difference(
    bounded: Bounded, windows: Iterable[tuple[int, pa.Table, pa.Table]]
) -> tuple[int | None, str] | None:
    """The window in which the two first differ and where, or None for the window if it takes all of
    them to say so; None: every bound holds."""
    pairs: dict[BoundedColumn, list[Pair]] = defaultdict(list)
    for window, left, right in windows:
        found = _rest_difference(bounded, left, right)
        if found is not None:
            return window, found
        for one in bounded.columns:
            for pair in _matched(bounded, one.column, left, right):
                fault = _fault(one, pair)
                if fault is not None:
                    return window, fault
                pairs[one].append(pair)
    faults = (_too_often(one, found) for one, found in pairs.items())
    fault = next(filter(None, faults), None)
    return None if fault is None else (None, fault)


def _rest_difference(bounded: Bounded, left: pa.Table, right: pa.Table) -> str | None:
    """Of all that is not bounded."""
    if bounded.rows:
        return None
    exact = [name for name in left.column_names if bounded.of(name) is None]
    if not exact and left.num_rows != right.num_rows:
        return f"{left.num_rows} rows and {right.num_rows} rows"
    return difference(left.select(exact), right.select(exact)) if exact else None


def _matched(bounded: Bounded, column: str, left: pa.Table, right: pa.Table) -> Iterator[Pair]:
    """The values of rows that have the rest in common, but for doubles."""
    mine, theirs = (_by_rest(bounded, column, table) for table in (left, right))
    for rest, values in mine.items():
        others = theirs.get(rest, [])
        if len(values) == len(others):
            yield from zip(sorted(values, key=_order), sorted(others, key=_order), strict=True)


def _by_rest(bounded: Bounded, column: str, table: pa.Table) -> dict[str, list[Any]]:
    rest = [
        field.name
        for field in table.schema
        if bounded.of(field.name) is None and not pa.types.is_floating(field.type)
    ]
    found: dict[str, list[Any]] = defaultdict(list)
    keys = map(str, table.select(rest).to_pylist())
    for key, value in zip(keys, table.column(column).to_pylist(), strict=True):
        found[key].append(value)
    return found


def _order(value: Any) -> tuple[bool, str | float]:
    number = _number(value)
    return value is None, str(value) if number is None else number


def _fault(one: BoundedColumn, pair: Pair) -> str | None:
    """What is wrong with this value alone."""
    mine, truth = pair
    said = f"{one.column} is {mine} by the sites, {truth} by one Spark"
    if (mine is None) != (truth is None):
        return said
    farthest = FARTHEST if one.bound.confidence < 1 else 1.0
    if not _is_comparable(one) or all(
        _is_within(one.bound, *each, farthest) for each in _each(pair)
    ):
        return None
    return f"{said}, which is not {one.bound.text()}"


def _too_often(one: BoundedColumn, pairs: list[Pair]) -> str | None:
    if not _is_comparable(one) or one.bound.confidence == 1:
        return None
    values = [each for pair in pairs for each in _each(pair)]
    outside = sum(not _is_within(one.bound, *each, 1.0) for each in values)
    expected = (1 - one.bound.confidence) * len(values)
    spread = math.sqrt(expected * one.bound.confidence)
    if outside <= math.ceil(expected + CHANCE_DEVIATIONS * spread):
        return None
    return f"{one.column}: of {len(values)} values {outside} are not {one.bound.text()}"


def _is_comparable(one: BoundedColumn) -> bool:
    return one.bound.kind is BoundKind.VALUE and not one.is_derived


def _each(pair: Pair) -> list[Pair]:
    """Of lists and structs what is in them."""
    mine, truth = pair
    if isinstance(mine, dict) and isinstance(truth, dict):
        mine, truth = list(mine.values()), list(truth.values())
    is_list = isinstance(mine, list) and isinstance(truth, list) and len(mine) == len(truth)
    if not is_list:
        return [pair]
    return [one for both in zip(mine, truth, strict=True) for one in _each(both)]


def _is_within(bound: Bound, mine: Any, truth: Any, times: float) -> bool:
    near, true = _number(mine), _number(truth)
    if near is None or true is None:
        return type(mine) is type(truth)
    if math.isnan(true) or math.isinf(true):
        return near == true or (math.isnan(near) and math.isnan(true))
    return abs(near - true) <= times * bound.size * abs(true) + _rounding(mine, true)


def _rounding(mine: Any, true: float) -> float:
    """What the type of a value may take it away from what its state says."""
    if isinstance(mine, Decimal):
        exponent = mine.as_tuple().exponent
        assert isinstance(exponent, int), "an answer's decimals are numbers"
        return 0.5 * 10.0**exponent
    return 0.5 if isinstance(mine, int) else 1e-9 * abs(true)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return float(value) if is_number else None
