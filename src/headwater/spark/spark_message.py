"""Spark's errors: which there are, and each in one line for people, without plan and stack."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""What a job may raise. PySpark wraps the errors that it knows; a file that can't be read, say,
arrives as it left the JVM. That the JVM itself is gone is neither."""

MESSAGE_CHARACTERS = 500
CAUSE = "Caused by: "


def message_of(error: BaseException) -> str:
    """The line that says why. Spark's own message comes first; from the JVM the last cause counts.

    >>> message_of(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n== SQL =="))
    '[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, Py4JJavaError):
        causes = [line[len(CAUSE) :] for line in lines if line.startswith(CAUSE)]
        lines = causes[-1:] or [line.lstrip(": ") for line in lines[1:2]]
    return (lines[0] if lines else type(error).__name__)[:MESSAGE_CHARACTERS]
