"""A question compiled: the agent makes one, and whoever signs it makes the same."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.durations import duration_text
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.sql.admit.needs import with_needs
from headwater.sql.questions.question_text import Stretch, has_window, question_statement
from headwater.sql.read.streams import EXTENT_TOO_SHORT


def question_query(
    name: str, select: str, of: Stretch, *, sites: str, compiled: Callable[[str], list[Query]]
) -> Query:
    """``compiled`` makes queries of a statement; raises what that does. Windows of its own begin
    on their grid, and the last of them ends before the end: where that is the first pass tells."""
    query = _compiled_first(name, select, of, sites, compiled)
    if not has_window(select) or query.begin_pane is None:
        return query
    first_us = query.window.pane_start_us(query.begin_pane)
    if first_us == of.first_us:
        return query
    if first_us + query.window.range_us > of.end_us:
        raise ConfigurationError(
            f"ask: none of its windows ({query.grid_text}) lies wholly in the time that is asked "
            "about; ask about more, or leave out window(…)"
        )
    inner = msgspec.structs.replace(of, first_us=first_us)
    (query,) = compiled(question_statement(name, select, inner, sites=sites))
    return query


def _compiled_first(
    name: str, select: str, of: Stretch, sites: str, compiled: Callable[[str], list[Query]]
) -> Query:
    """Who asks has written no extent: that is said in the words of a question."""
    try:
        (query,) = compiled(question_statement(name, select, of, sites=sites))
    except QueryRefused as error:
        if EXTENT_TOO_SHORT not in error.said:
            raise
        raise ConfigurationError(
            f"ask: it is about {duration_text(of.end_us - of.first_us)}, less than one of its "
            "windows; ask about more, or leave out window(…)"
        ) from error
    return query


def asking(query: Query, ask: Ask) -> Query:
    """Raises ``ConfigurationError`` for one that can't be a question."""
    try:
        return with_needs(msgspec.structs.replace(query, ask=ask))
    except ValueError as error:
        raise ConfigurationError(f"ask: {error}") from error
