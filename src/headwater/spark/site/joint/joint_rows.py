"""The rows of a joint statement, dealt out: to each query its own, and the counts of the lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import PANE_COLUMN, site_schema
from headwater.plan.query import Query
from headwater.spark.lines.lines import SITE
from headwater.spark.site.joint.strands import GROUP, NEEDS_AT, STRAND_BITS
from headwater.spark.site.line_counts import MASK

LINES, LOW, TOP = COUNTED = ("lines", "low_time_us", "top_time_us")
STRAND = (1 << STRAND_BITS) - 1


class Place(msgspec.Struct, frozen=True):
    """Where the rows of a query are."""

    columns: tuple[str, ...]
    """Pane, keys and partial columns, in the order of its schema."""
    group: int
    """The bits of ``GROUP`` that its rows have: the strand, and the query's flag."""
    is_whole: bool
    """The groups of the strand are those of the query, but for whom they concern."""


class Joint(msgspec.Struct, frozen=True):
    """A statement, and what it yields."""

    sql: str
    queries: tuple[Query, ...]
    places: tuple[Place, ...]
    carrier: int | None = None
    """The strand that has the counts of the lines; None: another statement has it."""

    def rows_of(self, table: pa.Table, number: int) -> pa.Table | None:
        """Of one query, in its own columns, with the site last. None: a sum leaves its type."""
        place, query = self.places[number], self.queries[number]
        bits = pc.bit_wise_and(table.column(GROUP), STRAND | place.group)
        own = table.filter(pc.equal(bits, place.group))
        rows = own.select([*place.columns, SITE])
        rows = rows.rename_columns([*site_schema(query.program).names, SITE])
        if place.is_whole and pc.count_distinct(own.column(GROUP)).as_py() <= 1:
            return rows
        return _merged(rows, query)

    def counts_of(self, table: pa.Table) -> list[dict[str, Any]]:
        """For each site and each set of needs for which lines are malformed: how many lines, lowest
        and highest time."""
        strand = pc.bit_wise_and(table.column(GROUP), STRAND)
        own = table.filter(pc.equal(strand, self.carrier))
        masks = pc.shift_right(own.column(GROUP), NEEDS_AT)
        lines = own.select([SITE, *COUNTED]).append_column(MASK, masks)
        by = [(LINES, "sum"), (LOW, "min"), (TOP, "max")]
        found = lines.group_by([SITE, MASK], use_threads=False).aggregate(by)
        names = {f"{of}_{how}": of for of, how in by}
        rows: list[dict[str, Any]] = found.rename_columns(
            [names.get(name, name) for name in found.column_names]
        ).to_pylist()
        return rows


class _WithSite(msgspec.Struct, frozen=True):
    """Rows of several sites and panes, each of which is a key."""

    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]


def _merged(rows: pa.Table, query: Query) -> pa.Table | None:
    """Each group of the query once."""
    keys = (Column(SITE, "int"), Column(PANE_COLUMN, "bigint"), *query.program.keys)
    merger = ArrowMerger(_WithSite(keys, query.program.partials))
    found = merger.groups([rows.select(merger.schema.names).cast(merger.schema)])
    return None if found.overflowing_count else found.merged.select(rows.column_names)
