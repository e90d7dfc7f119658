"""A tick of the outbox beside Arrow's merge of the same rows.

``python -m benchmarks.outbox``. A pane has 300,000 keys with something unsent; a batch of 10,000
new ones comes and the link takes what it has room for. Measured with room for 1 % of the keys,
where the pick decides, and with idle room, where it looks at all keys; with ``gain``, beside
which ``lru`` plays along, as in use. Then Arrow merges the same 310,000 rows as a relay would.
Medians of CPU seconds, in turns; wanted: at most twice as long.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.withholding import Added
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Measure

KEYS, NEW = 300_000, 10_000
PASSES = 9
BOUND = 4.0
"""Some 20 % of the keys are above it."""
RATIO_MAX = 2.0
ROOMS = {"room for 1 % of the keys": (KEYS + NEW) // 100, "idle room": KEYS + NEW}


class Layout:
    """Of the rows: what a merger wants to know of a query."""

    keys = (Column("key", "bigint"),)
    partials = (Partial("sum", "double", "sum"),)


def a_pane(chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    keys = chance.permutation(KEYS + NEW).astype(np.uint64)
    return keys, chance.pareto(1.2, KEYS + NEW) + 0.5


def tick(keys: np.ndarray, values: np.ndarray, past: KeyPast, room: int) -> float:
    """CPU seconds of adding what is new and taking what fits."""
    config = EarlyConfig()
    measure = Measure(Added(), ErrorBound(ErrorForm.ABSOLUTE, BOUND), share=BOUND)
    chance = np.random.default_rng(1)
    book = KeyBook([measure], past, config, start_s=0.0, pane_s=10.0, chance=chance)
    for n, part in enumerate(np.array_split(np.arange(KEYS), 4)):
        now_s = 1.0 + n
        records = np.ones(len(part))
        book.add(keys[part], values[None, part], records=records, row_bytes=1, now_s=now_s)
    start_s = time.process_time()
    book.add(keys[KEYS:], values[None, KEYS:], records=np.ones(NEW), row_bytes=1, now_s=5.0)
    taken = book.take(room, now_s=5.0)
    spent_s = time.process_time() - start_s
    assert 0 < len(taken) <= room
    return spent_s


def a_past(keys: np.ndarray, values: np.ndarray) -> KeyPast:
    """Half of the keys were there in the last pane."""
    config = EarlyConfig()
    past = KeyPast(config, column_count=1)
    measure = Measure(Added(), ErrorBound(ErrorForm.ABSOLUTE, BOUND), share=BOUND)
    chance = np.random.default_rng(1)
    book = KeyBook([measure], past, config, start_s=0.0, pane_s=10.0, chance=chance)
    book.add(keys[::2], values[None, ::2], records=np.ones(len(keys[::2])), row_bytes=1, now_s=1.0)
    book.close()
    book.end()
    return past


def merge(merger: ArrowMerger, old: pa.Table, new: pa.Table) -> float:
    start_s = time.process_time()
    assert merger.merge([old, new]).num_rows == KEYS + NEW
    return time.process_time() - start_s


def main() -> int:
    keys, values = a_pane(np.random.default_rng(1))
    past = a_past(keys, values)
    merger = ArrowMerger(Layout())
    rows = pa.Table.from_arrays([pa.array(keys.astype(np.int64)), pa.array(values)], ["key", "sum"])
    rows = rows.cast(merger.schema)
    old, new = rows.slice(0, KEYS), rows.slice(KEYS)
    worst = 0.0
    print(f"{'':26}  {'tick, ms':>9} {'merge, ms':>9} {'ratio':>6}")
    for name, room in ROOMS.items():
        pairs = [(tick(keys, values, past, room), merge(merger, old, new)) for _ in range(PASSES)]
        ticks, merges = (median(column) for column in zip(*pairs, strict=True))
        worst = max(worst, ticks / merges)
        print(f"{name:26}  {ticks * 1e3:>9.0f} {merges * 1e3:>9.0f} {ticks / merges:>6.2f}")
    print(f"wanted: at most {RATIO_MAX:g}; {'kept' if worst <= RATIO_MAX else 'MISSED'}")
    return 0


if __name__ == "__main__":
    main()
