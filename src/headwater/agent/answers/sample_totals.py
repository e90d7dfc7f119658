"""The totals of all groups, estimated from those of a sample (``root.said.sampled``).

What scatters is which values of the key are in, so what groups have is added up by it first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.plan.degrading.companion import Companion
from headwater.plan.query import Query
from headwater.root.said.sampled import Estimate, share_of

Floats = NDArray[np.float64]


def totals_of(query: Query) -> SampleTotals | None:
    """None: it takes no sample."""
    level = query.stands_for
    return SampleTotals(level) if level is not None and level.coarsening.halvings else None


class SampleTotals:
    """Of one window, from its groups, which come in any number of tables."""

    def __init__(self, level: Companion) -> None:
        self._level = level
        self._parts: list[pa.Table] = []

    def add(self, groups: pa.Table) -> None:
        self._parts.append(self._by_key(groups, [one.partial for one in self._level.totals]))
        if len(self._parts) > 1:
            self._parts = [self._by_key(pa.concat_tables(self._parts), self._names)]

    def estimates(self) -> tuple[Estimate, ...]:
        found = self._parts[0] if self._parts else None
        return tuple(
            self._estimate(one.column, np.zeros(0) if found is None else _values(found, name))
            for one, name in zip(self._level.totals, self._names, strict=True)
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"total {n}" for n in range(len(self._level.totals)))

    def _by_key(self, table: pa.Table, columns: Sequence[str]) -> pa.Table:
        """One row for each value of the sampled key."""
        values = [table.column(name).cast(pa.float64()) for name in columns]
        key = self._level.sampled
        named = pa.table([table.column(key), *values], [key, *self._names])
        sums = named.group_by(key).aggregate([(name, "sum") for name in self._names])
        return sums.select([key, *(f"{one}_sum" for one in self._names)]).rename_columns(
            [key, *self._names]
        )

    def _estimate(self, column: str, values: Floats) -> Estimate:
        share = share_of(self._level)
        error = sqrt(1.0 - share) / share * sqrt(float(np.square(values).sum()))
        return Estimate(column, float(values.sum()) / share, error)


def _values(table: pa.Table, name: str) -> Floats:
    found: Floats = table.column(name).fill_null(0.0).to_numpy()
    return found
