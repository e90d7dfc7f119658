"""The jobs of queries in a batch: each has its time, and can be ended.

One query whose pattern takes an hour would hold up every query of its source. So each job has a
tag of its own, by which Spark cancels it: when its time is over, or when its query is removed. What
is cancelled fails for that query alone, with a sentence. Where Python workers read the lines, it
may be they who hang: then no query fails, and the JVM reads the batch, with as much time again.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.plan.over_limit import OVER_LIMIT
from headwater.spark.end_jobs import end_jobs
from headwater.spark.workers.worker_trouble import WorkersFailed

JOB_S_MAX = 300.0
"""A batch takes seconds, and under overload a minute; what is cancelled is not read again."""
REMOVED = "it was removed"

_numbers = itertools.count(1)


class JobCancelled(PySparkException):  # type: ignore[misc]
    """Like any other failure of a query, but nobody tries it again for each site alone."""


class SiteJobs:
    """Safe to use from several threads; each runs one job at a time."""

    def __init__(self, session: SparkSession, *, job_s_max: float = JOB_S_MAX) -> None:
        self._session = session
        self._job_s_max = job_s_max
        self._running: set[_Job] = set()
        self._removed: set[str] = set()
        """In this batch."""
        self._is_by_workers = False

    def begin(self) -> None:
        """A batch begins; a query that was removed before it may be here again."""
        self._removed.clear()

    @contextlib.contextmanager
    def by_workers(self) -> Iterator[None]:
        """While it lasts, jobs over their time raise ``WorkersFailed``."""
        self._is_by_workers = True
        try:
            yield
        finally:
            self._is_by_workers = False

    @contextlib.contextmanager
    def limit(self, *query_ids: str) -> Iterator[None]:
        """Around all that one query, or several in one job, ask of Spark. Raises
        ``JobCancelled``."""
        if self._removed.intersection(query_ids):
            raise JobCancelled(REMOVED)
        job = _Job(self._session.sparkContext, frozenset(query_ids))
        self._running.add(job)
        timer = threading.Timer(self._job_s_max, job.cancel, [self._too_long()])
        timer.daemon = True
        timer.start()
        try:
            with job.tagged():
                yield
        except Exception as error:
            if job.why and job.why != REMOVED and self._is_by_workers:
                raise WorkersFailed(f"did not end within {self._job_s_max:g} s") from error
            if job.why:
                raise JobCancelled(job.why) from error
            raise
        finally:
            self._running.discard(job)
            timer.cancel()
            job.is_done.set()

    def cancel(self, query_id: str) -> None:
        """The query is removed: nobody waits for what it is doing, and in this
        batch it begins nothing more."""
        self._removed.add(query_id)
        for job in list(self._running):
            if query_id in job.query_ids:
                threading.Thread(target=job.cancel, args=[REMOVED], daemon=True).start()

    def at_work(self) -> set[str]:
        return {one for job in list(self._running) for one in job.query_ids}

    def _too_long(self) -> str:
        return (
            f"{OVER_LIMIT}it did not end within {self._job_s_max:g} s and was cancelled "
            "(spark.query_batch_s_max is the limit)"
        )


class _Job:
    def __init__(self, context: SparkContext, query_ids: frozenset[str]) -> None:
        self._context = context
        self._tag = f"headwater-site-{next(_numbers)}"
        self.query_ids = query_ids
        self.is_done = threading.Event()
        self.why = ""
        """Why it was cancelled; empty: it was not."""

    @contextlib.contextmanager
    def tagged(self) -> Iterator[None]:
        """Jobs of this thread have the tag."""
        self._context.addJobTag(self._tag)
        self._context.setInterruptOnCancel(True)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # the JVM may be gone
                self._context.removeJobTag(self._tag)

    def cancel(self, why: str) -> None:
        self.why = self.why or why
        end_jobs(self.is_done, self._context, self._tag)
