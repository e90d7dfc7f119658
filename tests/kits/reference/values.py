"""Spark's values in Python: how they compare, and what becomes of nothing."""

from __future__ import annotations

import functools
import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any


def plain(value: Any) -> Any:
    """A decimal as a fraction; anything else as it is."""
    return Fraction(value) if isinstance(value, Decimal) else value


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1, of two values that are there: NaN equals NaN and is the largest number."""
    if isinstance(left, dict):
        left, right = list(left.values()), list(right.values())
    if isinstance(left, list):
        for one, other in zip(left, right, strict=False):
            found = compare_with_nulls(one, other)
            if found:
                return found
        return (len(left) > len(right)) - (len(left) < len(right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    if isinstance(left, str) and isinstance(right, str):
        left, right = left.encode(), right.encode()
    if isinstance(left, datetime) != isinstance(right, datetime):
        left, right = _instant(left), _instant(right)
    return (left > right) - (left < right)


def _instant(value: Any) -> Any:
    from datetime import UTC

    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def compare_with_nulls(left: Any, right: Any) -> int:
    """NULL comes first."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    return compare(left, right)


by_value = functools.cmp_to_key(compare_with_nulls)
"""For sorting, NULLs first."""


def key_of(value: Any) -> Any:
    """Hashable, and equal for what Spark puts into one group: 0.0 and -0.0, and all NaN."""
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, key_of(one)) for name, one in value.items())
    if isinstance(value, list):
        return ("list", *map(key_of, value))
    return (type(value).__name__, value) if isinstance(value, bool) else value


def normal(value: Any) -> Any:
    """A grouping key as it is shown: without the sign of zero."""
    return value + 0.0 if isinstance(value, float) else value
