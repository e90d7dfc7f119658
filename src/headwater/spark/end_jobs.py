"""Ending what Spark does under a tag: again and again, since one job may follow the other and
cancelling hits those that run."""

from __future__ import annotations

import contextlib
import threading

from pyspark import SparkContext

CANCEL_EVERY_S = 1.0


def end_jobs(is_done: threading.Event, context: SparkContext, tag: str) -> None:
    while not is_done.is_set():
        with contextlib.suppress(Exception):  # a JVM that is gone has cancelled it
            context.cancelJobsWithTag(tag)
        is_done.wait(CANCEL_EVERY_S)
