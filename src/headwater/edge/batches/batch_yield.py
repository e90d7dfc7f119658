"""What comes out of a batch for what goes in, and how much may therefore go into the next.

A batch of so many bytes may give a handful of rows or one for every line and query; how many is
known only afterwards. Disk, the commit and Spark's own tables are as large as what comes out, so a
limit on what goes in alone bounds none of them. What is learned is a ratio, for each query by
itself, of the newest batch that it was in::

    rows of a batch
      ^                         . · '        groups repeat, so rows rise ever more slowly, and a
      |              .  ·  '                 small batch has a higher ratio than a large one: what
      |        . '      |                    is expected of a larger one by it is too much, never
      |    . '          |                    too little
      |  .'             |
      +--------------------------> bytes

A batch that may be larger than the one before it is therefore made too small rather than too large,
and so on, until the limit or the last byte that waits is reached. One that gave too much, since it
was the first or the input has changed, is followed by smaller ones, each by as much as there were
too many rows; none gives more than the one before it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

QUERIES_MAX = 1_000
"""Queries of which a ratio is remembered."""
USUAL_BYTES_A_ROW = 1_024
"""Of a query that is new: that is much for a summary, and for a few queries limits nothing."""


class Ratio(msgspec.Struct, frozen=True):
    """Of one query, for each byte that goes in."""

    rows: float = 1 / USUAL_BYTES_A_ROW
    bytes: float = 1.0
    """Of a query that is new: as many as go in."""


UNKNOWN = Ratio()


class BatchYield:
    """Told of each query's rows; asked before the next batch."""

    def __init__(self) -> None:
        self._ratios: OrderedDict[str, Ratio] = OrderedDict()

    def gave(self, query_id: str, *, bytes_in: int, rows_out: int, bytes_out: int) -> None:
        """So much came out of a batch for this query, all sites together."""
        self._ratios.pop(query_id, None)
        count = max(1, bytes_in)
        self._ratios[query_id] = Ratio(rows_out / count, bytes_out / count)
        while len(self._ratios) > QUERIES_MAX:
            self._ratios.popitem(last=False)

    def knows(self, query_id: str) -> bool:
        """Whether it was in a batch that is remembered."""
        return query_id in self._ratios

    def bytes_out(self, query_id: str, *, bytes_in: int) -> float:
        """What is expected of a batch of so many bytes."""
        return bytes_in * self._ratios.get(query_id, UNKNOWN).bytes

    def bytes_in_max(self, query_ids: Iterable[str], *, bytes_max: int, rows_max: int) -> int:
        """What a batch for these queries may hold: so many bytes, and no more than so many rows are
        expected of it."""
        rows = sum(self._ratios.get(query_id, UNKNOWN).rows for query_id in query_ids)
        return bytes_max if rows * bytes_max <= rows_max else int(rows_max / rows)
