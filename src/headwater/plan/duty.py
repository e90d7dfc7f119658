"""What an agent does for a query; whichever it is, it admits the query first."""

from collections.abc import Callable
from enum import StrEnum

from headwater.plan.query import Query


class Duty(StrEnum):
    READ = "read"
    """Its site runs the site part over records of its own."""
    CARRY = "carry"
    """It merges summaries of others on their way."""
    ANSWER = "answer"
    """It is the root, and runs the root part."""


Admit = Callable[[Query, Duty, str], str | None]
"""An agent's own word on a query of this operator: the reason to refuse it this duty, or None."""


def refusal_of(admit: Admit, query: Query, duty: Duty, operator: str) -> str | None:
    """The reason to refuse, where whatever admission raises is one: it fails closed, and alone."""
    try:
        return admit(query, duty, operator)
    except Exception as error:
        return f"it can't be judged: {type(error).__name__}: {str(error)[:200]}"
