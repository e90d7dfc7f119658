"""Spark's place in the recorded federation: the same rows, counted by Python from the same chunks.

What agents write, and when, is theirs: the real host, streams and commits run. A site can be made
to stand still, as one whose Spark is busy.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import headwater.spark.site.source_stream as stream_module
from headwater.algebra.rows.types import arrow_type, site_schema
from headwater.algebra.windows.sequence_grid import ROW
from headwater.plan.query import Query
from headwater.reading.outcome import QueryResult, SiteOutcome
from headwater.spark.site.inbox import SiteBatch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "kits"))

from log_lines import Record, record_of
from made_spark import MadeLease, MadeOffers

DETERMINED = ("coarser_", "survives_")
"""How keys begin that levels go by, and that are not shown."""
_FLOWS: dict[str, threading.Event] = {}


def stand_still(site: str) -> None:
    _FLOWS.setdefault(site, threading.Event()).clear()


def flow(site: str) -> None:
    _FLOWS.setdefault(site, threading.Event()).set()


@contextlib.contextmanager
def in_sparks_place() -> Iterator[Any]:
    """What a site's host takes for a Spark."""
    real = stream_module.OfferStream, stream_module.BatchRunner
    stream_module.OfferStream = MadeOffers  # type: ignore[misc, assignment]
    stream_module.BatchRunner = CountingRunner  # type: ignore[misc, assignment]
    try:
        yield SimpleNamespace(lease=MadeLease)
    finally:
        stream_module.OfferStream, stream_module.BatchRunner = real  # type: ignore[misc]


class CountingRunner:
    """In place of ``BatchRunner``."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.jobs = self

    def cancel(self, query_id: str) -> None:
        """Its jobs take no time, so there is none to end."""

    def clear(self) -> None:
        """There are no files to remove."""

    def close(self, **_: Any) -> None:
        """There is nothing to end."""

    def run(self, batches: Sequence[SiteBatch]) -> list[SiteOutcome]:
        return [self._of_site(batch) for batch in batches]

    def _of_site(self, batch: SiteBatch) -> SiteOutcome:
        if batch.site in _FLOWS:
            _FLOWS[batch.site].wait()
        texts = [
            text
            for chunk in batch.chunks
            for text in Path(chunk.path).read_bytes().decode().splitlines()
        ]
        found = [record_of(text) for text in texts]
        records = [one for one in found if one is not None]
        return SiteOutcome(
            tuple(_result(query, records, batch) for query in batch.queries),
            len(records),
            len(found) - len(records),
            (),
            max((one.time_us for one in records), default=None),
        )


def _result(query: Query, records: Sequence[Record], batch: SiteBatch) -> QueryResult:
    if not query.holds_states:
        return _rows(query, records)
    return _numbered(query, records, batch.starts.get(str(query.id), 0))


def _numbered(query: Query, records: Sequence[Record], start: int) -> QueryResult:
    """Of a state query each record is a row, with its number."""
    through = start + len(records)
    if not records:
        return QueryResult(str(query.id), counted_through=through)
    rows = [
        (query.window.pane_at(one.time_us), one.domain, 1, number)
        for number, one in enumerate(records, start)
    ]
    schema = site_schema(query.program).append(pa.field(ROW, pa.int64()))
    return QueryResult(str(query.id), _table(sorted(rows), schema), counted_through=through)


def _rows(query: Query, records: Sequence[Record]) -> QueryResult:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for one in records:
        keys = (_key(column.name, one.domain) for column in query.program.keys)
        key = (query.window.pane_at(one.time_us), *keys)
        names = [part.name for part in query.program.partials]
        values = [1 if name.startswith("count") else one.bytes for name in names]
        _merge(query, groups, key, values)
    if not groups:
        return QueryResult(str(query.id))
    schema = site_schema(query.program)
    rows = [(*key, *values) for key, values in sorted(groups.items())]
    return QueryResult(str(query.id), _table(rows, schema))


def _key(name: str, domain: str) -> str | int:
    """By what levels go: the coarser key is a letter, and what is busy survives a halving."""
    coarser, survives = DETERMINED
    if name.startswith(survives):
        return int(domain == "busy")
    return domain[:1] if name.startswith(coarser) else domain


def _merge(query: Query, groups: dict[Any, list[Any]], key: Any, values: list[Any]) -> None:
    known = groups.get(key)
    if known is None:
        groups[key] = values
        return
    for place, part in enumerate(query.program.partials):
        by_max = part.name.startswith("max")
        pair = (known[place], values[place])
        known[place] = max(pair) if by_max else sum(pair)


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    arrays = [
        pa.array([Decimal(v) if pa.types.is_decimal(f.type) else v for v in column], f.type)
        for column, f in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


class AddingRoot:
    """In place of ``RootSpark``: every output column is its partial."""

    def prepare(self, query: Query) -> None:
        """Nothing is compiled here."""

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        return {window: _shown(query, groups) for window, groups in windows.items()}


def _shown(query: Query, groups: pa.Table) -> pa.Table:
    hidden = [one.name for one in query.program.keys if one.name.startswith(DETERMINED)]
    groups, keys = groups.drop_columns(hidden), len(query.program.keys) - len(hidden)
    found = zip(*(column.to_pylist() for column in groups.columns), strict=True)
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in query.program.output])
    rows = [(*row[:keys], *map(int, row[keys:])) for row in sorted(found)]
    return _table(rows, schema)
