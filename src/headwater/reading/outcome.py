"""What came of a batch: the values that Spark's side makes, and a site's cube makes durable."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.words.malformed import Malformed


class Batch(msgspec.Struct, frozen=True):
    """Which batch of a source it is, and how far it has read."""

    source: str
    epoch: int
    number: int
    through_cut: int


class QueryResult(msgspec.Struct, frozen=True):
    """What a batch gave for one query at one site: rows, none, or Spark's message."""

    query: str
    table: pa.Table | None = None
    """Column ``pane``, then the query's keys and partials; None: no rows, or ``pieces``."""
    failed: str | None = None
    touched: tuple[int, int] | None = None
    """When it failed: the first and last pane of the batch's records, if that is known."""
    pieces: RowPieces | None = None
    """Rows that are too many for one table, in files that are there until the commit returns."""
    malformed: int = 0
    """Lines of the batch that this query can't use, whatever others of the source can."""
    counted_through: int | None = None
    """Where the site's own count is after the batch; None: the query goes by none, or it failed."""
    given: tuple[int, ...] = ()
    """Of a level: its panes that the batch was read for, though none of their rows may be in it."""


class SiteOutcome(msgspec.Struct, frozen=True):
    """What a batch gave at one site, for all queries that run there."""

    results: tuple[QueryResult, ...] = ()
    records: int = 0
    """Lines that are records for at least one of the queries."""
    unparsed: int = 0
    """Lines that are malformed for at least one of the queries."""
    samples: tuple[Malformed, ...] = ()
    """Why lines are malformed, where that was looked at, with values: what is shown of them is the
    site's decision."""
    high_time_us: int | None = None
    """The time of a record of the batch, as a rule the highest within the fence, never higher."""
    fenced: int = 0
    """Records from the future."""
    refused: int = 0
    """Records from too far in the future: not among the results."""
    lines: int = 0
    """All of them, but for those that are passed over: empty ones, headers."""
    low_time_us: int | None = None
    """The lowest record time of the batch; None: it had no records, or nobody has asked for it."""

    @classmethod
    def joined(cls, parts: Sequence[SiteOutcome]) -> SiteOutcome:
        """Of several groups of the site's queries. They read the same lines, so counts don't add
        up."""
        if len(parts) == 1:
            return parts[0]
        highs = [one.high_time_us for one in parts if one.high_time_us is not None]
        lows = [one.low_time_us for one in parts if one.low_time_us is not None]
        samples = (one.samples for one in parts)
        return cls(
            results=tuple(result for one in parts for result in one.results),
            records=max(one.records for one in parts),
            unparsed=max(one.unparsed for one in parts),
            samples=max(samples, key=lambda kinds: sum(one.lines for one in kinds)),
            high_time_us=max(highs, default=None),
            fenced=max(one.fenced for one in parts),
            refused=max(one.refused for one in parts),
            lines=max(one.lines for one in parts),
            low_time_us=min(lows, default=None),
        )
