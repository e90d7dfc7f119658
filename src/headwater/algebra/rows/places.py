"""``site()``, ``region()`` and ``label('…')``: keys that say where a row was made.

The agent fills them in, with what the roster says of its own site; no SQL and no record does. Who
merges or accepts a summary holds the values against its coverage: rows can't name a site that is
not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.row_pieces import RowPieces

SITE = "site"
REGION = "region"
LABEL = "label:"
"""Before the name of a label."""
LABEL_PATTERN = r"[a-z][a-z0-9_]{0,62}"
"""Of its name."""
PLACES_MAX = 20


class PlaceColumn(msgspec.Struct, frozen=True, array_like=True):
    """A key that an agent fills in."""

    name: str
    what: str
    """``site``, ``region``, or ``label:`` and the label's name."""


Here = Mapping[str, str | None]
"""What holds at a site, by what is asked for; nothing: NULL."""


def with_places(rows: pa.Table, columns: Sequence[PlaceColumn], here: Here) -> pa.Table:
    """The rows of one site, filled in."""
    for column in columns:
        index = rows.schema.get_field_index(column.name)
        value = pa.scalar(here.get(column.what), pa.string())
        rows = rows.set_column(index, column.name, pa.repeat(value, rows.num_rows))
    return rows


class FilledPieces(msgspec.Struct, frozen=True):
    """Pieces of one site's rows, each filled in when it is read."""

    pieces: RowPieces
    columns: tuple[PlaceColumn, ...]
    here: Here

    @property
    def num_rows(self) -> int:
        return self.pieces.num_rows

    def __iter__(self) -> Iterator[pa.Table]:
        return (with_places(piece, self.columns, self.here) for piece in self.pieces)


def problem_with_places(
    rows: pa.Table,
    columns: Sequence[PlaceColumn],
    sites_of: Callable[[str, str | None], int],
    *,
    sites: int,
) -> str | None:
    """What is wrong, for people; None: all values are those of ``sites``, as a bitset.
    ``sites_of`` has the sites for which a value holds."""
    for column in columns:
        for value in pc.unique(rows.column(column.name)).to_pylist():
            if not sites_of(column.what, value) & sites:
                return f"{column.name} is {str(value)[:80]!r}, which is of no site that it covers"
    return None
