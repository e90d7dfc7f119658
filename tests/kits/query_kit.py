"""Queries for tests: of a text, or one with other fields, of its own or of its program."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.compile import compile_statements


def queries_in(text: str, *, at: str = "a", **how: Any) -> list[Query]:
    """As somebody at this site installs them first, who is their root."""
    return compile_statements(text, root=at, installer=at, next_counter=1, **how)


def changed(query: Query, **changes: Any) -> Query:
    return msgspec.structs.replace(FlatQuery.of(query), **changes).query()
