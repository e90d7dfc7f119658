"""Spark's place in a federation in one process, for tests that count work: no JVM, no lines.

The real ``SiteHost``, ``SourceStream`` and ``AnswerRunner`` run. What they
ask of Spark is made up: each site's chunks yield one row for each pane and group, and the root part
passes its rows on.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from headwater.algebra.rows.types import site_schema
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.inbox import SiteBatch

PANES, GROUPS = 3, 2
"""That each site has rows of."""


class MadeLease:
    is_over = False
    session = None

    def at_work(self, _work: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def end(self) -> None:
        """Nobody waits for it."""


class MadeOffers:
    """In place of ``OfferStream``, and of the frame, the writer and the query made from it."""

    def __init__(self, _session: Any) -> None:
        self.writeStream = self
        self.isActive = False
        self._news = threading.Semaphore(0)
        self._process: Callable[[Any, int], None] = lambda _frame, _number: None

    def offer(self) -> None:
        self._news.release()

    def note_caller(self) -> None:
        """There is no connection."""

    def hang_up(self) -> None:
        """There is nothing to close."""

    def frame(self) -> MadeOffers:
        return self

    def foreachBatch(self, process: Callable[[Any, int], None]) -> MadeOffers:
        self._process = process
        return self

    def option(self, _key: str, _value: str) -> MadeOffers:
        return self

    def queryName(self, _name: str) -> MadeOffers:
        return self

    def start(self) -> MadeOffers:
        self.isActive = True
        self._thread = threading.Thread(target=self._run, name="made-stream", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        self.isActive = False
        self._news.release()

    def _run(self) -> None:
        number = 0
        while True:
            self._news.acquire()
            if not self.isActive:
                return
            self._process(None, number)
            number += 1


class MadeRunner:
    """In place of ``BatchRunner``."""

    panes = PANES
    groups = GROUPS

    def __init__(self, _session: Any, _directory: Path, _learned: Any, *, job_s_max: float) -> None:
        self.jobs = self
        self.batch_count = 0

    def cancel(self, query_id: str) -> None:
        """Its jobs take no time, so there is none to end."""

    def clear(self) -> None:
        """There are no files to remove."""

    def close(self, **_: Any) -> None:
        """There is nothing to end."""

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        self.batch_count += 1
        return [SiteOutcome(tuple(self._rows(q) for q in one.queries), 1) for one in batches]

    def _rows(self, query: Query) -> QueryResult:
        schema = site_schema(query.program)
        count = self.panes * self.groups
        columns = [_values(field.type, count) for field in schema]
        columns[0] = pa.array([n // self.groups for n in range(count)], pa.int64())
        return QueryResult(str(query.id), pa.Table.from_arrays(columns, schema=schema))


def _values(kind: pa.DataType, count: int) -> pa.Array:
    values = [f"g{n}" if pa.types.is_string(kind) else n for n in range(count)]
    return pa.array(values, kind)


class MadeRoot:
    """In place of ``RootSpark``: the rows as they came."""

    def __init__(self, _spark: Any, *, handover: Any = None) -> None:
        """There is nothing to start."""

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        return dict(windows)


def made_spark(monkeypatch: Any) -> Any:
    """What ``try_query`` takes for a running Spark, once Spark's place is taken."""
    monkeypatch.setattr("headwater.spark.site.source_stream.OfferStream", MadeOffers)
    monkeypatch.setattr("headwater.spark.site.source_stream.BatchRunner", MadeRunner)
    monkeypatch.setattr("headwater.local.federation.RootSpark", MadeRoot)
    return SimpleNamespace(
        session=SimpleNamespace(lease=MadeLease),
        shared=None,
        end=lambda: None,
        bytes_scanned=lambda: 0,
    )
