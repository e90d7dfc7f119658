"""What a simulated cube keeps of readings of the past: how far each has come, and for whom.

A reading of the past has the records below the position that the live reading had found when it
began; what lies above is read live. So a position is in one of the two for a late query, and a cube
that is lost takes the reading with it::

    log         0 1 2 3 4 5 6 7 8 9 …
    the past    [---------)              of queries that came when 5 records were found
    live                  [---------     also where batches with 2 … 4 were not committed yet
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PastDisk:
    """One reading of the past."""

    end: int
    """Positions below are read here."""
    committed: int = 0
    queries: set[str] = field(default_factory=set)
    low_us: int | None = None
    """The earliest time in the first batch that had records."""
    loss_count: int = 0
    """Batches that met bytes which had vanished."""

    @property
    def is_read(self) -> bool:
        return self.committed == self.end


class PastBook:
    """Of all late queries of one cube."""

    def __init__(self) -> None:
        self.readings: dict[str, PastDisk] = {}
        self.live_from: dict[str, int] = {}
        """By query: from which position on it is read live."""

    def forget(self, query_id: str) -> None:
        self.live_from.pop(query_id, None)
        for past in self.readings.values():
            past.queries.discard(query_id)
