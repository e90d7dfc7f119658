"""Which failures of a job are the Python workers': no query and no line is to blame for them.

A worker is killed, or lacks what it imports, or meets what it was not made for. The batch is then
read by the JVM (``worker_lines``), so these failures must not be taken for a query's own.
"""

from __future__ import annotations

import re

from pyspark.errors import PythonException

from headwater.spark.spark_message import MESSAGE_CHARACTERS, message_of

OF_WORKERS = re.compile(r"Python ?[Ww]orker|Python\w*Runner|Cannot run program .*python|PYTHON_")
"""In Spark's words. No query at a site has Python in it, so it is about ours."""

RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Invalid): ")
"""The last line of a trace of Python's."""


class WorkersFailed(Exception):
    """Nothing is wrong with a query or a line: the JVM shall read the batch."""


def raise_if_of_workers(error: Exception) -> None:
    """Raises ``WorkersFailed``.

    >>> raise_if_of_workers(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))
    >>> raise_if_of_workers(ValueError("…: Python worker exited"))
    Traceback (most recent call last):
    headwater.spark.workers.worker_trouble.WorkersFailed: …: Python worker exited
    """
    text = str(error)
    if isinstance(error, PythonException) or OF_WORKERS.search(text):
        raise WorkersFailed(_own_text(text) or message_of(error)) from error


def _own_text(text: str) -> str:
    """What a worker raised, at the end of its trace; else the line that speaks of it."""
    lines = [line for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if RAISED.match(line)]
    told = [line for line in lines if OF_WORKERS.search(line)]
    return (raised[-1:] or told[:1] or [""])[0].strip()[:MESSAGE_CHARACTERS]
