"""A compiled query as a question: the agent makes one, and whoever signs it makes the same."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.sql.admit.needs import with_needs


def asking(query: Query, ask: Ask) -> Query:
    """Raises ``ConfigurationError`` for one that can't be a question."""
    try:
        return with_needs(msgspec.structs.replace(query, ask=ask))
    except ValueError as error:
        raise ConfigurationError(f"ask: {error}") from error
