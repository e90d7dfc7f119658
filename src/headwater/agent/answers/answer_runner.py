"""Finishing windows: the root's rows through Spark, out as published answers.

One answer of a query is under way at a time (the root sees to that), several queries at once. The
work is Spark's and the disk's, so it runs in threads; what came of it is told on the event loop.

An answer of few rows goes through memory, and is kept there for the next revision. One of many goes
through files (``large_answers``).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import msgspec
import pyarrow as pa
import structlog

from headwater.agent.answers.bag_groups import unfolded_bytes
from headwater.agent.answers.large_answers import FinishedFiles, LargeAnswers
from headwater.agent.answers.sample_totals import totals_of
from headwater.agent.answers.uncertain import with_uncertain
from headwater.agent.answers.window_groups import WindowGroups
from headwater.agent.stores import SiteStores
from headwater.algebra.rows.arrow_rows import Groups
from headwater.algebra.rows.rounding import taken_over
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.algebra.windows.pane_source import Stamps
from headwater.errors import HeadwaterError, PaneIsLarge, SegmentDamaged, StoreError
from headwater.node.effects import Answer
from headwater.plan.degrading.companion import determined_names
from headwater.plan.query import Query
from headwater.root.outputs import WindowAnswered
from headwater.root.said.envelope import LeftOut
from headwater.root.said.sampled import Estimate
from headwater.spark.root.bad_groups import Finished, GroupFinisher
from headwater.spark.root.root_part import RootSpark
from headwater.spark.rows.handover import QUICK_BYTES_MAX
from headwater.store.results.results import ResultsWriter

log = structlog.get_logger()

SHOW_RETRY_S = 1.0
"""Between two tries to let readers see an answer that is published."""
STOP_S_MAX = 60.0
"""How long an answer that is under way may take when its agent stops."""
FINISHED_MAX = 4_096
FINISHED_BYTES_MAX = 64 << 20
"""Finished windows that are kept in memory."""

STAMP_BYTES = 200
"""About, of one pane's number and stamp in memory."""

LeftOuts = Mapping[int, LeftOut]
"""By window: the groups that its answer lacks."""
Told = Callable[[Answer, str | None, LeftOuts], None]
"""(answer, why it failed, groups left out): called on the event loop when an answer is published,
or is not."""


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
        noted: Callable[[Query, str], None],
    ) -> None:
        """``published`` is called on the event loop with each new publication's number, ``damaged``
        with a query whose ledger has to be mended, ``noted`` with what people should know."""
        self._stores = stores
        self._spark = spark
        groups = GroupFinisher(spark)
        self._finished = FinishedRows(groups)
        self._windows_of = WindowGroups(stores.ledger, differs=self._differs)
        self._large = LargeAnswers(stores.ledger, spark, groups, self._windows_of)
        self._workers = workers
        self._told = told
        self._published = published
        self._damaged = damaged
        self._noted = noted
        self._writers: dict[str, ResultsWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    def _differs(self, query: Query, difference: str) -> None:
        """From a worker thread."""
        log.error("window differs", query=str(query.id), difference=difference)
        self._loop.call_soon_threadsafe(self._noted, query, difference)

    def forget(self, query: str) -> None:
        """It was removed."""
        self._windows_of.forget(query)

    def begin(self, query: Query) -> None:
        """This site answers the query: make its results sound before anything is published.

        A write: it is called by the writer's thread, and again where the disk refused.
        """
        stream = query.id.name
        if stream not in self._writers:
            place, disk = self._stores.results_directory / stream, self._stores.results_disk
            writer = ResultsWriter(place, disk=disk)
            self._stores.ledger.finish_results(stream, writer)
            self._writers[stream] = writer

    def answer(self, answer: Answer) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.get_running_loop().create_task(self._answer(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Wait for what is under way; a published answer is never half written.

        A job of Spark that does not end is left to itself after a while: what it would publish, the
        next start publishes.
        """
        self._is_stopping = True
        if self._tasks:
            _, left = await asyncio.wait(set(self._tasks), timeout=STOP_S_MAX)
            for task in left:
                log.warning("answer does not end, and is left")
                task.cancel()

    async def _answer(self, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        try:
            query = self._stores.book.query(answer.query)
            seq, left_out = await loop.run_in_executor(self._workers, self._finish, query, answer)
        except HeadwaterError as error:
            log.warning("answer failed", query=answer.query, error=str(error))
            self._told(answer, str(error), {})
            if isinstance(error, SegmentDamaged):
                self._damaged(answer.query)
        except Exception as error:  # Spark's errors are not ours; the root tries again later
            log.warning("answer failed", query=answer.query, error=repr(error)[:2000])
            self._told(answer, f"{type(error).__name__}: {error}"[:2000], {})
        else:
            self._told(answer, None, left_out)
            if await self._is_shown(query):
                self._published(query, seq)

    async def _is_shown(self, query: Query) -> bool:
        """Wait until readers see it: it is published, whatever the disk says to the last rename.

        False: this agent ends before. The next one shows it when it begins.
        """
        stream, loop = query.id.name, asyncio.get_running_loop()
        writer = self._writers[stream]
        finish = partial(self._stores.ledger.finish_results, stream, writer)
        while writer.trouble and not self._is_stopping:
            log.warning("answer is hidden", query=str(query.id), error=writer.trouble)
            await asyncio.sleep(SHOW_RETRY_S)
            with contextlib.suppress(StoreError):
                await loop.run_in_executor(self._workers, finish)
        return not writer.trouble

    def _finish(self, query: Query, answer: Answer) -> tuple[int, LeftOuts]:
        """In a worker thread."""
        windows = self._windows(query, answer)
        try:
            finished = self._finished.of(query, windows, self._small_groups(query, answer))
        except PaneIsLarge:
            with self._spark.handover.folder() as folder:
                large = self._large.finish(query, answer, folder)
                return self._publish(query, answer, large)
        return self._publish(query, answer, finished)

    def _windows(self, query: Query, answer: Answer) -> dict[int, Stamps]:
        """By which panes the windows that have rows are made of."""
        found = {
            request.window: self._windows_of.stamps(
                query, request.window, kept_through=answer.kept_through, pieces=request.pieces
            )
            for request in answer.requests
            if request.panes
        }
        return {window: stamps for window, stamps in found.items() if stamps}

    def _small_groups(self, query: Query, answer: Answer) -> Callable[[int, Stamps], Groups]:
        """Groups of windows that all go through memory, which raise ``PaneIsLarge`` beyond."""
        bytes_left = QUICK_BYTES_MAX
        pieces = {request.window: request.pieces for request in answer.requests}

        def of(window: int, stamps: Stamps) -> Groups:
            nonlocal bytes_left
            groups = self._windows_of.of(
                query, window, stamps, kept_through=answer.kept_through, pieces=pieces[window]
            )
            bytes_left -= unfolded_bytes(query, groups.merged)
            if bytes_left < 0:
                raise PaneIsLarge(f"{query.id}: its answer is over {QUICK_BYTES_MAX} bytes")
            return groups

        return of

    def _publish(
        self, query: Query, answer: Answer, made: Finished | FinishedFiles
    ) -> tuple[int, LeftOuts]:
        rows: Mapping[int, pa.Table | RowPieces] = made.rows
        left_out, estimates = made.left_out, made.estimates
        if left_out:
            hidden = determined_names(query)
            left_out = {window: one.without_keys(hidden) for window, one in left_out.items()}
        answered = [
            WindowAnswered(
                request.window,
                request.revision,
                answer.kept_through,
                with_uncertain(
                    request.envelope.without(left_out.get(request.window, LeftOut())).estimating(
                        estimates.get(request.window, ())
                    ),
                    rows.get(request.window),
                ),
            )
            for request in answer.requests
        ]
        writer = self._writers[query.id.name]
        return self._stores.ledger.publish(query, answered, rows, writer), left_out


class Known(NamedTuple):
    """What was made of panes with these stamps."""

    stamps: Stamps
    rows: pa.Table | None
    left_out: LeftOut | None
    estimates: tuple[Estimate, ...] = ()

    @property
    def bytes(self) -> int:
        return STAMP_BYTES * len(self.stamps) + (0 if self.rows is None else self.rows.nbytes)


def _estimates(query: Query, groups: pa.Table) -> tuple[Estimate, ...]:
    """Of one window, whose groups are all here; none: it is no sample."""
    totals = totals_of(query)
    if totals is None:
        return ()
    totals.add(groups)
    return totals.estimates()


class FinishedRows:
    """The root part, run only for windows whose panes have changed.

    A revision often says no more than "exact" became "final". A pane that has not changed has the
    same stamp, so an answer made of panes with the same stamps is made already.
    """

    def __init__(self, groups: GroupFinisher, *, bytes_max: int = FINISHED_BYTES_MAX) -> None:
        self._groups = groups
        self._known: OrderedDict[tuple[str, int], Known] = OrderedDict()
        self._bytes = 0
        self._bytes_max = bytes_max
        self._lock = threading.Lock()

    def of(
        self,
        query: Query,
        windows: Mapping[int, Stamps],
        groups_of: Callable[[int, Stamps], Groups],
    ) -> Finished:
        """The rows of each window that has any, and the groups that were left out. ``groups_of``
        gives what panes with such stamps merge to; whatever it raises is raised here."""
        with self._lock:
            found = {window: self._known.get((str(query.id), window)) for window in windows}
        known = {w: one for w, one in found.items() if one and one.stamps == windows[w]}
        fresh = {window: stamps for window, stamps in windows.items() if window not in known}
        groups = {window: groups_of(window, stamps) for window, stamps in fresh.items()}
        # A window may have panes and no groups: sessions end in another one.
        filled = {
            w: one for w, one in groups.items() if one.merged.num_rows or one.overflowing_count
        }
        made = self._groups.finish(query, filled) if filled else Finished()
        made = msgspec.structs.replace(made, rows=self._taken_over(query, made.rows))
        kept: dict[int, Known] = {}
        with self._lock:
            for window, stamps in fresh.items():
                rows, left = made.rows.get(window), made.left_out.get(window)
                is_level = query.stands_for is not None
                totals = _estimates(query, groups[window].merged) if is_level else ()
                one = Known(stamps, rows, left, totals)
                kept[window] = one
                self._keep((str(query.id), window), one)
        rows = {window: one.rows for window, one in known.items() if one.rows is not None}
        left_out = {w: one.left_out for w, one in known.items() if one.left_out is not None}
        estimates = {w: one.estimates for w, one in (known | kept).items() if one.estimates}
        return Finished({**made.rows, **rows}, {**made.left_out, **left_out}, estimates)

    def _taken_over(self, query: Query, made: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        """*Rounding is no change*: doubles as the former revision has them, while it is known."""
        with self._lock:
            known = {window: self._known.get((str(query.id), window)) for window in made}
        former = {window: one.rows for window, one in known.items() if one is not None}
        return {
            window: rows if (old := former.get(window)) is None else taken_over(old, rows)
            for window, rows in made.items()
        }

    def _keep(self, key: tuple[str, int], one: Known) -> None:
        """The oldest leave when the bytes run out."""
        former = self._known.pop(key, None)
        self._known[key] = one
        self._bytes += one.bytes - (0 if former is None else former.bytes)
        while self._bytes > self._bytes_max or len(self._known) > FINISHED_MAX:
            self._bytes -= self._known.popitem(last=False)[1].bytes
