"""A site for the measurements: complete files offered in batches, results thrown away."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from headwater.edge.batches.batch_times import Waiting
from headwater.plan.sources.source import Source
from headwater.spark.site.fence import Fence


class BenchChunk(msgspec.Struct, frozen=True):
    cut: int
    path: Path
    bytes: int
    header: str = ""
    is_file: bool = False


class BenchSite:
    """An inbox over files. It notes when each batch was committed, and how many cuts it had."""

    def __init__(self, source: Source, paths: Sequence[Path], *, files_per_batch: int) -> None:
        self._source = source
        self._files_per_batch = files_per_batch
        self._chunks = [
            BenchChunk(cut, path, path.stat().st_size) for cut, path in enumerate(paths, start=1)
        ]
        self._committed = 0
        self.commits: list[tuple[float, int]] = []
        self.rows = 0
        self.records = 0
        self.failures: list[str] = []
        self.is_done = threading.Event()

    def add(self, path: Path) -> None:
        self.is_done.clear()
        self._chunks.append(BenchChunk(len(self._chunks) + 1, path, path.stat().st_size))

    def sources(self) -> list[Source]:
        return [self._source]

    def runs(self, query_id: str) -> bool:
        return True

    def waiting(self, source: str) -> Waiting:
        pending = self.pending(source, after_cut=None, bytes_max=1 << 40)
        return Waiting(sum(chunk.bytes for chunk in pending), is_urgent=True)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[Any]:
        return self._chunks[self._committed : self._committed + self._files_per_batch]

    def fence(self, source: str) -> Fence:
        return Fence()

    def offset_us(self, query_id: str) -> int:
        return 0

    def committed_cut(self, source: str) -> int:
        return self._committed

    def new_epoch(self, source: str) -> int:
        return 1

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        raise AssertionError(reason)

    def commit(
        self, source: str, *, through_cut: int, results: Sequence[Any], records: int, **_: object
    ) -> None:
        self._committed = through_cut
        self.rows += sum(one.table.num_rows for one in results if one.table is not None)
        self.failures += [one.failed for one in results if one.failed is not None]
        self.records += records
        self.commits.append((time.perf_counter(), through_cut))
        if through_cut == len(self._chunks):
            self.is_done.set()
