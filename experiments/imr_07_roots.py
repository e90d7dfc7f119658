"""iMR, figure 7, its reducers: two roots instead of one, each with its part of the groups.

Three real agents; the third has a log of many groups, the first or the second answers, or both do
(``roots``). CPU of a root's process and its JVM from the install until all answers are there,
beyond what it takes anyway; in turns. In four trees over three agents each root is also a way to
the other one, which the paper's star is not.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.bound_cost import beside_home
from benchmarks.light_load import tree_cpu_s

from experiments.common import print_table, timed, write_csv
from experiments.imr_07 import times, write_lines
from headwater.agent.control.operator_client import remove_stream, run_statements
from headwater.local.up import lay_out, start, stop
from headwater.plan.roster import Roster
from headwater.store.results.results import ResultsReader

GROUPS, ROOT_WINDOWS = 200_000, 10
"""Of each window one line a group: what roots merge is then nearly all that is done."""
ROOT_TURNS = 4
"""The first one of each way warms the JVMs up, and does not count."""
IDLE_S = 5.0
"""For which an agent without a stream is looked at."""
ROOT_SQL = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING, n BIGINT)
WITH (format = 'tsv', path = '*.tsv', time = 'ts');
CREATE STREAM {name} WITH (begin = 'earliest', sites = 'site3', roots = '{roots}') AS
SELECT page, count(*) AS hits, sum(n) AS n FROM hits GROUP BY window(ts, '1 minute'), page;
"""
ROOTS_SHARE = 0.56
WAIT_S_MAX = 240.0


@contextmanager
def three_agents() -> Iterator[tuple[Path, Roster, dict[str, int]]]:
    with tempfile.TemporaryDirectory(prefix="headwater-imr-") as scratch:
        directory = Path(scratch) / "roots"
        roster = lay_out(directory, site_count=3)
        chance = np.random.default_rng(7)
        count = GROUPS * ROOT_WINDOWS
        pages = pc.binary_join_element_wise(
            "/page/", pc.cast(pa.array(np.arange(count) % GROUPS), pa.string()), ""
        )
        numbers = pc.cast(pa.array(chance.integers(0, 10_000, count)), pa.string())
        at_s = times(count, 60.0 * ROOT_WINDOWS)
        made = pc.binary_join_element_wise(at_s, pages, numbers, "\t")
        write_lines(directory / "site3" / "data" / "hits.tsv", made)
        pids = start(directory, say=lambda text: None).pids
        try:
            yield directory, roster, pids
        finally:
            stop(directory, say=lambda text: None)


WAYS = (("site1",), ("site2",), ("site1", "site2"))
"""Each of the two has all groups in turn, so that both are as warm."""


def cpu_of_roots() -> dict[tuple[str, ...], list[tuple[float, ...]]]:
    """By who answers: the seconds of each root, of each turn, beyond what it takes anyway."""
    found: dict[tuple[str, ...], list[tuple[float, ...]]] = {roots: [] for roots in WAYS}
    with three_agents() as (directory, roster, pids):
        for turn in range(ROOT_TURNS):
            for number, roots in enumerate(WAYS):
                name = f"pages_{number}_{turn}"
                idle = {root: _share(pids[root]) for root in roots}
                sql = ROOT_SQL.format(name=name, roots=", ".join(roots))
                before, began_s = {r: tree_cpu_s(pids[r]) for r in roots}, time.monotonic()
                asyncio.run(_run(directory, roster, sql))
                await_answers(directory, name, roots)
                took_s = time.monotonic() - began_s
                used = tuple(
                    tree_cpu_s(pids[root]) - before[root] - idle[root] * took_s for root in roots
                )
                told = ", ".join(
                    f"{root} {one:.1f} s" for root, one in zip(roots, used, strict=True)
                )
                print(f"turn {turn}: {told}, in {took_s:.0f} s", flush=True)
                asyncio.run(_remove(directory, roster, name))
                if turn:
                    found[roots].append(used)
    return found


def _share(pid: int) -> float:
    """Of a core, of an agent that has nothing to answer."""
    before = tree_cpu_s(pid)
    time.sleep(IDLE_S)
    return (tree_cpu_s(pid) - before) / IDLE_S


async def _run(directory: Path, roster: Roster, sql: str) -> None:
    async with beside_home(directory, roster) as agent:
        await run_statements(agent.request, sql, agent.signature)


async def _remove(directory: Path, roster: Roster, name: str) -> None:
    async with beside_home(directory, roster) as agent:
        await remove_stream(agent.request, name, agent.signature)


def await_answers(directory: Path, name: str, roots: tuple[str, ...]) -> None:
    """All windows of all parts but the last window, which no record closes."""
    parts = (name,) if len(roots) == 1 else tuple(f"{name}_part_{n}" for n in (1, 2))
    until_s = time.monotonic() + WAIT_S_MAX
    for root, part in zip(roots, parts, strict=True):
        reader = ResultsReader(directory / root / "state" / "results" / part)
        while sum(one.rows or 0 for _, one in reader.newest()) < rows_wanted(len(roots)):
            if time.monotonic() > until_s:
                raise TimeoutError(f"{part} at {root}: no answers for {WAIT_S_MAX:g} s")
            time.sleep(0.2)


def rows_wanted(roots: int) -> float:
    """Of a part: a hash deals groups out a little unevenly."""
    return GROUPS * (ROOT_WINDOWS - 1) / roots * (1.0 if roots == 1 else 0.97)


ROOTS_HEADER = ("root", "groups", "turns", "cpu_s", "to_all_groups", "goal_at_most")


def measure_roots() -> None:
    with timed("roots"):
        found = cpu_of_roots()
    both, table = WAYS[-1], list[tuple[object, ...]]()
    for number, root in enumerate(both):
        alone = median(used[0] for used in found[(root,)])
        each = median(used[number] for used in found[both])
        turns = len(found[both])
        table.append((root, "all", turns, round(alone, 2), 1.0, ""))
        share = round(each / alone, 3)
        table.append((root, "its part", turns, round(each, 2), share, ROOTS_SHARE))
    print_table(ROOTS_HEADER, table)
    write_csv("imr_07_roots", ROOTS_HEADER, table)


def main() -> None:
    print(f"load {', '.join(f'{one:.1f}' for one in os.getloadavg())}", flush=True)
    measure_roots()


if __name__ == "__main__":
    main()
