"""Merging by rules that Arrow's grouping does not have: all values of each group, reduced at once.

Arrow lists the values of a group; here they become one array for each column with the places where
groups begin, so that a reduction is a few calls of numpy, whatever the number of groups.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_rule import Bits, Columns

LISTED = "list"
"""The function of Arrow's grouping."""


def as_they_are(columns: Columns) -> Columns:
    return columns


class Lists:
    """The values of all groups, column by column. Every group has a value, which may be null."""

    def __init__(self, grouped: Columns) -> None:
        lists = [column.combine_chunks() for column in grouped]
        self.sizes: npt.NDArray[np.int64] = pc.list_value_length(lists[0]).to_numpy()
        self.starts: npt.NDArray[np.int64] = np.cumsum(self.sizes) - self.sizes
        self._columns = [pc.list_flatten(one) for one in lists]

    def numbers(self, column: int) -> Bits:
        """Of nulls zero."""
        values = self._columns[column]
        zero = pa.scalar(0, pa.int64()).cast(values.type)
        found: Bits = pc.fill_null(values, zero).to_numpy(zero_copy_only=False)
        return found

    def are_there(self, column: int) -> Bits:
        found: Bits = pc.is_valid(self._columns[column]).to_numpy(zero_copy_only=False)
        return found

    def cells(self, column: int) -> pa.Array:
        """As they are."""
        return self._columns[column]

    def total(self, values: Bits) -> Bits:
        """Added up in each group."""
        found: Bits = np.add.reduceat(values, self.starts) if len(values) else values
        return found

    def spread(self, of_groups: Bits) -> Bits:
        """What is true of a group, beside each of its values."""
        return np.repeat(of_groups, self.sizes)


def column_of(values: Bits, missing: Bits, arrow: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, mask=missing, type=arrow)])
