"""Rows of a pane in pieces that each fit into one summary."""

from __future__ import annotations

import pyarrow as pa

from headwater.algebra.summary import Merger


def split_rows(rows: pa.Table, merger: Merger, bytes_max: int) -> list[tuple[pa.Table, int]]:
    """In halves until each fits, with their sizes; a single row is let through whatever its own."""
    size_bytes = merger.size_bytes(rows)
    if rows.num_rows <= 1 or size_bytes <= bytes_max:
        return [(rows, size_bytes)]
    half = rows.num_rows // 2
    return split_rows(rows.slice(0, half), merger, bytes_max) + split_rows(
        rows.slice(half), merger, bytes_max
    )
