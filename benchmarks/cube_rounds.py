"""Bytes written to the cube with early updates at eight rounds ÷ with the close alone.

``python -m benchmarks cube_rounds``. A pane gets eight batches; at the end of each of the first
seven rounds some of the keys leave early, and the close takes what is left. The same batches are
written without rounds. Bytes are those of the process's write calls (``wchar`` of /proc/self/io):
segments, SQLite's log and its checkpoints. Wanted: at most twice as many.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from headwater.algebra.remainders.early_rows import EarlyRows
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.edge.outputs import MakeEarly, MakeUpdates, Remember
from headwater.edge.record import EdgeRecord
from headwater.reading.outcome import Batch, QueryResult, SiteOutcome
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.input.new_cut import NewCut

QUERY, SOURCE = "hits@home#1", "weblog"
BATCHES, KEYS, ROWS = 8, 50_000, 20_000
"""Rows of a batch, each of another key."""
PANES = 4
SHARES = {"1 % of the keys": 100, "a tenth of the keys": 10, "half of the keys": 2}
"""Of the keys of a batch, one in so many leaves at the end of its round."""
RATIO_MAX = 2.0


class Layout:
    keys = (Column("page", "string"),)
    partials = (Partial("n", "bigint", "sum"),)


MERGER = ArrowMerger(Layout())


def written() -> int:
    """Bytes that this process has handed to write calls."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def batches(pane: int) -> Iterator[pa.Table]:
    chance = np.random.default_rng(pane)
    for _ in range(BATCHES):
        pages = [f"/articles/{key}" for key in np.sort(chance.permutation(KEYS)[:ROWS])]
        counts = pa.array(chance.integers(1, 50, ROWS))
        rows = pa.Table.from_arrays([pa.array(pages), counts], ["page", "n"]).cast(MERGER.schema)
        yield rows.add_column(0, "pane", pa.array(np.full(ROWS, pane)))


def run(one_in: int | None) -> int:
    """Bytes written for some panes; ``one_in``: of the keys of a batch, those that leave early."""
    with tempfile.TemporaryDirectory() as directory:
        cube = Cube.open(
            Path(directory),
            site="paris",
            facts=QueryFacts(
                lambda query: MERGER, early_of=lambda query: EarlyRows(("page",), ("n",))
            ),
            clock=lambda: 1_000.0,
        )
        record = EdgeRecord(first_pane=0)
        cube.write([Remember(QUERY, record)])
        state = cube.cuts.open_source(SOURCE)
        cube.cuts.begin_epoch(SOURCE)
        before, numbers = written(), count(1)
        for pane in range(PANES):
            for n, rows in enumerate(batches(pane), start=1):
                chunk = cube.cuts.spool.write("chunk", [b"x\n"])
                cube.cuts.register(state, [NewCut("f", 0, 2, chunk, 2, 2)], poll_s=1_000.0)
                epoch = cube.cuts.state(SOURCE).epoch
                batch = Batch(SOURCE, epoch, next(numbers), state.last_cut)
                report = cube.commit_batch(batch, SiteOutcome((QueryResult(QUERY, rows),)))
                if one_in is not None and n < BATCHES:
                    (keys,) = report.queries[0].keys
                    chosen = MakeEarly(QUERY, pane, keys.keys[::one_in])
                    assert cube.write([chosen])[0][0].last_update == n
            made = cube.write([MakeUpdates(QUERY, (pane,), record, sent=True)])[0]
            assert made[0].last_update == (1 if one_in is None else BATCHES)
        found = written() - before
        cube.close()
    return found


def main() -> int:
    without = run(None)
    print(f"close alone: {without / 1e6:.1f} MB for {PANES} panes of {BATCHES} batches")
    worst = 0.0
    for name, one_in in SHARES.items():
        ratio = run(one_in) / without
        worst = max(worst, ratio)
        print(f"{name:22} leave in each of {BATCHES - 1} rounds: {ratio:.2f} times as many")
    print(f"wanted: at most {RATIO_MAX:g}; {'kept' if worst <= RATIO_MAX else 'MISSED'}")
    return 0


if __name__ == "__main__":
    main()
