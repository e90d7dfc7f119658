"""What Spark costs an agent: time to the first answer, memory, CPU while nothing happens.

``python -m benchmarks.agent_footprint``. One site with one query on a lean Spark, in a process of
its own for each setting. "Ready" is a session that takes jobs, "first" the first batch committed.
A small batch is 200 lines, from the moment that they are noticed to the commit. CPU at idle is a
share of one core over some seconds, of JVM and Python; memory is resident (RSS), idle and after
800,000 lines.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_site import BenchSite
from benchmarks.log_lines import lines, write_files

SETTINGS: dict[str, dict[str, str]] = {
    "512m, archive": {},
    "512m, no archive": {"HEADWATER_ARCHIVE": "/nowhere"},
    "512m, archive, brief": {"BENCH_BRIEF": "1"},
}
IDLE_S = 15.0
SMALL_BATCHES = 12
BUSY_FILES, BUSY_LINES = 16, 50_000


def main() -> None:
    heads = ("", "ready", "first", "small", "JVM MB", "Python MB", "CPU idle")
    print("{:22s} {:>7s} {:>7s} {:>8s} {:>10s} {:>10s}   {}".format(*heads))
    for name, environment in SETTINGS.items():
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.agent_footprint", "--one"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        one = json.loads(run.stdout.splitlines()[-1])
        sizes = ["{:.0f}/{:.0f}".format(*one[part]) for part in ("jvm", "python")]
        print(
            f"{name:22s} {one['ready_s']:6.1f}s {one['first_s']:6.1f}s "
            f"{one['small_s'] * 1000:6.0f}ms {sizes[0]:>10s} {sizes[1]:>10s}   "
            + " + ".join(f"{share * 100:.1f} %" for share in one["idle"]),
            flush=True,
        )


def measure() -> dict[str, object]:
    began_s = time.perf_counter()
    from benchmarks.site_pipeline import compiled
    from headwater.spark.jvm.session import SparkConfig, start_session
    from headwater.spark.site.site_host import SiteHost

    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as text:
        scratch = Path(text)
        running = start_session(
            SparkConfig(
                master="local[*]",
                memory="512m",
                is_brief="BENCH_BRIEF" in os.environ,
                directory=text,
                log=f"{text}/jvm.log",
            )
        )
        ready_s = time.perf_counter() - began_s
        (query,) = compiled(1)
        site = BenchSite(query.program.source, [small(scratch, 0)], files_per_batch=8)
        host = SiteHost(running.session, scratch / "host")
        try:
            host.install(query)
            host.serve("bench", site.inbox)
            assert site.inbox.is_read_within(300), "no batch was committed"
            first_s = time.perf_counter() - began_s
            small_s = [_one_more(host, site, small(scratch, n)) for n in range(1, SMALL_BATCHES)]
            pids = (running.jvm.pid, os.getpid())
            idle = idle_shares(pids)
            before = [rss_mb(pid) for pid in pids]
            for path in write_files(scratch / "busy", files=BUSY_FILES, lines_each=BUSY_LINES):
                site.inbox.add(path)
            host.notice("access")
            assert site.inbox.is_read_within(300), "the files were not read"
            after = [rss_mb(pid) for pid in pids]
        finally:
            host.stop()
            running.stop()
    return {
        "ready_s": ready_s,
        "first_s": first_s,
        "small_s": statistics.median(small_s[len(small_s) // 2 :]),
        "jvm": (before[0], after[0]),
        "python": (before[1], after[1]),
        "idle": idle,
    }


def small(scratch: Path, number: int) -> Path:
    path = scratch / f"small-{number}.csv"
    path.write_text("\n".join(lines(200, seed=number).to_pylist()) + "\n")
    return path


def _one_more(host: object, site: BenchSite, path: Path) -> float:
    began_s = time.perf_counter()
    site.inbox.add(path)
    host.notice("access")  # type: ignore[attr-defined]
    assert site.inbox.is_read_within(120), "the batch was not committed"
    return time.perf_counter() - began_s


def idle_shares(pids: tuple[int, ...]) -> list[float]:
    time.sleep(2)
    before = [cpu_s(pid) for pid in pids]
    time.sleep(IDLE_S)
    return [(cpu_s(pid) - old) / IDLE_S for pid, old in zip(pids, before, strict=True)]


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    if "--one" in sys.argv:
        print(json.dumps(measure()))
    else:
        main()
