"""A site and a root that write as fast as they can until somebody kills them.

Run as a script it reads one directory per line, forks a worker on it (so that the imports are paid
for once), says its pid, and says "ended" when it is gone. The worker appends numbered lines to a
log, follows it, commits batches, cuts updates, keeps summaries and publishes answers, and writes to
``acked`` what it was told is durable: that is what must be there after the kill.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from store_kit import MERGER, QUERY, SOURCE, envelope_of, gave, query_of, rows_of

from headwater.algebra.coverage import Coverage
from headwater.edge.outputs import MakeUpdates, MarkSent, Remember
from headwater.edge.record import EdgeRecord
from headwater.reading.outcome import Batch
from headwater.root.outputs import Keep, KeptSummary, WindowAnswered
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.listing import Glob
from headwater.store.follow.poll import Start
from headwater.store.ledger.root_ledger import RootLedger
from headwater.store.results.results import ResultsWriter

LINES_PER_PANE = 7
BATCHES_MAX = 100_000
RECORD = EdgeRecord(first_pane=0)


def open_cube(directory: Path) -> Cube:
    return Cube.open(directory / "cube", site="paris", facts=QueryFacts(lambda query: MERGER))


def open_ledger(directory: Path) -> RootLedger:
    return RootLedger(directory / "ledger", merger_of=lambda query: MERGER)


def follower_of(cube: Cube, directory: Path) -> LogFollower:
    return LogFollower(
        cube.cuts,
        Glob(directory / "logs", "*.log*", disk=cube.cuts.disk),
        source=SOURCE,
        start=Start.BEGINNING,
    )


def work(directory: Path) -> None:
    """Never returns, in the time that a test gives it."""
    logs = directory / "logs"
    logs.mkdir(exist_ok=True)
    acked = os.open(directory / "acked", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    cube, ledger = open_cube(directory), open_ledger(directory)
    follower = follower_of(cube, directory)
    if not cube.restore():
        cube.write([Remember(QUERY, RECORD)])
    epoch = cube.cuts.begin_epoch(SOURCE)
    root = Root(directory, ledger)
    line = sum(path.read_bytes().count(b"\n") for path in logs.iterdir())
    for batch in range(BATCHES_MAX):
        with (logs / "a.log").open("ab") as log:
            for _ in range(5):
                line += 1
                log.write(b"%d\n" % line)
        if batch % 10 == 9:
            (logs / "a.log").rename(logs / f"a.log.{line}")
        follower.poll(now_s=float(batch))
        commit(cube, epoch, batch, acked)
        if batch % 3 == 2:
            cut(cube, acked)
        root.step(acked)


def commit(cube: Cube, epoch: int, batch: int, acked: int) -> None:
    chunks = cube.cuts.pending(SOURCE, bytes_max=64)
    lines = [int(text) for chunk in chunks for text in chunk.path.read_bytes().split()]
    rows = [(line // LINES_PER_PANE, str(line), 1) for line in lines]
    if rows:
        cube.commit_batch(Batch(SOURCE, epoch, batch, chunks[-1].cut), gave(*rows))
        os.write(acked, b"".join(b"line %d\n" % line for line in lines))


def cut(cube: Cube, acked: int) -> None:
    waiting = [pane.pane for pane in cube.restore()[0].panes if pane.waiting_rows]
    (done,) = cube.write([MakeUpdates(QUERY, tuple(waiting), RECORD, False)])
    cube.write([MarkSent(QUERY, tuple((d.pane, d.first_update, d.last_update) for d in done))])
    for one in done:
        if one.last_update >= one.first_update:
            os.write(acked, b"update %d %d\n" % (one.pane, one.last_update))


class Root:
    """Keeps three summaries a step and answers one window."""

    def __init__(self, directory: Path, ledger: RootLedger) -> None:
        self.query = query_of()
        self.ledger = ledger
        self.results = ResultsWriter(directory / "results" / "hits")
        ledger.finish_results("hits", self.results)
        kept = ledger.restore(str(self.query.id))
        self.number = max((one.number for one in kept.summaries), default=0)
        self.window = max((one.window for one in kept.answers), default=0)

    def step(self, acked: int) -> None:
        query = str(self.query.id)
        keeps = []
        for _ in range(3):
            self.number += 1
            rows = rows_of((str(self.number), self.number))
            kept = KeptSummary(self.number, self.number // 5, Coverage.of_whole(0, 1), rows, True)
            keeps.append(Keep(query, kept))
        self.ledger.write(keeps)
        os.write(acked, b"kept %d\n" % self.number)
        self.window += 1
        answer = WindowAnswered(self.window, 1, self.number, envelope_of(self.query, self.window))
        rows = {self.window: rows_of(("/", self.window))}
        self.ledger.publish(self.query, [answer], rows, self.results)
        os.write(acked, b"answered %d\n" % self.window)


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                work(Path(line.strip()))
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print("killed" if os.WIFSIGNALED(status) else "failed", flush=True)


if __name__ == "__main__":
    main()
