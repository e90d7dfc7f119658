"""What the Spark host asks of a site: the chunks to read, and a place for what came of them.

A ``SiteHost`` serves many sites and knows each of them by its inbox alone. The methods are called
from the host's threads, at most one batch of a source at a time. The agent implements it over the
site's cube and followers; tests implement it with lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.words.malformed import Malformed
from headwater.edge.batches.batch_times import Waiting
from headwater.plan.sources.source import Source
from headwater.spark.site.fence import Fence


class Chunk(Protocol):
    """Whole lines of one file, as one file for Spark."""

    @property
    def cut(self) -> int: ...

    @property
    def path(self) -> Path: ...

    @property
    def bytes(self) -> int: ...

    @property
    def header(self) -> str:
        """What names the columns of its lines in the file that they were cut from; or empty."""

    @property
    def is_file(self) -> bool:
        """It is a whole file, as it was found, and not lines that were cut from one."""


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


class Inbox(Protocol):
    def sources(self) -> Sequence[Source]:
        """What is read at this site now."""

    def runs(self, query_id: str) -> bool:
        """Whether the query is installed here and not suspended; asked when a batch begins."""

    def waiting(self, source: str) -> Waiting:
        """What there is to read, and whether somebody waits for it; asked often, so it must be
        cheap."""

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> Sequence[Any]:
        """``Chunk`` values after the committed cut, oldest first: at least one, if there is any."""

    def fence(self, source: str) -> Fence:
        """Which records are from the future, by the site's clock; asked when a batch begins."""

    def offset_us(self, query_id: str) -> int:
        """What is added to the times of this query's records; asked when a batch begins. Not 0
        only where records are placed by their age, in the root's time."""

    def committed_cut(self, source: str) -> int: ...

    def new_epoch(self, source: str) -> int:
        """A new checkpoint begins at the committed cut; commits of older ones are refused.

        An epoch ends with the source: one that was forgotten and made anew is not the same, though
        it has the same name and numbers its cuts from 1 again. So the epoch is taken before the
        chunks of a batch are listed; a refusal (``EpochOver``) is answered by taking a new one.
        """

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        """Spark can't read this chunk: set it aside, count it as lost, never offer it again."""

    def commit(
        self,
        source: str,
        *,
        epoch: int,
        batch_id: int,
        through_cut: int,
        results: Sequence[Any],
        unparsed: int,
        samples: Sequence[Malformed],
        high_time_us: int | None,
        records: int,
        fenced: int,
        refused: int,
        lines: int,
    ) -> None:
        """Make a batch durable: ``QueryResult`` values of all queries and the cut, or nothing.

        ``samples`` say why lines are malformed, where that was looked at, with values: what is
        shown of them is the site's decision.
        ``high_time_us`` is the time of a record of the batch, as a rule the highest within the
        fence, never higher.
        Raises ``DiskFull`` when there is no room; the host then tries the same again. Raises
        ``EpochOver``, and any other ``StoreError``, with nothing changed; the host then drops the
        batch, and what it held is offered again.
        """
