"""Spark's errors: which there are, and each in one line for people, without plan and stack."""

from __future__ import annotations

import logging
import re

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    PySparkException,
)

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""What a job may raise. PySpark wraps the errors that it knows; a file that can't be read, say,
arrives as it left the JVM. That the JVM itself is gone is neither."""

# PySpark prints errors that have a place in the SQL to standard error, with the JVM's stack. Ours
# are raised to somebody who tells them, and those of a group are no trouble of the agent at all.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)

MESSAGE_CHARACTERS = 500
CAUSE = "Caused by: "
PART_CHARACTERS = 200
TEXT_STAYS = "the words are in the site's log"
CONDITION = re.compile(r"^(?:[\w.$]+: )?\[([A-Z][A-Z0-9_.]*)\]")
"""Spark's name of an error, at the beginning or behind the class of the JVM's."""
SQLSTATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
JAVA_CLASS = re.compile(r"[a-z][\w.$]*")

DATA_EXCEPTION = "22"
"""The class of SQLSTATEs that speak of a value: division by zero, overflow, an invalid cast."""
VALUE_CONDITIONS = ("[INCONSISTENT_BEHAVIOR_CROSS_VERSION.", "[COLLECTION_SIZE_LIMIT_EXCEEDED")
"""Of a value as well (a pattern of a date, a length), under SQLSTATEs of another class."""
VALUE_EXCEPTIONS = (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
)
VALUE_CAUSES = (
    "java.lang.ArithmeticException",
    "java.lang.NumberFormatException",
    "java.lang.StringIndexOutOfBoundsException",
    "java.lang.ArrayIndexOutOfBoundsException",
    "java.time.",
    "java.util.IllegalFormat",
    "java.util.MissingFormat",
    "java.util.UnknownFormat",
)
"""What functions of Java that Spark calls raise by themselves, without a SQLSTATE."""


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


def reduced(error: BaseException) -> str:
    """What may leave the site: the class of the error and the part of the statement. The words
    themselves may hold values of records, and stay in the site's log.

    >>> reduced(ValueError("[CAST_INVALID_INPUT] The value 'Ada' … SQLSTATE: 22018"))
    "[CAST_INVALID_INPUT] SQLSTATE: 22018; the words are in the site's log"
    """
    text = message_of(error)
    condition, state = CONDITION.search(text), SQLSTATE.search(str(error))
    name = f"[{condition[1]}]" if condition is not None else _class_of(error, text)
    part = _part_of_the_statement(error)
    where = f" in {part[:PART_CHARACTERS]}" if part else ""
    return f"{name}{where}{f' SQLSTATE: {state[1]}' if state else ''}; {TEXT_STAYS}"


def _class_of(error: BaseException, text: str) -> str:
    """From the JVM its own class, which stands before the first colon; else ours."""
    found = JAVA_CLASS.match(text) if isinstance(error, Py4JJavaError) else None
    return type(error).__name__ if found is None else found[0]


def _part_of_the_statement(error: BaseException) -> str:
    """Where Spark says; it asks the JVM, which may be gone."""
    if not isinstance(error, PySparkException):
        return ""
    try:
        fragments = [context.fragment() for context in error.getQueryContext() or ()]
    except Exception:
        return ""
    return next((part for part in fragments if part), "")


def is_of_a_value(error: BaseException) -> bool:
    """Whether Spark refused a value, so that the rows without it may well be computed.

    Everything else is no matter of rows: a plan that is wrong, a JVM that is gone, no memory, a
    job that was cancelled.

    >>> is_of_a_value(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"))
    True
    >>> is_of_a_value(ValueError("[UNABLE_TO_ACQUIRE_MEMORY] … SQLSTATE: 53200"))
    False
    """
    text = str(error)
    state = SQLSTATE.search(text)
    if state is not None:
        is_condition = any(condition in text for condition in VALUE_CONDITIONS)
        return state[1].startswith(DATA_EXCEPTION) or is_condition
    if isinstance(error, Py4JJavaError):
        return message_of(error).startswith(VALUE_CAUSES)
    return isinstance(error, VALUE_EXCEPTIONS)
