"""What the cube has of one query, in the shape that an edge takes up."""

from __future__ import annotations

from headwater.algebra.sets import ranges
from headwater.edge.record import PaneKept, QueryKept
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.manifest import Manifest, Row


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
    panes = (_pane(row, unsent.get(row[0], []), waiting.get(row[0], 0)) for row in rows)
    kept = tuple(pane for pane in panes if _is_worth_keeping(pane))
    return QueryKept(query, record, kept, queries.failures(query))


def _pane(row: Row, unsent: list[int], waiting_rows: int) -> PaneKept:
    """Updates whose rows retention took were sent once: only what is marked otherwise was not."""
    pane, updates, is_acked, row_bytes, written_s = row
    sent = ranges.difference(((1, updates),), tuple((n, n) for n in unsent)) if updates else ()
    return PaneKept(pane, updates, sent, bool(is_acked), waiting_rows, row_bytes, written_s)


def _is_worth_keeping(pane: PaneKept) -> bool:
    return pane.updates > 0 or pane.waiting_rows > 0
