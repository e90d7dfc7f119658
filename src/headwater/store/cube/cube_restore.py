"""What the cube has of one query, in the shape that an edge takes up."""

from __future__ import annotations

import msgspec

from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.sets import ranges
from headwater.edge.record import PaneKept, QueryKept, Withheld
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.cube_schema import OWED
from headwater.store.manifest import Manifest, Row

Key = tuple[int | None, int]
"""A query's number and the first pane that is wanted of it."""
_remainders = msgspec.msgpack.Decoder(Remainders).decode


def kept_of(manifest: Manifest, queries: CubeQueries, query: str) -> QueryKept:
    number = queries.number(query)
    record = queries.record(query)
    key = (number, record.done_through)
    waiting: dict[int, int] = dict(
        manifest.all(
            "SELECT pane, sum(rows) FROM parts WHERE query = ? AND pane >= ? GROUP BY pane", key
        )
    )
    unsent: dict[int, list[int]] = {}
    for pane, update in manifest.all(
        "SELECT pane, number FROM updates WHERE query = ? AND pane >= ? AND is_sent = 0", key
    ):
        unsent.setdefault(pane, []).append(update)
    rows = manifest.all(
        "SELECT pane, updates, is_acked, row_bytes, written_s FROM panes "
        "WHERE query = ? AND pane >= ? ORDER BY pane",
        key,
    )
    withheld = _withheld(manifest, key)
    owing = _owing(manifest, key)
    same = _same(manifest, key) if queries.last_rows_of(query) is not None else set()
    panes = (
        _pane(
            row,
            unsent.get(row[0], []),
            waiting.get(row[0], 0),
            withheld.get(row[0]),
            owes_rest=row[0] in owing,
            is_same=row[0] in same,
        )
        for row in rows
    )
    kept = tuple(pane for pane in panes if _is_worth_keeping(pane))
    return QueryKept(query, record, kept, queries.failures(query))


def _same(manifest: Manifest, key: Key) -> set[int]:
    """Of a state query: panes whose updates are those of the pane before, each in its place."""
    found = manifest.all(
        "SELECT one.pane FROM updates AS one JOIN panes USING (query, pane) JOIN updates AS former "
        "ON former.query = one.query AND former.pane = one.pane - 1 AND former.number = one.number "
        "AND former.segment = one.segment AND former.first_row = one.first_row "
        "WHERE one.query = ? AND one.pane >= ? GROUP BY one.pane "
        "HAVING count(*) = max(panes.updates)",
        key,
    )
    return {pane for (pane,) in found}


def _withheld(manifest: Manifest, key: Key) -> dict[int, Withheld]:
    """By pane: the last update of its close, and what was said with it."""
    rows = manifest.all(
        "SELECT pane, number, withheld FROM updates "
        "WHERE query = ? AND pane >= ? AND withheld IS NOT NULL",
        key,
    )
    return {pane: (number, _remainders(said)) for pane, number, said in rows}


def _owing(manifest: Manifest, key: Key) -> set[int]:
    rows = manifest.all(
        f"SELECT pane FROM updates WHERE query = ? AND pane >= ? AND number = {OWED}", key
    )
    return {pane for (pane,) in rows}


def _pane(
    row: Row,
    unsent: list[int],
    waiting_rows: int,
    withheld: Withheld | None,
    *,
    owes_rest: bool,
    is_same: bool,
) -> PaneKept:
    """Updates whose rows retention took were sent once: only what is marked otherwise was not."""
    pane, updates, is_acked, row_bytes, written_s = row
    sent = ranges.difference(((1, updates),), tuple((n, n) for n in unsent)) if updates else ()
    return PaneKept(
        pane,
        updates,
        sent,
        bool(is_acked),
        waiting_rows,
        row_bytes,
        written_s,
        is_same,
        withheld=withheld,
        owes_rest=owes_rest,
    )


def _is_worth_keeping(pane: PaneKept) -> bool:
    return pane.updates > 0 or pane.waiting_rows > 0
