"""The queries that an agent knows, by id: what their rows look like and how they merge.

Messages, segments and ledgers name a query by its id alone. Whoever meets an id, the decoder of
the wire or the cube's thread, looks here. Entries are added when a command is accepted and stay
until the process ends, since rows of a removed query may still be about.
"""

from __future__ import annotations

import contextlib

import pyarrow as pa

from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.types import summary_schema
from headwater.errors import StoreError
from headwater.plan.query import Query


class QueryBook:
    """Written by the event loop, read by any thread; entries never change."""

    def __init__(self) -> None:
        self._queries: dict[str, Query] = {}
        self._mergers: dict[str, ArrowMerger] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self.schema = self._schemas.get
        """What rows of a query must look like, by its id; None: not known here."""

    def add(self, query: Query) -> None:
        name = str(query.id)
        self._mergers[name] = ArrowMerger(query.program)
        self._schemas[name] = summary_schema(query.program)
        self._queries[name] = query

    def add_if_sound(self, query: Query) -> None:
        """One whose rows can't be told is left out: nothing will be made of it, and others are not
        held up by it."""
        with contextlib.suppress(Exception):
            self.add(query)

    def query(self, name: str) -> Query:
        found = self._queries.get(name)
        if found is None:
            raise StoreError(f"query {name!r} is not known here")
        return found

    def merger(self, name: str) -> ArrowMerger:
        self.query(name)
        return self._mergers[name]

    def merger_of(self, query: Query) -> ArrowMerger:
        if str(query.id) not in self._mergers:
            self.add(query)
        return self._mergers[str(query.id)]
