"""Records by their age: their times moved from a site's clock to the root's, as a piece of SQL.

One value for each site and batch is added to the time column before the site part sees it, so that
nothing else of the query changes. Queries that go by timestamps have no offset and no extra SQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.query import Query
from headwater.spark.lines.lines import SITE
from headwater.sql.read.sql_text import name_sql


class Shift:
    def __init__(self, query: Query, offsets_us: Sequence[int]) -> None:
        """``offsets_us`` by the number of the site in the batch."""
        self._column = name_sql(query.program.source.time_column)
        self._offsets_us = offsets_us

    def over(self, records_sql: str) -> str:
        """The same records with their times moved."""
        if not any(self._offsets_us):
            return records_sql
        moved = f"timestamp_micros(unix_micros({self._column}) + {self._offset_sql()})"
        return f"SELECT * EXCEPT ({self._column}), {moved} AS {self._column} FROM ({records_sql})"

    def back(self, time_us: int | None) -> int | None:
        """A time of a batch with one site as it was on the site's clock."""
        return None if time_us is None else time_us - self._offsets_us[0]

    def _offset_sql(self) -> str:
        if len(set(self._offsets_us)) == 1:
            return f"{self._offsets_us[0]}L"
        cases = " ".join(f"WHEN {n} THEN {us}L" for n, us in enumerate(self._offsets_us) if us)
        return f"CASE {SITE} {cases} ELSE 0L END"
