"""Of an answer whose rows were chosen by values that may be off, since sites have kept something
back: which of its rows may not belong in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.withholding import Floats
from headwater.algebra.rows.row_pieces import RowPieces
from headwater.root.said.envelope import Envelope
from headwater.root.said.withheld import uncertain_by, uncertain_rows


def with_uncertain(envelope: Envelope, rows: pa.Table | RowPieces | None) -> Envelope:
    """``rows`` are those of the answer; None: it has none."""
    withheld = envelope.withheld
    if not withheld or (withheld.chosen is None and not withheld.conditions):
        return envelope
    pieces = () if rows is None else [rows] if isinstance(rows, pa.Table) else list(rows)
    conditions = {one.column: _values(pieces, one.column) for one in withheld.conditions}
    largest = None
    if withheld.chosen is not None and pieces:
        largest = uncertain_rows(withheld, _values(pieces, withheld.chosen.column))
    return envelope.unsure(largest, uncertain_by(withheld, conditions))


def _values(pieces: Sequence[pa.Table], column: str) -> Floats:
    """NULL is less than all others."""
    found = [piece.column(column).cast(pa.float64()) for piece in pieces]
    values = [np.where(one.is_null(), -np.inf, one.fill_null(0.0)) for one in found]
    return np.concatenate(values) if values else np.zeros(0)
