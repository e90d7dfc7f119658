"""Spark's errors in one line, for people: the reason without the plan and the stack."""

from __future__ import annotations

MESSAGE_CHARACTERS = 500


def message_of(error: Exception) -> str:
    """The first line that says something; Spark's message comes before everything else.

    >>> message_of(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n== SQL =="))
    '[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:MESSAGE_CHARACTERS]
