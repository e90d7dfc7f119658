"""What the tests of the Spark parts share: queries from SQL, sites made of lists."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.algebra.words.malformed import Malformed
from headwater.edge.batches.batch_times import Waiting
from headwater.errors import DiskFull, StoreError
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.spark.site.fence import Fence
from headwater.sql.compile import compile_statements

HITS = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT, ms DOUBLE)
WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
WAIT_S_MAX = 120.0


def compiled(streams: str, source: str = HITS) -> list[Query]:
    return compile_statements(
        source + streams, root="home", installer="home", next_counter=1, begin="earliest"
    )


def stream(select: str, *, name: str = "s", source: str = HITS) -> Query:
    (query,) = compiled(f"CREATE STREAM {name} AS {select};", source)
    return query


def per_domain(name: str = "per_domain") -> Query:
    return stream(
        "SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain",
        name=name,
    )


def inverse(name: str = "inverse") -> Query:
    """Fails on a batch that has a record with 0 bytes."""
    return stream(
        "SELECT sum(100 DIV bytes) AS x FROM hits GROUP BY window(ts, '10 seconds')", name=name
    )


class ListInbox:
    """A site whose cube is a list. It refuses what a cube refuses."""

    def __init__(self, directory: Path, source: Source) -> None:
        self.directory = directory
        self.source = source
        self.installed: set[str] = set()
        self.chunks: list[Chunk] = []
        self.committed = 0
        self.epoch = 0
        self.batches: set[tuple[int, int]] = set()
        self.results: list[Any] = []
        self.unparsed = 0
        self.records = 0
        self.fenced = 0
        self.refused = 0
        self.the_fence = Fence()
        self.samples: list[Malformed] = []
        self.lines = 0
        self.high_time_us: int | None = None
        self.quarantined: list[int] = []
        self.full_disks = 0
        """How many commits shall find the disk full."""
        self.changed = threading.Condition()
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, *lines: str, name: str | None = None) -> None:
        self.put_bytes("".join(f"{line}\n" for line in lines).encode(), name=name)

    def put_bytes(self, data: bytes, *, name: str | None = None) -> None:
        cut = len(self.chunks) + 1
        path = self.directory / (name or f"chunk-{cut}")
        path.write_bytes(data)
        self.chunks.append(Chunk(cut, path, len(data)))

    def counts(self, query: Query, column: str = "count_1") -> dict[tuple[int, str | None], int]:
        """(pane, domain) to the sum of one partial column over all batches."""
        found: dict[tuple[int, str | None], int] = {}
        for result in self.results:
            if result.query == str(query.id) and result.table is not None:
                for row in result.table.to_pylist():
                    key = (row["pane"], row.get("domain"))
                    found[key] = found.get(key, 0) + int(row[column])
        return found

    def failures(self, query: Query) -> list[Any]:
        return [r for r in self.results if r.query == str(query.id) and r.failed is not None]

    # What the host asks

    def sources(self) -> list[Source]:
        return [self.source]

    def runs(self, query_id: str) -> bool:
        return query_id in self.installed

    def reads(self, source: str, query_id: str, *, first_cut: int) -> bool:
        return self.runs(query_id)

    def wants_first(self, source: str) -> bool:
        return False

    def waiting(self, source: str) -> Waiting:
        pending = self.pending(source, after_cut=None, bytes_max=1 << 40)
        return Waiting(sum(chunk.bytes for chunk in pending), is_urgent=True)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[Chunk]:
        found: list[Chunk] = []
        for chunk in self.chunks[max(self.committed, after_cut or 0) :]:
            if chunk.cut in self.quarantined:
                continue
            if found and sum(one.bytes for one in found) + chunk.bytes > bytes_max:
                break
            found.append(chunk)
        return found

    def fence(self, source: str) -> Fence:
        return self.the_fence

    def offset_us(self, query_id: str) -> int:
        return 0

    def counted(self, query: Query) -> int:
        found = [one.counted_through for one in self.results if one.query == str(query.id)]
        return max((through for through in found if through is not None), default=0)

    def committed_cut(self, source: str) -> int:
        return self.committed

    def new_epoch(self, source: str) -> int:
        self.epoch += 1
        return self.epoch

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        with self.changed:
            self.quarantined.append(cut)
            while self.committed + 1 in self.quarantined:
                self.committed += 1
            self.changed.notify_all()

    def commit(self, batch: Batch, outcome: SiteOutcome) -> None:
        with self.changed:
            if self.full_disks:
                self.full_disks -= 1
                raise DiskFull("no room")
            if batch.epoch != self.epoch:
                raise StoreError("another Spark has taken over")
            if (batch.epoch, batch.number) in self.batches:
                return
            assert batch.through_cut > self.committed, "a cut is committed once"
            self.batches.add((batch.epoch, batch.number))
            self.committed = batch.through_cut
            self.results += outcome.results
            self.unparsed += outcome.unparsed
            self.records += outcome.records
            self.fenced += outcome.fenced
            self.refused += outcome.refused
            self.samples += outcome.samples
            self.lines += outcome.lines
            self.high_time_us = outcome.high_time_us
            self.changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, timeout=WAIT_S_MAX), "the host did not get there"

    def wait_for_all(self) -> None:
        self.wait_for(lambda: not self.pending("", after_cut=None, bytes_max=1))


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that nobody announces."""
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come true"
        time.sleep(0.02)


def rows(table: pa.Table | None) -> list[dict[str, Any]]:
    return [] if table is None else table.to_pylist()
