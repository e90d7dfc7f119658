"""Kill -9 at any point: what was acknowledged is there, nothing is torn, numbers are exact."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import crash_worker
import pytest
from crash_worker import LINES_PER_PANE, RECORD, follower_of, open_cube, open_ledger
from store_kit import QUERY, SOURCE, gave, query_of

from headwater.edge.outputs import MakeUpdates
from headwater.reading.outcome import Batch
from headwater.store.cube.cube import Cube
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.results.results import ResultsReader, ResultsWriter

KILLS = 26
SEED = 20_261_115


class Nursery:
    """Starts workers quickly: a process that has done the imports, and forks."""

    def __init__(self) -> None:
        script = Path(crash_worker.__file__)
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(script.parent), *sys.path])},
        )

    def run_and_kill(self, directory: Path, *, after_acks: int, extra_s: float) -> None:
        """Kill a worker once it has acknowledged so much, and then some time later."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{directory}\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        acked = directory / "acked"
        start = acked.stat().st_size if acked.exists() else 0
        give_up_s = time.monotonic() + 60
        while not acked.exists() or acked.stat().st_size < start + after_acks:
            assert time.monotonic() < give_up_s, "the worker acknowledges nothing"
            assert not select.select([self._process.stdout], [], [], 0.001)[0], "the worker ended"
        time.sleep(extra_s)
        os.kill(pid, signal.SIGKILL)
        assert self._process.stdout.readline() == "killed\n"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    one = Nursery()
    yield one
    one.close()


def acked_of(directory: Path) -> dict[str, list[tuple[int, ...]]]:
    found: dict[str, list[tuple[int, ...]]] = {"line": [], "update": [], "kept": [], "answered": []}
    for line in (directory / "acked").read_text().splitlines():
        kind, *numbers = line.split()
        found[kind].append(tuple(map(int, numbers)))
    return found


def read_to_the_end(cube: Cube, directory: Path) -> None:
    """What a healthy process does next: read all that is there, and cut it."""
    follower = follower_of(cube, directory)
    assert follower.poll(now_s=1e9).is_clean
    follower.close()
    epoch = cube.cuts.begin_epoch(SOURCE)
    chunks = cube.cuts.pending(SOURCE, bytes_max=1 << 30, count_max=1 << 30)
    lines = [int(text) for chunk in chunks for text in chunk.path.read_bytes().split()]
    if lines:
        cube.commit_batch(
            Batch(SOURCE, epoch, 0, chunks[-1].cut),
            gave(*((n // LINES_PER_PANE, str(n), 1) for n in lines)),
        )
    waiting = tuple(pane.pane for pane in cube.restore()[0].panes if pane.waiting_rows)
    cube.write([MakeUpdates(QUERY, waiting, RECORD, True)])


def check_cube(cube: Cube, directory: Path) -> None:
    acked = acked_of(directory)
    counted: Counter[int] = Counter()
    updates = {}
    for pane in cube.restore()[0].panes:
        updates[pane.pane] = pane.updates
        for number in range(1, pane.updates + 1):
            table = cube.rows(QUERY, pane.pane, ((number, number),))
            for page, n in zip(table["page"].to_pylist(), table["n"].to_pylist(), strict=True):
                counted[int(page)] += n
                assert int(page) // LINES_PER_PANE == pane.pane
    written = sum(path.read_bytes().count(b"\n") for path in (directory / "logs").iterdir())
    assert counted == Counter(range(1, written + 1)), "each line once, and no other"
    assert all(line in counted for (line,) in acked["line"])
    assert all(updates[pane] >= number for pane, number in acked["update"])


def check_root(ledger: RootLedger, directory: Path) -> None:
    acked = acked_of(directory)
    query = query_of()
    kept = ledger.restore(str(query.id))
    numbers = [one.number for one in kept.summaries]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= max((n for (n,) in acked["kept"]), default=0)
    for pane in {one.pane for one in kept.summaries}:
        rows = ledger.rows.pane_rows(str(query.id), pane, kept_through=numbers[-1])
        assert rows is not None
        assert {int(page) // 5 for page in rows["page"].to_pylist()} == {pane}
    ledger.finish_results("hits", ResultsWriter(directory / "results" / "hits"))
    reader = ResultsReader(directory / "results" / "hits")
    windows = [e.window for seq in reader.publications() for e in reader.envelopes(seq)]
    assert windows == list(range(1, len(windows) + 1)), "each window once, in order"
    assert windows == [answer.window for answer in kept.answers]
    assert len(windows) >= max((n for (n,) in acked["answered"]), default=0)
    newest_seq, newest = reader.newest()[-1]
    answer = reader.answer(newest_seq, newest)
    assert answer is not None
    assert answer["n"].to_pylist() == [newest.window]


def test_kill_9_at_random_points_loses_nothing_tears_nothing_and_counts_nothing_twice(
    nursery: Nursery, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    for kill in range(KILLS):
        nursery.run_and_kill(
            tmp_path, after_acks=chance.randint(1, 200), extra_s=chance.uniform(0, 0.01)
        )
        cube, ledger = open_cube(tmp_path), open_ledger(tmp_path)
        try:
            check_root(ledger, tmp_path)
            if kill % 5 == 4:
                read_to_the_end(cube, tmp_path)
                check_cube(cube, tmp_path)
        finally:
            cube.close()
            ledger.close()
