"""Growing states: a close has at most as many rows as its site sends, whatever was read."""

from __future__ import annotations

from headwater.plan.query import Query
from headwater.sim.outcome import Violation
from headwater.sim.records.admits import row_count, rows_max_of
from headwater.sim.transcript import Transcript

GROWING_SOMETIMES = ("a growing state exceeded its limit", "a growing state was closed")


def check_growing(query: Query, made: int, where: str, transcript: Transcript) -> None:
    """``made``: the records in the updates that a close counts."""
    rows_max = rows_max_of(query)
    if rows_max is None:
        return
    transcript.count("a growing state was closed")
    if row_count(made) > rows_max:
        raise Violation("a growing state has its limit", f"{where} has more than {rows_max} rows")
