"""What the Spark host asks of a site: the chunks to read, and a place for what came of them.

A ``SiteHost`` serves many sites and knows each of them by its inbox alone. The methods are called
from the host's threads, at most one batch of a source at a time. The agent implements it over the
site's cube and followers; tests implement it with lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from headwater.edge.batches.batch_times import Waiting
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.site.fence import Fence


class SiteBatch(msgspec.Struct, frozen=True):
    """What one site has for this batch."""

    site: str
    chunks: tuple[Chunk, ...]
    queries: tuple[Query, ...]
    fence: Fence = Fence()
    offsets_us: Mapping[str, int] = {}
    """By query: what is added to the times of its records at this site."""
    wants_first: bool = False
    """The lowest record time is to be found out, which costs reading the lines once more."""
    starts: Mapping[str, int] = {}
    """By query, where windows go by what the site has read: how much that was before this batch."""


class Inbox(Protocol):
    def sources(self) -> Sequence[Source]:
        """What is read at this site now."""

    def runs(self, query_id: str) -> bool:
        """Whether the query is installed here and not suspended."""

    def reads(self, source: str, query_id: str, *, first_cut: int) -> bool:
        """Whether the query runs here, and a batch of this reading that begins with this cut is for
        it, too. The past of a late query is read by itself, and the live cuts before it came are
        not for it."""

    def wants_first(self, source: str) -> bool:
        """Whether the lowest record time of the next batch is to be found out."""

    def waiting(self, source: str) -> Waiting:
        """What there is to read, and whether somebody waits for it; asked often, so it must be
        cheap."""

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> Sequence[Chunk]:
        """Those after the committed cut, oldest first: at least one, if there is any."""

    def fence(self, source: str) -> Fence:
        """Which records are from the future, by the site's clock; asked when a batch begins."""

    def offset_us(self, query_id: str) -> int:
        """What is added to the times of this query's records; asked when a batch begins. Not 0
        only where records are placed by their age, in the root's time."""

    def counted(self, query: Query) -> int:
        """How many records, or bytes of them, the site has read for a query whose windows go by
        that; asked when a batch begins."""

    def committed_cut(self, source: str) -> int: ...

    def new_epoch(self, source: str) -> int:
        """A new checkpoint begins at the committed cut; commits of older ones are refused.

        An epoch ends with the source: one that was forgotten and made anew is not the same, though
        it has the same name and numbers its cuts from 1 again. So the epoch is taken before the
        chunks of a batch are listed; a refusal (``EpochOver``) is answered by taking a new one.
        """

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        """Spark can't read this chunk: set it aside, count it as lost, never offer it again."""

    def commit(self, batch: Batch, outcome: SiteOutcome) -> None:
        """Make a batch durable: the results of all queries and the cut, or nothing.

        Raises ``DiskFull`` when there is no room; the host then tries the same again. Raises
        ``EpochOver``, and any other ``StoreError``, with nothing changed; the host then drops the
        batch, and what it held is offered again.
        """
