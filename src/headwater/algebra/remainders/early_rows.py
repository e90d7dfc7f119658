"""What early sending goes by in the rows of a query, and what is left of them for later.

A site may send some groups of a pane before its close. Which it was, and up to which batch, is all
that is written; what is left of a group is what later batches have of it. So nothing is rewritten,
and after a crash at any point the same is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.algebra.remainders.key_hash import Hashes, group_hashes, group_numbers

Floats: TypeAlias = NDArray[np.float64]


class EarlyRows(msgspec.Struct, frozen=True):
    """Of a query that may send early."""

    keys: tuple[str, ...]
    measures: tuple[str, ...]
    """The partials by which groups matter; none: each counts for its rows."""
    largest: tuple[str, ...] = ()
    """Those of them of which the largest value counts; the others add up."""
    is_asked: bool = True
    """Whether keys of panes that are to come may leave early; else some only did, once."""

    def hashes(self, rows: pa.Table) -> Hashes:
        return group_hashes(rows, self.keys)

    def values(self, rows: pa.Table) -> Floats:
        """By measure, then by row."""
        if not self.measures:
            return np.ones((1, rows.num_rows))
        return np.stack([doubles(rows, name) for name in self.measures])

    def by_key(self, values: Floats, at: NDArray[np.intp], count: int) -> Floats:
        """Values of rows as those of so many keys; ``at`` says whose each row is."""
        found = np.zeros((len(values), count))
        for n, one in enumerate(values):
            is_largest = bool(self.measures) and self.measures[n] in self.largest
            (np.maximum if is_largest else np.add).at(found[n], at, one)
        return found


class Taken(msgspec.Struct, frozen=True):
    """What left early in one update."""

    through: int
    """Up to this batch."""
    rows: pa.Table | None
    """None: nobody knows any more."""


def left_of(rows: pa.Table, keys: Sequence[str], taken: Sequence[Taken], *, batch: int) -> pa.Table:
    """What is left of the rows of one batch. Of those that may have left in an update that is lost
    nothing is: they would be counted twice if they had."""
    later = [one for one in taken if one.through >= batch]
    if not later or not rows.num_rows:
        return rows
    if any(one.rows is None for one in later):
        return rows.slice(0, 0)
    gone = [_keys_of(one.rows, keys) for one in later if one.rows is not None]
    together = pa.concat_tables([_keys_of(rows, keys), *gone])
    numbers = group_numbers(together, keys)
    is_left = ~np.isin(numbers[: rows.num_rows], numbers[rows.num_rows :])
    return rows if is_left.all() else rows.filter(pa.array(is_left))


def _keys_of(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Spark marks columns that can't be null, and Arrow then takes them for others."""
    return pa.table([rows.column(key) for key in keys], names=list(keys))


def doubles(rows: pa.Table, column: str) -> Floats:
    """NULL is nothing."""
    found = pc.fill_null(pc.cast(rows.column(column), pa.float64(), safe=False), 0.0)
    return np.asarray(found.to_numpy(), dtype=np.float64)
