"""Merging KLL sketches of whole numbers, one group after the other.

Unlike other states these are not the same however they are divided: each is within the bound.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from headwater.algebra.aggregates.merge_lists import LISTED, Lists, as_they_are
from headwater.algebra.aggregates.merge_rule import Columns, MergeRule, Types
from headwater.algebra.aggregates.sketches.kll_cells import NOTHING, Kll, merged, read, write

SIZES = (200, 400, 800, 1600, 3200)
"""Sketches of unequal size are not merged, so there are few sizes."""


def rank_error(k: int) -> float:
    """With a confidence of 99%, by the library's own measurements."""
    return float(2.296 / k**0.9723)


def cells_fault(types: Types) -> str | None:
    return None if pa.types.is_binary(types[0]) else "wanted a sketch (binary)"


def merge_cells(k: int, grouped: Columns, types: Types) -> Columns:
    lists = Lists(grouped)
    cells = [_read(cell, k) for cell in lists.cells(0).to_pylist()]
    ends = (lists.starts + lists.sizes).tolist()
    found = [
        write(merged(cells[first:end], k), k)
        for first, end in zip(lists.starts.tolist(), ends, strict=True)
    ]
    return [pa.chunked_array([pa.array(found, pa.binary())])]


def take_cells(k: int, columns: Columns, types: Types) -> Columns:
    """Cells that are sound, as they are."""
    for number, cell in enumerate(columns[0].to_pylist()):
        try:
            _read(cell, k)
        except ValueError as error:
            raise ValueError(f"cell {number}: {error}") from error
    return columns


def _read(cell: bytes | None, k: int) -> Kll:
    return NOTHING if cell is None else read(cell, k)


KLLS = {
    k: MergeRule(
        f"kll_bigint_{k}",
        LISTED,
        "",
        cells_fault,
        as_they_are,
        partial(merge_cells, k),
        take=partial(take_cells, k),
        is_drawn=True,
    )
    for k in SIZES
}
