"""What a batch gave, with ``site()``, ``region()`` and labels filled in by the site itself."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.algebra.rows.places import FilledPieces, PlaceColumn, with_places
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.reading.outcome import QueryResult, SiteOutcome


def fill_places(outcome: SiteOutcome, site: Site, query_of: Callable[[str], Query]) -> SiteOutcome:
    """Before anything of it is durable: so what leaves the site says where it is from."""
    by_result = [(one, query_of(one.query).program.place_columns) for one in outcome.results]
    if not any(columns for _, columns in by_result):  # nearly always
        return outcome
    filled = tuple(_filled(result, columns, site) for result, columns in by_result)
    return msgspec.structs.replace(outcome, results=filled)


def _filled(result: QueryResult, columns: tuple[PlaceColumn, ...], site: Site) -> QueryResult:
    if not columns:
        return result
    here = {column.what: site.place(column.what) for column in columns}
    table, pieces = result.table, result.pieces
    return msgspec.structs.replace(
        result,
        table=None if table is None else with_places(table, columns, here),
        pieces=None if pieces is None else FilledPieces(pieces, columns, here),
    )
