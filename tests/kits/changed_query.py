"""A query with other fields, of its own or of its program."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query


def changed(query: Query, **changes: Any) -> Query:
    return msgspec.structs.replace(FlatQuery.of(query), **changes).query()
