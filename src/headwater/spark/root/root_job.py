"""One job of the root on Spark: on a lease, in time, and with a sentence when it fails.

Spark has no time limit of its own. A job that takes too long is cancelled by its tag; should the
JVM not even do that, it is ended, since all other answers wait for it, too.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

from headwater.errors import SparkFailed
from headwater.plan.over_limit import OVER_LIMIT
from headwater.spark.end_jobs import end_jobs
from headwater.spark.jvm.lease import ROOT_PART, AnyLease, Spark, Work

JOB_S_MAX = 600.0
"""An answer is some thousand rows and takes a second; under overload minutes. Beyond that nothing
comes of it, and the query's next answers wait behind it."""
CANCEL_S_MAX = 60.0
"""How long a cancelled job may take to end before the JVM counts as stuck."""

_numbers = itertools.count(1)


@contextlib.contextmanager
def root_job(spark: Spark, query_id: str, *, job_s_max: float) -> Iterator[AnyLease]:
    """Raises ``SparkFailed`` for a job that took too long, or whose JVM ended under it."""
    lease = spark.lease()
    tag = f"headwater-root-{next(_numbers)}"
    limit = JobLimit(lease, tag, job_s_max)
    context = lease.session.sparkContext
    try:
        with lease.at_work(Work(ROOT_PART, (query_id,))), limit:
            context.addJobTag(tag)
            context.setInterruptOnCancel(True)
            try:
                yield lease
            finally:
                with contextlib.suppress(Exception):  # the JVM may be gone
                    context.removeJobTag(tag)
    except Exception as error:
        if limit.is_passed:
            raise SparkFailed(
                f"{OVER_LIMIT}query {query_id}: root part: it did not end within {job_s_max:g} s "
                "and was cancelled (spark.answer_s_max is the limit)"
            ) from error
        why = None if isinstance(error, SparkFailed) else lease.why_over()
        if why is not None:
            raise SparkFailed(f"query {query_id}: root part: {why}") from error
        raise
    finally:
        lease.end()


class JobLimit:
    """While it is open, a clock runs: at its end the job is cancelled, later the JVM ended."""

    def __init__(self, lease: AnyLease, tag: str, job_s_max: float) -> None:
        self._lease = lease
        self._tag = tag
        self._job_s_max = job_s_max
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="root-limit", daemon=True)
        self.is_passed = False

    def __enter__(self) -> JobLimit:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()

    def _run(self) -> None:
        if self._is_done.wait(self._job_s_max):
            return
        self.is_passed = True
        cancel = threading.Thread(target=self._cancel, name="root-cancel", daemon=True)
        cancel.start()
        if not self._is_done.wait(CANCEL_S_MAX):
            self._lease.condemn(self._job_s_max + CANCEL_S_MAX)

    def _cancel(self) -> None:
        end_jobs(self._is_done, self._lease.session.sparkContext, self._tag)
