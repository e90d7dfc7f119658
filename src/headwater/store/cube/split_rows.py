"""Cutting the rows of a pane into updates, none of which is larger than one may be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.early_rows import EarlyRows, Floats
from headwater.algebra.summary import Merger
from headwater.edge.outputs import PIECES_MAX


def split_rows(rows: pa.Table, merger: Merger, bytes_max: int) -> list[tuple[pa.Table, int]]:
    """In halves until each fits, with their sizes; a single row is let through whatever its own."""
    size_bytes = merger.size_bytes(rows)
    if rows.num_rows <= 1 or size_bytes <= bytes_max:
        return [(rows, size_bytes)]
    half = rows.num_rows // 2
    return split_rows(rows.slice(0, half), merger, bytes_max) + split_rows(
        rows.slice(half), merger, bytes_max
    )


def in_pieces(
    rows: pa.Table, merger: Merger, measured: EarlyRows | None, piece_bytes: int, *, bytes_max: int
) -> list[tuple[pa.Table, int]]:
    """The same of a flush that a deadline may cut off: those rows first that matter most, so that
    what is cut off is the least. ``measured``: None: it leaves as it is."""
    if measured is None or not rows.num_rows:
        return split_rows(rows, merger, bytes_max)
    pieces = min(PIECES_MAX, rows.num_rows, -(-merger.size_bytes(rows) // piece_bytes))
    if pieces > 1:
        rows = rows.take(pa.array(np.argsort(-_weights(rows, measured), kind="stable")))
    count = -(-rows.num_rows // max(1, pieces))
    parts = (rows.slice(first, count) for first in range(0, rows.num_rows, count))
    return [one for part in parts for one in split_rows(part, merger, bytes_max)]


def _weights(rows: pa.Table, early: EarlyRows) -> Floats:
    """By the measure that a row has most of: of all its rows, or of the largest of a maximum."""
    values = np.abs(early.values(rows))
    wholes = [
        value.max() if name in early.largest else value.sum()
        for name, value in zip(early.measures or ("",), values, strict=True)
    ]
    shares = values / np.maximum(np.array(wholes), 1e-300)[:, None]
    return np.asarray(shares.max(axis=0))
