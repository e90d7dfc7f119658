"""Of which columns the time of a record is made, where it is computed."""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET
from sqlglot import exp

from headwater.plan.sources.source import Source
from headwater.sql.read.sql_text import parse_expression


def time_inputs(source: Source) -> tuple[str, ...]:
    """The columns that it is computed of; none where it is read."""
    return () if isinstance(source.time_sql, type(UNSET)) else columns_in(source.time_sql)


def converted_time(source: Source) -> str | None:
    """The one column that the time is, in another type; None where there is none such."""
    if isinstance(source.time_sql, type(UNSET)):
        return None
    node = _parsed(source.time_sql)
    return node.name if isinstance(node, exp.Column) else None


def columns_in(sql: str) -> tuple[str, ...]:
    """
    >>> columns_in("TRY_TO_TIMESTAMP(day || ' ' || `at-time`, 'yyyy') ")
    ('at-time', 'day')
    """
    return tuple(sorted({node.name for node in _parsed(sql).find_all(exp.Column)}))


@lru_cache(maxsize=1_000)
def _parsed(sql: str) -> exp.Expr:
    return parse_expression(sql)
