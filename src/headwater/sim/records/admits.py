"""The simulated WHERE: every query sees its own share of the records; and the values of these.

Of a growing state the rows are those of the values, which are hidden keys: as many as there are in
a pane, and a site sends no pane with more than its limit.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.sets import bitset
from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.plan.sources.source import Source, SourceFormat
from headwater.sim.records.bag import Bag

SOURCE = Source(name="log", columns=(), format=SourceFormat.CSV, path="log", time_column="time")
DIVISOR = 7
"""What is left of a record's number by it stands for the columns that WHERE looks at."""

MIXER = 2_654_435_761
"""Knuth's multiplier."""


def admitting(share: int) -> Program:
    """Of a query that sees so many of ``DIVISOR`` records."""
    return Program(
        text="",
        source=SOURCE,
        keys=(),
        partials=(),
        site_sql=str(share),
        root_sql="",
        central_sql="",
        columns_used=(),
        output=(),
    )


VALUES = 11
"""What is left of a record's number by it is the value of a growing state."""


def growing(program: Program, *, rows_max: int) -> Program:
    """The same records, of which each value is a row. The limit is the site's, and stands where
    simulated roots have no part of the plan."""
    return msgspec.structs.replace(program, root_sql=str(rows_max))


def in_sample(query: Query, rows: Bag) -> Bag:
    """Those of the rows that the query has."""
    numbers = {one for one in bitset.members(rows.once) if admits(query, one)}
    bits = bitset.of(numbers)
    return Bag(rows.once & bits, rows.twice & bits)


def rows_max_of(query: Query) -> int | None:
    """None: its state does not grow."""
    return int(query.program.root_sql) if query.program.root_sql else None


def row_count(bits: int) -> int:
    """Of a growing state with these records."""
    return len({number % VALUES for number in bitset.members(bits)})


def survives(number: int) -> int:
    """How many halvings the key of a record survives: as many as its hash has zeros at its end."""
    mixed = (number // DIVISOR + 1) * MIXER >> 16 & 0xFF | 0x100
    return (mixed & -mixed).bit_length() - 1


def admits(query: Query, number: int) -> bool:
    """The divisor stands where an agent would have the site part of the plan. What is left of the
    number stands for the keys, by which parts have their groups and of which samples are."""
    if number % DIVISOR >= int(query.program.site_sql):
        return False
    level = query.stands_for
    if level is not None and survives(number) < level.coarsening.halvings:
        return False
    return query.part is None or number // DIVISOR % query.part.count == query.part.number - 1
