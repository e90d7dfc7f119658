"""iMR, figure 13, the host's half: what its own job loses to an agent, by the agent's niceness.

The paper runs Hadoop beside iMR and changes the niceness of iMR. Here a job keeps every core busy,
always with niceness 0, and counts its rounds; a real agent with ``[host] nice`` reads a log of the
past for a stream that was installed a moment ago, which it would do with all there is. The job's
rate beside the working agent is compared with that of the stretches before and after it, in which
the agent has nothing to do; and what the agent gets done in the same time is told beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.bound_cost import beside_home
from benchmarks.light_load import tree_cpu_s
from benchmarks.log_lines import SOURCE, write_files

from experiments.common import draw_lines, print_table, timed, write_csv
from headwater.agent.control.operator_client import remove_stream, run_statements
from headwater.local.up import lay_out, start, stop
from headwater.plan.roster import Roster

NICE = (0, 10, 19)
TURNS = 2
ALONE_S, BESIDE_S, SETTLE_S = 4.0, 8.0, 1.5
FILES, FILE_LINES = 8, 500_000
"""More than an agent reads in a stretch."""
CORES = len(os.sched_getaffinity(0))
LOSS_MAX = 0.05
STREAM = """
CREATE STREAM {name} WITH (begin = 'earliest') AS
SELECT domain, status, count(*) AS n, sum(bytes) AS b, avg(latency_ms) AS ms
FROM access GROUP BY window(ts, '1 minute'), domain, status;
"""
JOB = """
import hashlib, mmap, os, struct, sys
number, path = int(sys.argv[1]), sys.argv[2]
os.setpriority(os.PRIO_PROCESS, 0, 0)
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[number]})
with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as counts:
    data, rounds = bytes(1 << 14), 0
    while True:
        data = hashlib.sha256(data).digest() * 512
        rounds += 1
        struct.pack_into("q", counts, 8 * number, rounds)
"""
"""One process on each core: what it does is mixed arithmetic over data that fits its cache."""


class Stretch(NamedTuple):
    job: float
    """Rounds a second, of all cores together."""
    agent: float
    """Cores that the agent took, its JVM included."""


class Job:
    """Of the host, as nice as anything is by itself."""

    def __init__(self, directory: Path) -> None:
        path = directory / "rounds"
        path.write_bytes(bytes(8 * CORES))
        with path.open("r+b") as file:
            self._counts = mmap.mmap(file.fileno(), 0)
        self._processes = [
            subprocess.Popen([sys.executable, "-c", JOB, str(n), str(path)], start_new_session=True)
            for n in range(CORES)
        ]

    def rounds(self) -> int:
        return sum(struct.unpack_from(f"{CORES}q", self._counts))

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While the agent is told something: at its nicest it would take half a minute to hear."""
        for process in self._processes:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def measured(job: Job, pid: int, seconds: float) -> Stretch:
    began_s, rounds, cpu_s = time.monotonic(), job.rounds(), tree_cpu_s(pid)
    time.sleep(seconds)
    took_s = time.monotonic() - began_s
    return Stretch((job.rounds() - rounds) / took_s, (tree_cpu_s(pid) - cpu_s) / took_s)


@contextlib.contextmanager
def an_agent(scratch: Path, nice: int) -> Iterator[tuple[Path, Roster, int]]:
    directory = scratch / f"nice-{nice}"
    roster = lay_out(directory, site_count=1)
    site = directory / roster.sites[0].name
    with (site / "agent.toml").open("a") as file:
        file.write(f"\n[host]\nnice = {nice}\n")
    (site / "data").rmdir()
    (site / "data").symlink_to(scratch / "log")
    pids = start(directory, say=lambda text: None).pids
    try:
        yield directory, roster, pids[roster.sites[0].name]
    finally:
        stop(directory, say=lambda text: None)


def turns(scratch: Path, nice: int) -> list[tuple[float, Stretch]]:
    """The job's rate beside the agent ÷ alone, and the stretch beside it."""
    found = []
    with an_agent(scratch, nice) as (directory, roster, pid):
        asyncio.run(_run(directory, roster, "warm"))
        time.sleep(BESIDE_S)
        asyncio.run(_remove(directory, roster, "warm"))
        job = Job(scratch)
        try:
            time.sleep(SETTLE_S)
            before = measured(job, pid, ALONE_S)
            for turn in range(TURNS):
                with job.paused():
                    asyncio.run(_run(directory, roster, f"turn_{turn}"))
                    time.sleep(SETTLE_S)
                beside = measured(job, pid, BESIDE_S)
                with job.paused():
                    asyncio.run(_remove(directory, roster, f"turn_{turn}"))
                    time.sleep(2 * SETTLE_S)
                after = measured(job, pid, ALONE_S)
                alone = (before.job + after.job) / 2.0
                found.append((beside.job / alone, beside))
                print(
                    f"nice {nice}, turn {turn}: job {beside.job / alone:.3f} of its rate, agent "
                    f"{beside.agent:.2f} cores, idle {before.agent:.2f} and {after.agent:.2f}",
                    flush=True,
                )
                before = after
        finally:
            job.stop()
    return found


async def _run(directory: Path, roster: Roster, name: str) -> None:
    async with beside_home(directory, roster) as agent:
        await run_statements(agent.request, SOURCE + STREAM.format(name=name), agent.signature)


async def _remove(directory: Path, roster: Roster, name: str) -> None:
    async with beside_home(directory, roster) as agent:
        await remove_stream(agent.request, name, agent.signature)


HEADER = (
    "nice",
    "turns",
    "job_loses_percent",
    "least_percent",
    "most_percent",
    "agent_cores",
    "goal_percent",
)


def main() -> None:
    with contextlib.suppress(PermissionError):  # whoever started this may have been nice
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    print(f"load {', '.join(f'{one:.1f}' for one in os.getloadavg())}")
    table: list[tuple[object, ...]] = []
    with timed("runs"), tempfile.TemporaryDirectory(prefix="headwater-imr-") as name:
        scratch = Path(name)
        write_files(scratch / "log", files=FILES, lines_each=FILE_LINES)
        for nice in NICE:
            seen = turns(scratch, nice)
            losses = [round(100.0 * (1.0 - share), 1) for share, _ in seen]
            table.append(
                (
                    nice,
                    len(seen),
                    median(losses),
                    min(losses),
                    max(losses),
                    round(median(one.agent for _, one in seen), 2),
                    100.0 * LOSS_MAX if nice == max(NICE) else "",
                )
            )
    print_table(HEADER, table)
    write_csv("imr_13", HEADER, table)
    draw_lines(
        "imr_13",
        {
            "the job's rate": (NICE, [100.0 - float(str(row[2])) for row in table]),
            "cores of the agent, of all": (
                NICE,
                [100.0 * float(str(row[5])) / CORES for row in table],
            ),
        },
        title="A job of the host beside an agent that reads its log",
        x="niceness of the agent",
        y="% of the job alone, and of all cores",
    )


if __name__ == "__main__":
    main()
