"""How cost grows: sites, files, groups, queries, windows behind, revisions, as ratios in one run.

``python -m benchmarks.scale [ROW …]``. The first four rows run ``headwater try`` and
``headwater try --central`` on the same folder, each in a process of its own, one after the other,
and count the CPU of all their processes; starting Python and Java is in both. *Allowed* is
what is promised: 1.5 times one plain Spark (3 times for a million groups), and 10 ms for each site.
The last two run a federation in this process and show what one window more, or one revision more,
costs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.scale_folders import Size, write_folder
from benchmarks.scale_live import measure_outages, measure_revisions
from headwater.cli.show.output import log_warnings_only

TRIES_S_MAX = 600
SITE_CPU_S = 0.010
RATIO_MAX, RATIO_MAX_MANY_GROUPS = 1.5, 3.0
MANY_GROUPS = 10_000
"""Beyond this the second ratio is allowed."""

ROWS: dict[str, Sequence[Size]] = {
    "sites": [Size(sites=n, files=n) for n in (5, 57, 223, 1_000)],
    "files": [Size(files=n) for n in (5, 100, 1_000, 10_000)],
    "groups": [
        *(Size(groups=n) for n in (1, 100, 10_000)),
        Size(groups=100_000, rows=600_000, windows=1),
        Size(groups=1_000_000, rows=2_000_000, windows=1),
    ],
    "queries": [Size(queries=n) for n in (1, 10, 50)],
}


class Cost(NamedTuple):
    cpu_s: float
    wall_s: float
    peak_mb: float
    """Of the largest of its processes."""
    is_answered: bool


def main() -> int:
    live: dict[str, Callable[[], None]] = {
        "outage": measure_outages,
        "revisions": measure_revisions,
    }
    wanted = sys.argv[1:] or [*ROWS, *live]
    unknown = set(wanted) - ROWS.keys() - live.keys()
    if unknown:
        print(f"wanted rows of {', '.join([*ROWS, *live])}; got {', '.join(sorted(unknown))}")
        return 2
    log_warnings_only()
    is_kept = True
    for name in wanted:
        if name in live:
            live[name]()
        else:
            is_kept &= measure_row(name, ROWS[name])
    print("\nall within what is allowed" if is_kept else "\nsome beyond what is allowed")
    return 0


def measure_row(name: str, sizes: Sequence[Size]) -> bool:
    print(f"\n{name:>9s} {'try':>9s} {'central':>9s} {'ratio':>6s} {'allowed':>8s}   wall, peak")
    kept = [measure_size(name, size) for size in sizes]
    return all(kept)


def measure_size(name: str, size: Size) -> bool:
    with tempfile.TemporaryDirectory(prefix="headwater-scale-") as scratch:
        sql, sites = write_folder(Path(scratch), size)
        central = cost_of(scratch, sql, sites, "--central")
        federated = cost_of(scratch, sql, sites)
    ratio_max = RATIO_MAX if size.groups <= MANY_GROUPS else RATIO_MAX_MANY_GROUPS
    allowed_s = ratio_max * central.cpu_s + SITE_CPU_S * size.sites
    is_kept = federated.is_answered and federated.cpu_s <= allowed_s
    print(
        f"{getattr(size, name):9,d} {federated.cpu_s:8.1f}s {central.cpu_s:8.1f}s "
        f"{federated.cpu_s / central.cpu_s:6.2f} {allowed_s:7.1f}s   "
        f"{federated.wall_s:.0f} and {central.wall_s:.0f} s, "
        f"{federated.peak_mb:.0f} and {central.peak_mb:.0f} MB"
        f"{'' if is_kept else '   BEYOND' if federated.is_answered else '   NO ANSWER'}",
        flush=True,
    )
    return is_kept


def cost_of(scratch: str, sql: Path, sites: Path, *options: str) -> Cost:
    """Of one run of the command, with all processes that it waited for."""
    command = [
        sys.executable,
        "-m",
        "headwater.cli",
        "try",
        str(sql),
        "--sites",
        str(sites),
        "-o",
        "json",
        "--out",
        os.devnull,
        *options,
    ]
    began_s = time.perf_counter()
    with open(Path(scratch) / "words", "w+") as words:
        process = subprocess.Popen(command, stdout=words, stderr=words, cwd=scratch)
        is_late = _waits_longer(process.pid, TRIES_S_MAX)
        if is_late:
            process.terminate()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if status and not is_late:
            words.seek(0)
            print(words.read()[-2_000:], file=sys.stderr)
    return Cost(
        used.ru_utime + used.ru_stime,
        time.perf_counter() - began_s,
        used.ru_maxrss / 1024,
        status == 0,
    )


def _waits_longer(pid: int, limit_s: float) -> bool:
    """Without reaping it: what it used is asked for when it is."""
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    sys.exit(main())
