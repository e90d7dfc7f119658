"""The kinds of jobs that an agent runs, once, on next to nothing.

Java loads a class when it is first used, and Spark has thousands of them: the first batch of a
fresh JVM takes seconds, the second a fraction. ``archive`` rehearses so that the classes go into
the archive of the next start.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from headwater.edge.batches.batch_times import Waiting
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.fence import Fence
from headwater.spark.site.site_host import SiteHost
from headwater.sql.compile import compile_statements

STATEMENTS = """
CREATE SOURCE rehearsal (ts TIMESTAMP, name STRING, n BIGINT, x DOUBLE)
WITH (format = 'csv', path = '*', time = 'ts');
CREATE STREAM one AS SELECT name, count(*) AS c, sum(n) AS s, avg(x) AS a FROM rehearsal
GROUP BY window(ts, '10 seconds'), name ORDER BY c DESC LIMIT 3;
CREATE STREAM two AS SELECT min(x) AS lo, max(x) AS hi FROM rehearsal
GROUP BY window(ts, '20 seconds', '10 seconds');
"""
LINES = [f"2026-05-01T12:00:{n % 60:02d}Z,name {n % 5},{n},{n / 4}" for n in range(600)]
ROUNDS = 2
REHEARSAL_S_MAX = 120.0


class RehearsedChunk(msgspec.Struct, frozen=True):
    cut: int
    path: Path
    bytes: int
    header: str = ""
    is_file: bool = False


class RehearsedSite:
    """An inbox with a chunk for each round; it keeps what the last one gave."""

    def __init__(self, directory: Path, source: Source) -> None:
        self._source = source
        self._chunks = []
        self._committed = 0
        self.results: Sequence[Any] = ()
        self.is_done = threading.Event()
        for cut in range(1, ROUNDS + 1):
            path = directory / f"chunk-{cut}"
            path.write_text("\n".join(LINES) + "\nno record\n", encoding="utf-8")
            self._chunks.append(RehearsedChunk(cut, path, path.stat().st_size))

    def sources(self) -> list[Source]:
        return [self._source]

    def runs(self, query_id: str) -> bool:
        return True

    def waiting(self, source: str) -> Waiting:
        pending = self.pending(source, after_cut=None, bytes_max=1 << 40)
        return Waiting(sum(chunk.bytes for chunk in pending), is_urgent=True)

    def pending(self, source: str, *, after_cut: int | None, bytes_max: int) -> list[Any]:
        return self._chunks[self._committed : self._committed + 1]

    def fence(self, source: str) -> Fence:
        return Fence()

    def offset_us(self, query_id: str) -> int:
        return 0

    def committed_cut(self, source: str) -> int:
        return self._committed

    def new_epoch(self, source: str) -> int:
        return 1

    def quarantine(self, source: str, cut: int, reason: str, *, epoch: int) -> None:
        raise AssertionError(f"a chunk of our own can't be read: {reason}")

    def commit(self, source: str, *, through_cut: int, results: Sequence[Any], **_: object) -> None:
        self._committed = through_cut
        self.results = results
        if through_cut == ROUNDS:
            self.is_done.set()


def rehearse(session: SparkSession) -> None:
    """Read chunks through two queries and finish their windows."""
    queries = compile_statements(
        STATEMENTS, root="home", installer="home", next_counter=1, begin="earliest"
    )
    with tempfile.TemporaryDirectory(prefix="headwater-rehearsal-") as scratch:
        site = RehearsedSite(Path(scratch), queries[0].program.source)
        host = SiteHost(session, Path(scratch) / "host")
        try:
            for query in queries:
                host.install(query)
            host.serve("rehearsal", site)
            site.is_done.wait(REHEARSAL_S_MAX)
        finally:
            host.stop()
    root = RootSpark(session)
    for query in queries:
        _finish(root, query, site.results)


def _finish(root: RootSpark, query: Query, results: Sequence[Any]) -> None:
    tables = [one.table for one in results if one.query == str(query.id) and one.table is not None]
    for table in tables:
        window = query.window.windows_of(table["pane"][0].as_py())[-1]
        root.finish(query, {window: [(0, table.drop_columns("pane"))]})
