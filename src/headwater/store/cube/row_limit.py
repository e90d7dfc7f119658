"""How many rows of one pane a site sends for a query, where that grows with the values in the data.

What exceeds it is declined (limit), whole, with what to write instead: a part of the values would
pass for all of them.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.plan.over_limit import OVER_LIMIT

GROWING_ROWS_MAX = 1_000_000


class RowLimit(msgspec.Struct, frozen=True):
    rows_max: int
    instead: str
    """``write approx_count_distinct(x)``"""
    copies: str = ""
    """The column that says how often a row occurs, where rows travel as a bag: the root unfolds
    it, so that many."""

    def count(self, rows: pa.Table) -> int:
        """Of what is sent, as the root has to hold it."""
        if not self.copies:
            return int(rows.num_rows)
        return int(pc.sum(rows.column(self.copies)).as_py() or 0)

    def words(self, rows: int) -> str:
        """Of a pane with too many."""
        return (
            f"{OVER_LIMIT}a pane has {rows} rows, and this site sends at most "
            f"{self.rows_max} (cube.growing_rows_max); {self.instead}, or take shorter panes"
        )
