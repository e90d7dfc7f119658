"""What a cluster costs: the same batches and answers by ``local[2]`` and by two workers here.

``python -m benchmarks.cluster_cost``. The cluster is Spark's standalone one on loopback, a core a
worker, so both have two cores of the same machine: what differs is what a cluster adds (processes,
a network, copies) and not what it is taken for. CPU is of all processes: Python, driver, master,
workers and executors. One start each, one after the other; the first batches are not counted.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from standalone.cluster import StandaloneCluster, write_privately
from standalone.processes import cpu_s
from standalone.session import session_on

from benchmarks.bench_site import BenchSite
from benchmarks.log_lines import write_files
from benchmarks.site_pipeline import BATCHES, FILES_PER_BATCH, LINES_EACH, Cost, compiled, steady
from headwater.algebra.rows.types import summary_schema
from headwater.spark.jvm.session import RunningSpark, SparkConfig, start_session
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost

GROUPS = 50_000
ROOT_PASSES = 4
WAYS = ("local[2]", "cluster, plain", "cluster, encrypted")


class Place:
    """A Spark somewhere, and the processes that work for it."""

    def __init__(self, running: RunningSpark, started_s: float, sessions: set[int]) -> None:
        self.running = running
        self.started_s = started_s
        self._sessions = {running.jvm.pid, *sessions}

    def cpu_s(self) -> float:
        return cpu_s(self._sessions) + time.process_time()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as scratch:
        paths = write_files(
            Path(scratch) / "data", files=FILES_PER_BATCH * BATCHES, lines_each=LINES_EACH
        )
        found = {}
        for way in WAYS:
            with place(way, Path(scratch) / way.replace(" ", "")) as at:
                found[way] = measured(at, paths, Path(scratch))
                print(way, {what: tuple(cost) for what, cost in found[way].items()}, flush=True)
        show(found)


def measured(at: Place, paths: list[Path], scratch: Path) -> dict[str, Cost]:
    return {
        "start": Cost(at.started_s, at.cpu_s()),
        "a batch of 1 query": batches(at, paths, scratch, 1),
        "a batch of 5 queries": batches(at, paths, scratch, 5),
        "a window of 50,000 groups": answers(at),
    }


def show(found: dict[str, dict[str, Cost]]) -> None:
    lines = FILES_PER_BATCH * LINES_EACH
    print(f"a batch is {lines} lines; seconds by the clock, of CPU, and both against {WAYS[0]}")
    for what in found[WAYS[0]]:
        least = found[WAYS[0]][what]
        for way in WAYS:
            cost = found[way][what]
            print(
                f"  {what:28s} {way:20s} {cost.wall_s:7.2f} {cost.cpu_s:7.2f}"
                f" {cost.wall_s / least.wall_s:6.2f} x {cost.cpu_s / least.cpu_s:6.2f} x"
            )


@contextlib.contextmanager
def place(way: str, directory: Path) -> Iterator[Place]:
    directory.mkdir()
    began_s = time.perf_counter()
    if way == WAYS[0]:
        running = start_session(
            SparkConfig(way, memory="1g", directory=str(directory), log=f"{directory}/jvm.log")
        )
        yield from stopped_after(Place(running, time.perf_counter() - began_s, set()))
        return
    secret = secrets.token_hex(32) if way == WAYS[2] else None
    if secret is not None:
        write_privately(directory / "secret", secret)
    with StandaloneCluster(directory / "cluster", secret=secret) as cluster:
        began_s = time.perf_counter()
        running = session_on(
            cluster,
            directory,
            secret=directory / "secret" if secret else None,
            memory="1g",
            is_brief=False,
        )
        wall_s = time.perf_counter() - began_s
        yield from stopped_after(Place(running, wall_s, set(cluster.pids())))


def stopped_after(at: Place) -> Iterator[Place]:
    try:
        yield at
    finally:
        at.running.stop()


def batches(at: Place, paths: list[Path], scratch: Path, count: int) -> Cost:
    queries = compiled(count)
    marks: list[tuple[float, float]] = []

    site = BenchSite(
        queries[0].program.source,
        paths,
        files_per_batch=FILES_PER_BATCH,
        committed=lambda: marks.append((time.perf_counter(), at.cpu_s())),
    )
    host = SiteHost(at.running.session, scratch / "host", shared=at.running.shared)
    try:
        for query in queries:
            host.install(query)
        host.serve("bench", site.inbox)
        assert site.inbox.is_read_within(900), "the host did not read everything"
    finally:
        host.stop()
    assert site.records == len(paths) * LINES_EACH, site.records
    return steady(marks)


def answers(at: Place) -> Cost:
    (query,) = compiled(1)
    schema = summary_schema(query.program)
    numbers = pa.array(range(GROUPS), pa.int64())
    keys = pa.array([f"www.site{n}.example" for n in range(GROUPS)])
    panes = pa.table([keys, numbers, numbers], names=schema.names).cast(schema)
    root = RootSpark(at.running.session)
    marks = []
    for _ in range(ROOT_PASSES):
        found = root.finish(query, {1: panes})
        assert found[1].num_rows == GROUPS
        marks.append((time.perf_counter(), at.cpu_s()))
    return steady(marks)


if __name__ == "__main__":
    main()
