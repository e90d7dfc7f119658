"""What a site costs under a light load, and how old its first answers are.

``python -m benchmarks.light_load [--quick]``. Three agents as ``headwater up`` lays them out: a
root without input and two sites, each with a log that grows by 10,000 lines a second; one query
over windows of five seconds. After a while of steady state the CPU of each agent, its JVM included,
is taken over a minute and given as a share of one core. The age of an answer is told twice: from
its window's end to the root's decision to answer (that is what an envelope says), and to the moment
at which the answer lies in its file. Two seconds of it are the disorder that a site waits for.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.log_lines import SOURCE, lines
from headwater.agent.control.operator_client import run_statements
from headwater.local.up import OPERATOR, lay_out, start, stop
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles
from headwater.plan.roster import Roster
from headwater.store.results.results import ResultsReader

QUICK = "--quick" in sys.argv
RATE = 10_000
"""Lines a second at each site."""
WRITE_EVERY_S = 0.1
SETTLE_S, MEASURE_S = (30.0, 30.0) if QUICK else (60.0, 60.0)
STREAM = """
CREATE STREAM hits AS SELECT domain, count(*) AS n, sum(bytes) AS b
FROM access GROUP BY window(ts, '5 seconds'), domain;
"""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        directory = Path(scratch) / "light"
        roster = lay_out(directory, site_count=3)
        pids = start(directory, say=lambda text: None).pids
        try:
            measure(directory, roster, pids)
        finally:
            stop(directory, say=lambda text: None)


def measure(directory: Path, roster: Roster, pids: dict[str, int]) -> None:
    root, *sites = [site.name for site in roster.sites]
    asyncio.run(install(directory, roster))
    writers = [
        Writer(directory / site / "data" / "access.csv", seed) for seed, site in enumerate(sites)
    ]
    try:
        time.sleep(SETTLE_S)
        began_s, before = time.time(), {name: tree_cpu_s(pid) for name, pid in pids.items()}
        time.sleep(MEASURE_S)
        ended_s, after = time.time(), {name: tree_cpu_s(pid) for name, pid in pids.items()}
    finally:
        for writer in writers:
            writer.stop()
    shares = {name: (after[name] - before[name]) / (ended_s - began_s) for name in pids}
    for name, share in shares.items():
        print(f"{name} ({'root' if name == root else 'site'}): {share:.3f} of a core")
    print(f"a site: {statistics.mean(shares[name] for name in sites):.3f} of a core")
    behind_s = max(writer.behind_s for writer in writers)
    print(f"written {RATE} lines a second to each site, at most {behind_s:.2f} s late")
    tell_ages(directory / root / "state" / "results" / "hits", began_s, ended_s)


async def install(directory: Path, roster: Roster) -> None:
    home, held = roster.sites[0], directory / "certs"
    certs = CertFiles(held / "ca.pem", held / f"{OPERATOR}.pem", held / f"{OPERATOR}.key")
    async with ControlClient(home.host, home.port, certs, site=home.name) as agent:
        await run_statements(agent.request, SOURCE + STREAM, agent.signature)


def tell_ages(results: Path, began_s: float, ended_s: float) -> None:
    """Of the first answers of the windows that ended in between."""
    reader = ResultsReader(results)
    decided, published, rows = [], [], []
    for seq in reader.publications():
        written_s = (results / f"headers-{seq:012d}.parquet").stat().st_mtime
        for one in reader.envelopes(seq):
            if one.revision == 1 and began_s <= one.end_us / 1e6 < ended_s - 10:
                decided.append(one.staleness_s)
                published.append(written_s - one.end_us / 1e6)
                rows.append(one.covered)
    if not rows:
        print("no first answers: the machine is too busy for it, or the agents' logs say more")
        return
    print(f"{len(decided)} first answers, covering at least {min(rows)} sites")
    for what, ages in (("decided", decided), ("published", published)):
        p95 = sorted(ages)[int(0.95 * (len(ages) - 1))]
        print(f"  {what}: median {statistics.median(ages):.2f} s, p95 {p95:.2f} s after the end")


class Writer:
    """Appends lines with the time of day to a log, at a steady rate, from a thread."""

    def __init__(self, path: Path, seed: int) -> None:
        made = lines(RATE * 3, seed=seed).to_pylist()
        self._tails = ["," + line.partition(",")[2] for line in made]
        self._path = path
        self._is_over = threading.Event()
        self.behind_s = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        next_s, at, count = time.time(), 0, round(RATE * WRITE_EVERY_S)
        with self._path.open("a") as file:
            while not self._is_over.wait(max(0.0, next_s - time.time())):
                now_s = time.time()
                self.behind_s = max(self.behind_s, now_s - next_s)
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
                head = f"{stamp}.{int(now_s % 1 * 1000):03d}Z"
                file.write("".join(f"{head}{tail}\n" for tail in self._tails[at : at + count]))
                file.flush()
                at = (at + count) % (len(self._tails) - count)
                next_s += WRITE_EVERY_S


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process and of all that it started and that still runs."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        ticks[int(stat.parent.name)] = sum(int(field) for field in fields[11:15])
    return sum(count for one, count in ticks.items() if _is_below(one, pid, parents)) / TICKS


def _is_below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid > 1 and pid != ancestor:
        pid = parents.get(pid, 0)
    return pid == ancestor


if __name__ == "__main__":
    main()
