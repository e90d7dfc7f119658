"""Rows of panes that can be taken out of a merge again.

The rule *Removal must be exact and must be reversible to the bit*. Sums alone don't tell whether a
group is still there, nor whether a sum of it is zero or null. So two things are counted beside:

* in how many panes a group is; in none, it has no row,
* in how many rows a column of it is not null; in none, its sum is null, and not zero.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.columns import Column, Partial, RowLayout
from headwater.algebra.rows.types import summary_schema

PANES, FILLED = "__panes", "__filled"
"""Columns beside those of the summary: names that no column of a user has."""


class _Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]


class CountedRows:
    """Of one query, all of whose columns can be taken back."""

    def __init__(self, layout: RowLayout) -> None:
        self._schema = summary_schema(layout)
        self._partials = tuple(partial.name for partial in layout.partials)
        names = [*(f"{FILLED}{number}" for number in range(len(self._partials))), PANES]
        counts = tuple(Partial(name, "bigint", "sum") for name in names)
        self.merger = ArrowMerger(_Layout(tuple(layout.keys), (*layout.partials, *counts)))

    def counted(self, rows: pa.Table) -> pa.Table:
        """Each row is of one pane; a null is nothing, and counted as such."""
        keys = [rows.column(name) for name in self.merger.key_names]
        states = [rows.column(name) for name in self._partials]
        filled = [column.is_valid().cast(pa.int64()) for column in states]
        states = [pc.fill_null(one, pa.scalar(0, pa.int64()).cast(one.type)) for one in states]
        ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
        columns = [*keys, *states, *filled, ones]
        return pa.Table.from_arrays(columns, schema=self.merger.schema)

    def taken_back(self, rows: pa.Table) -> pa.Table:
        """What takes the rows of a pane out again. Raises ``pa.ArrowInvalid`` where it can't."""
        return self.merger.taken_back(self.counted(rows))

    def there(self, counted: pa.Table) -> pa.Table:
        """Those of merged rows that are of any pane."""
        return counted.filter(pc.greater(counted.column(PANES), 0))

    def groups(self, counted: Groups) -> Groups:
        """What was merged, as the groups of a summary's rows."""
        keys = counted.overflowing
        columns = tuple(name for name in counted.columns if name in self._partials)
        merged, apart = self._as_summary(counted.merged), self._as_summary(counted.apart)
        return Groups(merged, apart, keys, counted.overflowing_count, columns)

    def _as_summary(self, counted: pa.Table) -> pa.Table:
        columns = [counted.column(name) for name in self.merger.key_names]
        for number, name in enumerate(self._partials):
            column = counted.column(name)
            is_filled = pc.greater(counted.column(f"{FILLED}{number}"), 0)
            columns.append(pc.if_else(is_filled, column, pa.scalar(None, column.type)))
        return pa.Table.from_arrays(columns, schema=self._schema)
