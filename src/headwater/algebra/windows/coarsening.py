"""What the rows of a query are at one of its levels: by a coarser key, a sample of a key, or with a
smaller sketch.

A sketch is made smaller by itself. The others go by *determined keys*: columns that a site computes
of the user's keys, one value for each, so that they add no rows. Rows at a coarser key have it in
the place of the finer one. A sample has the rows of those keys that survive so many *halvings*,
which a column counts::

    url    | coarser | survives | hits      coarser: url  | hits      halved once: url    | hits
    a.de/x | a.de    | 0        | 7                  a.de | 9                      a.de/y | 2
    a.de/y | a.de    | 3        | 2                  b.de | 4                      b.de/z | 4
    b.de/z | b.de    | 1        | 4

The rows of a finer level become those of a coarser one in the same way: what it has done already is
not done again. A coarser key has many rows then, which whoever comes next merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.sketches.hll_cells import LG_K_MIN
from headwater.algebra.aggregates.sketches.merge_hll import HLLS, smaller_cells
from headwater.algebra.bounds import Name
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import INTEGERS


class Coarsening(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one level, against the query at full fidelity."""

    key: Name = ""
    """The key that is coarser; empty: none is."""
    by: Name = ""
    """The determined key that comes in its place."""
    survives: Name = ""
    """The determined key that says how many halvings a row survives; empty: nothing is sampled."""
    halvings: int = 0
    """Rows that survive fewer are left out."""
    smaller: Name = ""
    """The partial, a HyperLogLog sketch, that is made smaller; empty: none is."""
    lg_k: int = 0
    """The logarithm of how many registers it has then."""

    def __bool__(self) -> bool:
        """Whether rows are any others than those of the query."""
        return bool(self.key or self.halvings or self.smaller)

    def partials(self, partials: Sequence[Partial]) -> tuple[Partial, ...] | None:
        """Those of the level's rows, where the query's are these; None: they are none of its."""
        if not self.smaller:
            return tuple(partials)
        of = {one.name: one.merge for one in partials}.get(self.smaller, "")
        sizes = {rule.name: lg_k for lg_k, rule in HLLS.items()}
        if not LG_K_MIN <= self.lg_k < sizes.get(of, 0):
            return None
        return tuple(
            Partial(one.name, one.type, HLLS[self.lg_k].name) if one.name == self.smaller else one
            for one in partials
        )

    def keys(self, keys: Sequence[Column]) -> tuple[Column, ...] | None:
        """Those of the level's rows, where the query's are these; None: they are none of its."""
        types = {one.name: one.type for one in keys}
        if not {self.key, self.by, self.survives} - {""} <= types.keys():
            return None
        if bool(self.key) != bool(self.by) or (self.halvings and not self.survives):
            return None
        is_twice = bool(self.by) and self.by in (self.key, self.survives)
        if is_twice or types.get(self.survives, "int") not in INTEGERS:
            return None
        return tuple(
            Column(one.name, types[self.by]) if one.name == self.key else one
            for one in keys
            if one.name != self.by or not self.key
        )

    def is_within(self, finer: Coarsening) -> bool:
        """Whether its rows can be made of those of the finer one."""
        has_key = not finer.key or (finer.key, finer.by) == (self.key, self.by)
        has_sketch = not finer.smaller or (
            finer.smaller == self.smaller and finer.lg_k >= self.lg_k
        )
        return has_key and has_sketch and finer.halvings <= self.halvings

    def rows(self, table: pa.Table) -> pa.Table:
        """Of the query's, or of a finer level's."""
        if self.halvings:
            table = table.filter(pc.greater_equal(table.column(self.survives), self.halvings))
        if self.smaller:
            table = _with_smaller(table, self.smaller, self.lg_k)
        if not self.key or self.by not in table.column_names:
            return table
        place, of = table.schema.get_field_index(self.key), table.schema.get_field_index(self.by)
        field = table.schema.field(of).with_name(self.key)
        return table.set_column(place, field, table.column(of)).remove_column(of)


def _with_smaller(table: pa.Table, name: str, lg_k: int) -> pa.Table:
    place = table.schema.get_field_index(name)
    cells = table.column(place).combine_chunks()
    cells = pa.concat_arrays(cells.chunks) if isinstance(cells, pa.ChunkedArray) else cells
    return table.set_column(place, table.schema.field(place), smaller_cells(cells, lg_k))


def apart(tables: Iterable[pa.Table]) -> list[pa.Table]:
    """Two at least, of which a merge makes each key once: one may have a key several times."""
    found = list(tables)
    if len(found) != 1:
        return found
    (table,), half = found, found[0].num_rows // 2
    return [table.slice(0, half), table.slice(half)]
