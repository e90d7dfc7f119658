"""The keys of a batch, pane by pane, for whoever chooses those that leave before the close."""

from __future__ import annotations

import numpy as np

from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.edge.report import PaneKeys
from headwater.store.cube.batch_rows import BatchRows


def keys_of(rows: BatchRows, early: EarlyRows) -> tuple[PaneKeys, ...]:
    if not rows.runs or not early.is_asked:
        return ()
    hashes, values = early.hashes(rows.table), early.values(rows.table)
    row_bytes = max(1, rows.table.nbytes // rows.table.num_rows)
    found = []
    for run in rows.runs:
        stretch = slice(run.first_row, run.first_row + run.rows)
        keys, at = np.unique(hashes[stretch], return_inverse=True)
        by_key = early.by_key(values[:, stretch], at, len(keys))
        records = np.bincount(at, minlength=len(keys)).astype(np.float64)
        found.append(PaneKeys(run.pane, keys, by_key, records, row_bytes, early.measures))
    return tuple(found)
