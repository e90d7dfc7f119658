"""Finishing windows: the root's rows through Spark, out as published answers.

One answer of a query is under way at a time (the root sees to that), several queries at once. The
work is Spark's and the disk's, so it runs in threads; what came of it is told on the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor

import msgspec
import pyarrow as pa
import structlog

from headwater.agent.stores import SiteStores
from headwater.errors import HeadwaterError, SegmentDamaged
from headwater.node.effects import Answer
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswered
from headwater.spark.root_part import RootSpark
from headwater.store.results import ResultsWriter

log = structlog.get_logger()

FINISHED_MAX = 256
"""Finished windows that are kept in memory."""

Panes = list[tuple[int, pa.Table]]
Told = Callable[[Answer, str | None], None]
"""(answer, why it failed): called on the event loop when an answer is published, or is not."""


class AnswerRunner:
    def __init__(
        self,
        stores: SiteStores,
        spark: RootSpark,
        *,
        workers: Executor,
        told: Told,
        published: Callable[[Query, int], None],
        damaged: Callable[[str], None],
    ) -> None:
        """``published`` is called on the event loop with each new publication's number, ``damaged``
        with a query whose ledger has to be mended."""
        self._stores = stores
        self._finished = FinishedRows(spark)
        self._workers = workers
        self._told = told
        self._published = published
        self._damaged = damaged
        self._writers: dict[str, ResultsWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, query: Query) -> None:
        """This site answers the query: make its results sound before anything is published."""
        stream = query.id.name
        if stream not in self._writers:
            writer = ResultsWriter(self._stores.results_directory / stream, disk=self._stores.disk)
            self._stores.ledger.settle_results(stream, writer)
            self._writers[stream] = writer

    def answer(self, answer: Answer) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Wait for what is under way; a published answer is never half written."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _answer(self, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        query = self._stores.book.query(answer.query)
        try:
            seq = await loop.run_in_executor(self._workers, self._finish, query, answer)
        except HeadwaterError as error:
            log.warning("answer failed", query=answer.query, error=str(error))
            self._told(answer, str(error))
            if isinstance(error, SegmentDamaged):
                self._damaged(answer.query)
        except Exception as error:  # Spark's errors are not ours; the root tries again later
            log.warning("answer failed", query=answer.query, error=repr(error)[:2000])
            self._told(answer, f"{type(error).__name__}: {error}"[:2000])
        else:
            self._told(answer, None)
            self._published(query, seq)

    def _finish(self, query: Query, answer: Answer) -> int:
        """In a worker thread."""
        panes = {
            pane: self._stores.ledger.pane_rows(
                answer.query, pane, kept_through=answer.kept_through
            )
            for request in answer.requests
            for pane in request.panes
        }
        windows: dict[int, Panes] = {}
        for request in answer.requests:
            found = [(pane, panes[pane]) for pane in request.panes]
            windows[request.window] = [(p, table) for p, table in found if table is not None]
        rows = self._finished.of(query, {w: tables for w, tables in windows.items() if tables})
        answered = [
            WindowAnswered(
                request.window,
                request.revision,
                answer.kept_through,
                msgspec.structs.replace(request.envelope, rows=_count(rows, request.window)),
            )
            for request in answer.requests
        ]
        writer = self._writers[query.id.name]
        return self._stores.ledger.publish(query, answered, rows, writer)


class FinishedRows:
    """The root part, run only for windows whose panes have changed.

    A revision often says no more than "exact" became "final". The ledger gives a pane that has
    not changed as the very same table, so an answer made of the same tables is made already.
    """

    def __init__(self, spark: RootSpark) -> None:
        self._spark = spark
        self._known: OrderedDict[tuple[str, int], tuple[Panes, pa.Table | None]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, query: Query, windows: dict[int, Panes]) -> dict[int, pa.Table]:
        """The rows of each window that has any."""
        known = {window: self._find(query, window, panes) for window, panes in windows.items()}
        fresh = {window: panes for window, panes in windows.items() if known[window] is None}
        made = self._spark.finish(query, fresh) if fresh else {}
        with self._lock:
            for window, panes in fresh.items():
                self._known[str(query.id), window] = (panes, made.get(window))
            while len(self._known) > FINISHED_MAX:
                self._known.popitem(last=False)
        kept = {window: one[1] for window, one in known.items() if one is not None}
        return {**made, **{window: rows for window, rows in kept.items() if rows is not None}}

    def _find(
        self, query: Query, window: int, panes: Panes
    ) -> tuple[Panes, pa.Table | None] | None:
        with self._lock:
            found = self._known.get((str(query.id), window))
        if found is None or len(found[0]) != len(panes):
            return None
        same = all(
            mine[0] == theirs[0] and mine[1] is theirs[1]
            for mine, theirs in zip(found[0], panes, strict=True)
        )
        return found if same else None


def _count(rows: dict[int, pa.Table], window: int) -> int:
    return rows[window].num_rows if window in rows else 0
