"""Rows as they are taken in, from Spark at a site and from the wire everywhere else.

Most columns are what Arrow holds, which is checked by whoever reads it. A sketch is bytes with a
form of their own: *bytes from others are never parsed by native code unchecked*. Its rule reads it
here, once, before anybody keeps, merges or hands on the row, and gives it the one form that cells
of the same values have. That is the same step for a site's own cells, which Spark has written in
one of several forms, as for those that came from elsewhere.

Where several growing states are in one query, a row with a grouping number that no fold has would
merge and travel, and be passed over by all of them: it is unsound as well.
"""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates import RULES
from headwater.algebra.aggregates.merge_rule import Columns, Types
from headwater.algebra.rows.columns import Folding, GroupLayout
from headwater.algebra.rows.row_pieces import RowPieces

Take = Callable[[pa.Table], pa.Table]
TakeCells = Callable[[Columns, Types], Columns]


def taker(layout: GroupLayout) -> Take | None:
    """What takes in rows of this layout, which may have further columns. It raises ``ValueError``
    for a cell or a row that is unsound. None: they are taken as they are. Raises ``ValueError`` for
    a layout that has no such rows."""
    steps = [*_numbered(layout), *_cells(layout)]
    if not steps:
        return None

    def taken(rows: pa.Table) -> pa.Table:
        for step in steps:
            rows = step(rows)
        return rows

    return taken


def _numbered(layout: GroupLayout) -> Iterator[Take]:
    """Refuses rows that are no fold's own."""
    folding = layout.folding
    if not isinstance(folding, Folding) or not folding.is_numbered:
        return
    if not layout.keys or layout.keys[-1].type != "bigint":
        raise ValueError("wanted the grouping number (bigint) as the last key")
    name = layout.keys[-1].name
    numbers = sorted({one.number for one in folding.columns})
    known = pa.array(numbers, pa.int64())

    def taken(rows: pa.Table) -> pa.Table:
        found = rows.column(name)
        is_own = pc.is_in(found, value_set=known)  # A null is in no set.
        if not pc.all(is_own, min_count=0).as_py():
            other = found.filter(pc.invert(is_own))[0]
            raise ValueError(f"column {name}: wanted one of {numbers}, got {other}")
        return rows

    yield taken


def _cells(layout: GroupLayout) -> Iterator[Take]:
    """Gives each sketch the form that it is kept in."""
    for one in layout.partials:
        take = RULES[one.merge].take if one.type == "binary" and one.merge in RULES else None
        if take is not None:
            yield partial(_with_cells, one.name, take)


def _with_cells(name: str, take: TakeCells, rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index(name)
    try:
        (column,) = take([rows.column(at)], [rows.schema.field(at).type])
    except ValueError as error:
        raise ValueError(f"column {name}: {error}") from error
    return rows.set_column(at, rows.schema.field(at), column)


class TakenPieces(msgspec.Struct, frozen=True):
    """Rows that are too many to be held, each piece taken in when it is read."""

    pieces: RowPieces
    take: Take

    @property
    def num_rows(self) -> int:
        return self.pieces.num_rows

    def __iter__(self) -> Iterator[pa.Table]:
        return map(self.take, self.pieces)
