"""How many records a site has read for a query, or how many bytes, as a piece of SQL.

Windows may go by a site's own count (``sequence_grid``). Within a batch records are counted in the
order of cuts, and of lines in a cut (``record_order``), those that are malformed for the query or
refused by the fence left out, those that WHERE drops not. The count goes on where the last
committed batch ended, at each site: a batch that comes again begins where it began before.

Where that is stands in an array, which is data for Spark. As a number in the text it would have the
code for each record compiled anew with every batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from headwater.algebra.windows.sequence_grid import BYTE, SequenceGrid
from headwater.spark.lines.lines import SITE
from headwater.spark.lines.record_order import LENGTH, ORDER

THROUGH = "__through"
"""Column: where the count is after the batch, the same for all records of a site."""


def order_columns(grid: SequenceGrid) -> tuple[str, ...]:
    """What lines are to have beside them for this count."""
    return (*ORDER, LENGTH) if grid.column == BYTE else ORDER


class OwnCount:
    def __init__(self, grid: SequenceGrid | None, starts: Sequence[int], *, site: str = SITE):
        """``starts`` by the number of the site in the batch; None: nothing is counted. ``site`` is
        the column that tells sites apart."""
        self._grid = grid
        self._starts = starts
        self._site = site

    @property
    def columns(self) -> tuple[str, ...]:
        """What records must have for it."""
        return () if self._grid is None else (SITE, *order_columns(self._grid))

    @property
    def starts_sql(self) -> str:
        """The only piece that differs from batch to batch."""
        if not any(self._starts):
            return "0L"
        starts = ", ".join(f"{start}L" for start in self._starts)
        return f"element_at(array({starts}), {SITE} + 1)"

    def over(self, records_sql: str) -> str:
        """The same records with their numbers, and ``THROUGH``."""
        if self._grid is None:
            return records_sql
        order = f"PARTITION BY {self._site} ORDER BY {', '.join(ORDER)}"
        before = f"row_number() OVER ({order}) - 1L"
        if self._grid.column == BYTE:
            rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
            before = f"sum({LENGTH}) OVER ({order} {rows}) - {LENGTH}"
        left_out = ", ".join(order_columns(self._grid))
        return (
            f"SELECT * EXCEPT ({left_out}), {self.starts_sql} + {before} AS {self._grid.column}, "
            f"{self.starts_sql} + {self._all} OVER (PARTITION BY {self._site}) AS {THROUGH} "
            f"FROM ({records_sql})"
        )

    def through_sql(self, records_sql: str) -> str:
        """``THROUGH`` of each site that has records, by itself: for whoever has no row left of
        them."""
        return (
            f"SELECT {self._site}, {self.starts_sql} + {self._all} AS {THROUGH} "
            f"FROM ({records_sql}) GROUP BY {self._site}"
        )

    def through(self, session: SparkSession, records_sql: str) -> int:
        """The same of the only site of a batch, also where it has no records at all."""
        told = session.sql(self.through_sql(records_sql)).toArrow()[THROUGH].to_pylist()
        return int(told[0]) if told else self._starts[0]

    @property
    def _all(self) -> str:
        is_bytes = self._grid is not None and self._grid.column == BYTE
        return f"sum({LENGTH})" if is_bytes else "count(*)"
