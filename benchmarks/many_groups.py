"""A million groups in one window over real agents, with the memory that they have by default.

``python -m benchmarks.many_groups [--groups N] [--rows N]``, or ``make big``. A root and two sites
as ``headwater up`` makes them, a Spark each. Every group occurs at both sites, so each site's pane
has all of them, and the root merges every one. Once the window is final, its rows are compared with
what Arrow counts and sums over the same files; nothing of Headwater or Spark is in that.

Peaks are the kernel's own (``VmHWM``), CPU is of each process since its start. Exit code 1: the
answer is wrong or did not come, or an agent or a JVM ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from headwater.local.up import Running, lay_out, running, start, stop
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

ROOT, SITES = "site1", ("site2", "site3")
FILES = 4
"""At each site."""
WINDOW_S = 3_600
STREAM = "pages"
STATEMENTS = f"""CREATE SOURCE hits (at TIMESTAMP, url STRING, bytes BIGINT)
WITH (format = 'csv', path = '*.csv', time = 'at');
CREATE STREAM {STREAM} WITH (begin = 'earliest', lateness = '1 minute') AS
SELECT url, count(*) AS n, sum(bytes) AS total, max(bytes) AS largest FROM hits
GROUP BY window(at, '{WINDOW_S} seconds'), url;
"""
NAMES = ("url", "n", "total", "largest")
FINAL_S_MAX = 1_200.0
LOOK_EVERY_S = 0.5
TICKS = os.sysconf("SC_CLK_TCK")


class Used(msgspec.Struct):
    """What one process took, as it was last seen."""

    agent: str
    kind: str
    peak_mb: float = 0.0
    cpu_s: float = 0.0


class Failed(Exception):
    """The sentence that is printed."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_groups", description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_500_000, help="at each site")
    chosen = parser.parse_args()
    if chosen.rows < chosen.groups:
        parser.error("wanted at least one row a group")
    with tempfile.TemporaryDirectory(prefix="headwater-big-") as scratch:
        try:
            return measure(Path(scratch) / "federation", groups=chosen.groups, rows=chosen.rows)
        except Failed as failure:
            print(f"FAILED: {failure}")
            return 1


def measure(directory: Path, *, groups: int, rows: int) -> int:
    lay_out(directory, site_count=1 + len(SITES))
    start_s = int(time.time()) // WINDOW_S * WINDOW_S - WINDOW_S
    for name in SITES:
        write_files(directory / name / "data", groups=groups, rows=rows, start_s=start_s)
    data = [path for name in SITES for path in (directory / name / "data").iterdir()]
    raw_mb = sum(path.stat().st_size for path in data) / 1e6
    print(f"{groups:,d} groups, {rows:,d} rows at each of {len(SITES)} sites, {raw_mb:.0f} MB")
    try:
        agents = start(directory, say=lambda text: None)
        meter = Meter(directory, agents)
        began_s = time.perf_counter()
        install(directory)
        seq, envelope = final_answer(directory, meter)
        took_s = time.perf_counter() - began_s
        meter.look()
    finally:
        stop(directory, say=lambda text: None)
    meter.print(took_s)
    compare(answer_of(directory, seq, envelope), expected(data))
    print(f"final, exact, and equal to Arrow's: {groups:,d} groups")
    return 0


def write_files(directory: Path, *, groups: int, rows: int, start_s: int) -> None:
    """Keys come in turn, scattered: each occurs, and none twice in a row."""
    for part, numbers in enumerate(np.array_split(np.arange(rows), FILES)):
        key = (numbers * 7_919 + 17) % groups
        at = pa.array((start_s + numbers % WINDOW_S) * 1_000_000, pa.timestamp("us"))
        table = pa.table(
            {
                "at": pc.strftime(at, format="%Y-%m-%dT%H:%M:%SZ"),
                "url": _urls(key),
                "bytes": numbers * 31 % 10_007,
            }
        )
        options = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(table, directory / f"hits-{part}.csv", write_options=options)


def _urls(key: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(
        "/shelf",
        pc.cast(pa.array(key % 997), pa.string()),
        pc.binary_join_element_wise("item", pc.cast(pa.array(key), pa.string()), "-"),
        "/",
    )


def install(directory: Path) -> None:
    file = directory / "pages.sql"
    file.write_text(STATEMENTS)
    command = [sys.executable, "-m", "headwater.cli", "run", str(file), "-f", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"the stream was not installed: {done.stderr}")


def final_answer(directory: Path, meter: Meter) -> tuple[int, Envelope]:
    """(publication, envelope) of the window, once it is final."""
    reader = ResultsReader(directory / ROOT / "state" / "results" / STREAM)
    until_s, seen = time.monotonic() + FINAL_S_MAX, ""
    while time.monotonic() < until_s:
        meter.look()
        for seq, envelope in reader.newest():
            if envelope.rows and envelope.final:
                if envelope.exact and envelope.covered == envelope.expected:
                    return seq, envelope
                raise Failed(f"final and not exact: {envelope}")
            seen = f"{envelope}"
        time.sleep(LOOK_EVERY_S)
    raise Failed(f"no final answer after {FINAL_S_MAX:.0f} s; the last one: {seen or 'none'}")


def answer_of(directory: Path, seq: int, envelope: Envelope) -> pa.Table:
    reader = ResultsReader(directory / ROOT / "state" / "results" / STREAM)
    found = reader.answer(seq, envelope)
    assert found is not None, "a window with rows has them"
    return found


def expected(data: Sequence[Path]) -> pa.Table:
    names = csv.ReadOptions(column_names=["at", "url", "bytes"])
    types = csv.ConvertOptions(include_columns=["url", "bytes"])
    whole = pa.concat_tables(
        csv.read_csv(path, read_options=names, convert_options=types) for path in data
    )
    grouped = whole.group_by("url").aggregate(
        [("bytes", "count"), ("bytes", "sum"), ("bytes", "max")]
    )
    return grouped.select(["url", "bytes_count", "bytes_sum", "bytes_max"]).rename_columns(NAMES)


def compare(found: pa.Table, wanted: pa.Table) -> None:
    if found.num_rows != wanted.num_rows:
        raise Failed(f"wanted {wanted.num_rows:,d} rows, got {found.num_rows:,d}")
    found, wanted = (_in_order(table) for table in (found, wanted))
    for name in NAMES:
        differing = pc.sum(pc.not_equal(found[name], wanted[name])).as_py()
        if differing or found[name].null_count:
            raise Failed(f"{differing:,d} groups differ in {name!r}")


def _in_order(table: pa.Table) -> pa.Table:
    types = (pa.string(), pa.int64(), pa.int64(), pa.int64())
    schema = pa.schema(list(zip(NAMES, types, strict=True)))
    return table.select(NAMES).cast(schema).sort_by("url")


class Meter:
    """Looks at the agents and at their JVMs. Raises ``Failed`` where one has ended."""

    def __init__(self, directory: Path, agents: Running) -> None:
        self._directory = directory
        self._used: dict[int, Used] = {}
        for name, pid in agents.pids.items():
            self._used[pid] = Used(name, "Python")
            self._used[self._jvm(name)] = Used(name, "JVM")

    def look(self) -> None:
        for pid, used in self._used.items():
            with contextlib.suppress(OSError):
                used.peak_mb = max(used.peak_mb, peak_mb(pid))
                used.cpu_s = cpu_s(pid)
        now = running(self._directory).pids
        for pid, used in self._used.items():
            newest = now.get(used.agent) if used.kind == "Python" else self._jvm(used.agent)
            if newest != pid:
                raise Failed(f"the {used.kind} of {used.agent} ended\n{self._words(used.agent)}")

    def _jvm(self, name: str) -> int:
        state = self._directory / name / "state" / "jvm.json"
        try:
            return int(json.loads(state.read_text())["pid"])
        except FileNotFoundError:
            return 0

    def _words(self, name: str) -> str:
        log = (self._directory / name / "agent.log").read_text(errors="replace")
        return "\n".join(line[:300] for line in log.splitlines()[-12:])

    def print(self, took_s: float) -> None:
        print(f"\n{'agent':8s} {'process':8s} {'peak':>9s} {'CPU':>8s}")
        for used in self._used.values():
            role = "root" if used.agent == ROOT else used.agent
            print(f"{role:8s} {used.kind:8s} {used.peak_mb:6.0f} MB {used.cpu_s:7.1f}s")
        total_s = sum(used.cpu_s for used in self._used.values())
        print(f"final after {took_s:.0f} s, {total_s:.0f} s of CPU in all\n")


def peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"process {pid} has no memory any more")


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    sys.exit(main())
