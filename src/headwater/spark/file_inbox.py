"""A site without a cube: files that are there, each read once, and somebody who is told the rest.

For rehearsals and measurements of the host, which is served by it as by an agent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from headwater.edge.batches.batch_times import Waiting
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.site.fence import Fence

Told = Callable[[Batch, SiteOutcome], None]


class FileInbox:
    def __init__(self, source: Source, told: Told, *, files_max: int = 1) -> None:
        """``told`` gets what came of each batch of at most so many files."""
        self.installed: Container[str] | None = None
        """The queries that run; None: all that the host has."""
        self._source = source
        self._told = told
        self._files_max = files_max
        self._chunks: list[Chunk] = []
        """Those that are not committed."""
        self._last_cut = self._committed = self._epoch = 0
        self._changed = threading.Condition()

    def add(self, path: Path) -> None:
        with self._changed:
            self._last_cut += 1
            self._chunks.append(Chunk(self._last_cut, path, path.stat().st_size))

    def is_read_within(self, wait_s: float) -> bool:
        """Whether all files are read by then."""
        with self._changed:
            return self._changed.wait_for(lambda: self._committed == self._last_cut, wait_s)

    # What the host asks

    def sources(self) -> Sequence[Source]:
        return [self._source]

    def runs(self, query_id: str) -> bool:
        return self.installed is None or query_id in self.installed

    def reads(self, source: str, query_id: str, *, first_cut: int) -> bool:
        return self.runs(query_id)

    def wants_first(self, source: str) -> bool:
        return False

    def waiting(self, source: str) -> Waiting:
        pending = self.pending(source, after_cut=None, bytes_max=0)
        return Waiting(sum(chunk.bytes for chunk in pending), is_urgent=True)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> Sequence[Chunk]:
        return self._chunks[: self._files_max]

    def fence(self, source: str) -> Fence:
        return Fence()

    def offset_us(self, query_id: str) -> int:
        return 0

    def committed_cut(self, source: str) -> int:
        return self._committed

    def new_epoch(self, source: str) -> int:
        self._epoch += 1
        return self._epoch

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        raise AssertionError(f"a file of our own can't be read: {reason}")

    def commit(self, batch: Batch, outcome: SiteOutcome) -> None:
        with self._changed:
            self._committed = batch.through_cut
            self._chunks = [one for one in self._chunks if one.cut > batch.through_cut]
            self._told(batch, outcome)
            self._changed.notify_all()
