"""What an error costs the agents of a stream: CPU with it ÷ without, over the same log.

``python -m benchmarks.bound_cost``. Three agents as ``headwater up`` lays them out, each site's log
growing by 10,000 lines a second; one stream, whose error is altered on and off while it runs, so
that both have the same JVM, as warm as it is. Links are fast, so what is measured is keeping back
and following keys, and not the readings at the ends of rounds. Wanted: at most 1.15.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.light_load import Writer, tree_cpu_s
from benchmarks.log_lines import SOURCE
from headwater.agent.control.operator_client import alter_stream, run_statements
from headwater.local.up import OPERATOR, lay_out, start, stop
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles
from headwater.plan.roster import Roster

SETTLE_S, TAKES_S, MEASURE_S = 30.0, 12.0, 20.0
"""``TAKES_S``: until an alteration holds, which is from a window on that is yet to begin."""
ROUNDS = 3
ERROR = "'n: 0.5 % of total, b: 0.5 % of total'"
STREAM = f"""
CREATE STREAM hits WITH (error = {ERROR}) AS
SELECT domain, count(*) AS n, sum(greatest(bytes, 0)) AS b
FROM access GROUP BY window(ts, '5 seconds'), domain;
"""
RATIO_MAX = 1.15


def main() -> None:
    print(f"load {', '.join(f'{one:.1f}' for one in os.getloadavg())}")
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        directory = Path(scratch) / "bound"
        roster = lay_out(directory, site_count=3)
        pids = start(directory, say=lambda text: None).pids
        try:
            measure(directory, roster, pids)
        finally:
            stop(directory, say=lambda text: None)


def measure(directory: Path, roster: Roster, pids: dict[str, int]) -> None:
    sites = [site.name for site in roster.sites[1:]]
    asyncio.run(install(directory, roster))
    writers = [
        Writer(directory / site / "data" / "access.csv", seed) for seed, site in enumerate(sites)
    ]
    found: dict[str, list[float]] = {"with": [], "without": []}
    try:
        time.sleep(SETTLE_S)
        for number in range(ROUNDS):
            if number:
                alter(directory, roster, ERROR)
            found["with"].append(share_of(sites, pids))
            alter(directory, roster, "'none'")
            found["without"].append(share_of(sites, pids))
    finally:
        for writer in writers:
            writer.stop()
    for name, shares in found.items():
        texts = ", ".join(f"{share:.3f}" for share in shares)
        print(f"a site {name} an error: {texts} of a core")
    ratio = statistics.median(found["with"]) / statistics.median(found["without"])
    kept = "kept" if ratio <= RATIO_MAX else "MISSED"
    print(f"with ÷ without: {ratio:.2f}; wanted at most {RATIO_MAX:g}: {kept}")


def alter(directory: Path, roster: Roster, error: str) -> None:
    asyncio.run(set_error(directory, roster, error))
    time.sleep(TAKES_S)


def share_of(sites: list[str], pids: dict[str, int]) -> float:
    """Of a core, that a site takes, its JVM included."""
    began_s, before = time.monotonic(), sum(tree_cpu_s(pids[site]) for site in sites)
    time.sleep(MEASURE_S)
    took_s = time.monotonic() - began_s
    return (sum(tree_cpu_s(pids[site]) for site in sites) - before) / took_s / len(sites)


async def install(directory: Path, roster: Roster) -> None:
    async with beside_home(directory, roster) as agent:
        await run_statements(agent.request, SOURCE + STREAM, agent.signature)


async def set_error(directory: Path, roster: Roster, error: str) -> None:
    async with beside_home(directory, roster) as agent:
        await alter_stream(agent.request, "hits", f"error = {error}", agent.signature)


def beside_home(directory: Path, roster: Roster) -> ControlClient:
    home, held = roster.sites[0], directory / "certs"
    certs = CertFiles(held / "ca.pem", held / f"{OPERATOR}.pem", held / f"{OPERATOR}.key")
    return ControlClient(home.host, home.port, certs, site=home.name)


if __name__ == "__main__":
    main()
