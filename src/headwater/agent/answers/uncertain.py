"""Of an answer that has only the largest rows, and of which sites have kept something back: which
of its rows may not be among the largest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from msgspec import UNSET

from headwater.algebra.rows.row_pieces import RowPieces
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope
from headwater.root.said.withheld import uncertain_rows


def with_uncertain(envelope: Envelope, query: Query, rows: pa.Table | RowPieces | None) -> Envelope:
    """``rows`` are those of the answer; None: it has none."""
    chosen = UNSET if query.tolerates is None else query.tolerates.chosen
    if chosen is UNSET or rows is None or not envelope.withheld:
        return envelope
    pieces = [rows] if isinstance(rows, pa.Table) else rows
    columns = [piece.column(chosen.column).cast(pa.float64()) for piece in pieces]
    values = [np.where(c.is_null(), -np.inf, c.fill_null(0.0)) for c in columns]
    return envelope.unsure(uncertain_rows(chosen, envelope.withheld, np.concatenate(values)))
