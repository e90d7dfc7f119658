"""What the cube tells the edge when a batch is committed, or a poll that found nothing new."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray


class PaneKeys(msgspec.Struct, frozen=True, eq=False):
    """Of one pane, the keys that a batch has rows of: what early sending goes by. A key is a hash
    of 64 bits; two groups that share one are sent together."""

    pane: int
    keys: NDArray[np.uint64]
    """Each once."""
    values: NDArray[np.float64]
    """By column of the query's measures, then by key."""
    records: NDArray[np.float64]
    """How many each key had."""
    row_bytes: int
    """About what a row takes."""
    measures: tuple[str, ...] = ()
    """By name; none: those that the query was installed with."""

    def parts(self, keys_max: int) -> Iterator[PaneKeys]:
        """The same, so many keys at a time."""
        for first in range(0, len(self.keys), keys_max):
            part = slice(first, first + keys_max)
            yield msgspec.structs.replace(
                self, keys=self.keys[part], values=self.values[:, part], records=self.records[part]
            )


class QueryBatch(msgspec.Struct, frozen=True):
    """What one batch was for one query."""

    query: str
    panes: tuple[tuple[int, int], ...] = ()
    """(pane, row count) of the partial rows that were stored."""
    failed: str | None = None
    """Spark's message when the query failed on this batch: nothing of it was stored."""
    touched: tuple[int, int] | None = None
    """When it failed: the first and last pane that the batch has records for, if that is known."""
    failure: int = 0
    """When it failed: the number under which the cube keeps that until a record knows of it."""
    too_late: int = 0
    """Rows for sealed panes: counted, not stored."""
    before_begin: int = 0
    """Rows for panes before the first: counted, not stored."""
    twice_bytes: int = 0
    """Of the batch's input, that may have been read before: the panes of its rows are damaged."""
    malformed: int = 0
    """Lines that this query can't use."""
    counted_through: int | None = None
    """Where the site's own count is after the batch; None: the query's windows don't go by it."""
    given: tuple[int, ...] = ()
    """Of a level: its panes that the batch was read for, though no row of theirs may be stored."""
    keys: tuple[PaneKeys, ...] = ()
    """Of a query that may send early; a pane may be there several times."""


class BatchReport(msgspec.Struct, frozen=True):
    """A committed batch of one source, for all of its queries, or a poll without news.

    A poll that found nothing new has no queries and a ``read_through_s``: that is where empty
    closes come from, since Spark runs no batch while a source is idle.
    """

    source: str
    queries: tuple[QueryBatch, ...] = ()
    high_time_us: int | None = None
    """The highest record time in the batch, after the fence; None: it had no records."""
    low_time_us: int | None = None
    """Of a reading of the past: the earliest record time of its first batch with records."""
    read_through_s: float | None = None
    """Steady time at the start of the newest poll all of whose input, and all earlier input, is
    committed; None while there is input that was found and is not committed."""
    has_unread: bool = False
    """Some input is known of, or may be there, and can't be read now: a file that can't be opened,
    a directory that can't be listed. Nothing says to which panes its records belong."""
    is_caught_up: bool = False
    """All input that can be read is committed."""
    ended: bool = False
    """The input is finite and all of it is committed."""
    unparsed: int = 0
    """The source's own count: lines that some query of it can't use, and those stepped over."""
    skipped_lines: int = 0
    """Of these, lines that were stepped over before anybody read them, for all queries."""
    lost_bytes: int = 0
    fenced: int = 0
    """Records from the future: stored in the panes of their time."""
    refused: int = 0
    """Records from too far in the future: not stored."""
    damaged_from_us: int | None = None
    """Record times between which bytes were lost; None with ``lost_bytes``: not known."""
    damaged_to_us: int | None = None
    loss_through: int = 0
    """The cube's number of the newest loss in this report, which it tells again after a restart
    until every query's record knows of it; 0: it has no numbers."""
