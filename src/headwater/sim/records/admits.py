"""The simulated WHERE: every query sees its own share of the records."""

from __future__ import annotations

from headwater.plan.program import Program
from headwater.plan.query import Query
from headwater.plan.sources.source import Source, SourceFormat

SOURCE = Source(name="log", columns=(), format=SourceFormat.CSV, path="log", time_column="time")
DIVISOR = 7
"""What is left of a record's number by it stands for the columns that WHERE looks at."""


def admitting(share: int) -> Program:
    """Of a query that sees so many of ``DIVISOR`` records."""
    return Program("", SOURCE, (), (), str(share), "", "", (), ())


def admits(query: Query, number: int) -> bool:
    """The divisor stands where an agent would have the site part of the plan. What is left of the
    number stands for the keys, by which parts have their groups."""
    if number % DIVISOR >= int(query.program.site_sql):
        return False
    return query.part is None or number // DIVISOR % query.part.count == query.part.number - 1
