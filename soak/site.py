"""A site that is fed by hand: one source, chunks that are read once, and what came of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.edge.batches.batch_times import Waiting
from headwater.errors import HeadwaterError
from headwater.plan.sources.source import Source
from headwater.spark.site.fence import Fence
from headwater.spark.site.inbox import QueryResult

BATCH_S_MAX = 120.0


class SoakChunk(msgspec.Struct, frozen=True):
    cut: int
    path: Path
    bytes: int
    header: str = ""
    is_file: bool = False


class SoakSite:
    """An inbox without a disk: it keeps no more than the last batch."""

    def __init__(self, directory: Path, source: Source) -> None:
        self._directory = directory
        self._source = source
        self._chunk: SoakChunk | None = None
        self._cut = 0
        self._committed = 0
        self._epoch = 0
        self._changed = threading.Condition()
        self.installed: frozenset[str] = frozenset()
        self.results: Sequence[QueryResult] = ()
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, text: str) -> None:
        self._cut += 1
        path = self._directory / "chunk"
        path.write_text(text, encoding="utf-8")
        self._chunk = SoakChunk(self._cut, path, len(text))

    def wait(self) -> Sequence[QueryResult]:
        """What came of the last chunk."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._committed == self._cut, BATCH_S_MAX):
                raise HeadwaterError(f"batch {self._cut} did not end within {BATCH_S_MAX:.0f} s")
        return self.results

    # What the host asks

    def sources(self) -> list[Source]:
        return [self._source]

    def runs(self, query_id: str) -> bool:
        return query_id in self.installed

    def waiting(self, source: str) -> Waiting:
        pending = self.pending(source, after_cut=None, bytes_max=1 << 40)
        return Waiting(sum(chunk.bytes for chunk in pending), is_urgent=True)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[SoakChunk]:
        chunk = self._chunk
        return [chunk] if chunk is not None and chunk.cut > self._committed else []

    def fence(self, source: str) -> Fence:
        return Fence()

    def offset_us(self, query_id: str) -> int:
        return 0

    def committed_cut(self, source: str) -> int:
        return self._committed

    def new_epoch(self, source: str) -> int:
        self._epoch += 1
        return self._epoch

    def quarantine(self, source: str, cut: int, reason: str) -> None:
        raise AssertionError(f"a chunk of our own can't be read: {reason}")

    def commit(self, source: str, *, through_cut: int, results: Sequence[Any], **_: object) -> None:
        with self._changed:
            self._committed = through_cut
            self.results = results
            self._changed.notify_all()
