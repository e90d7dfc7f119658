"""What "equal" means for two answers: the same rows as a bag, doubles to 1e-9 relative.

Rows are compared after sorting by all columns. Doubles sort by a rounded value first, so that two
nearly equal ones do not change places, and NaN equals NaN as in Spark's grouping.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""Sums that cancel to nearly nothing have no relative precision left."""


def difference(left: pa.Table, right: pa.Table) -> str | None:
    """Where two tables first differ, in words; None: they are equal."""
    if left.num_columns != right.num_columns:
        return f"columns {left.schema.names} and {right.schema.names}"
    if left.num_rows != right.num_rows:
        return f"{left.num_rows} rows and {right.num_rows} rows"
    for one, other in zip(_sorted(left), _sorted(right), strict=True):
        if not all(map(_same, one, other)):
            return f"row {one} and row {other}"
    return None


def _sorted(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: [_key(value) for value in row])


def _key(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    if isinstance(value, float):
        if math.isnan(value):
            return (3, 0)
        return (1, float(f"{value:.7e}") + 0.0 if math.isfinite(value) else value)
    return (2, str(value) if isinstance(value, dict) else value)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(left == right)
