"""Heintz et al. on live agents: how stale answers over a narrow link are, with a bound and without.

Two agents on Spark and a relay, in network namespaces; the link of one of them is shaped by
``tc tbf``. Three streams ask the same of the same kind of log, one after the other: without a
bound, with an error, and with a staleness. Each answer, the first of a window and the last, is held
against one Spark over all records. Without the right to make namespaces nothing is measured.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.light_load import tree_cpu_s

from experiments.common import draw_lines, print_table, write_csv
from experiments.heintz.live_agents import FAR, HOME, NAMES, LiveAgents, await_that
from experiments.heintz.shaped_link import ShapedLink, Unavailable, open_shaped_link
from headwater.local.demo.workload import SiteProfile, SiteWriter, Traffic
from headwater.local.trial.stated_bounds import broken_bound
from headwater.root.said.envelope import Envelope
from headwater.spark.central import central_answers
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.store.input.site_files import paths_below

KBIT_S = 48
LINES_PER_S = 400.0
WINDOW_S, WINDOWS = 5, 8
PAUSE_WINDOWS = 2
"""Between two streams, so that each has the link to itself."""
FIRST_S = 20.0
"""From the install to the first window."""
SETTLED_S_MAX = 120.0
STREAMS = {
    "whole": "deadline = '4 seconds'",
    "error": "deadline = '4 seconds', error = '0.5 % of total'",
    "staleness": "staleness = '4 seconds', answer = 'deadline'",
    "whole_again": "deadline = '4 seconds'",
}
"""The last one is the first again, when all is warm."""
HEADER = (
    "stream",
    "window",
    "first_staleness_s",
    "sites_in_first",
    "all_in_s",
    "error_of_first",
    "error_stated",
    "rows_kept_back",
    "error_of_last",
    "is_true",
    "link_bytes",
    "far_cpu_s",
    "keys_early",
)
SOURCE = """
CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, url STRING, status INT, bytes BIGINT, latency_ms DOUBLE,
  client STRING, cache STRING
) WITH (format = 'csv', path = 'access-*.log*', time = 'ts');
"""


class WindowMeasured(msgspec.Struct, frozen=True):
    stream: str
    window: int
    first: Envelope
    first_rows: pa.Table | None
    last: Envelope
    last_rows: pa.Table | None
    all_in_s: float | None


def main() -> None:
    try:
        with open_shaped_link(NAMES, FAR, kbit_s=KBIT_S) as link:
            measure(link)
    except Unavailable as reason:
        print(
            f"NOT MEASURED: a shaped link needs network namespaces, which this machine has not "
            f"({reason}). The tables stay as they are; `headwater demo` shows a narrow link that "
            "is emulated."
        )


def measure(link: ShapedLink) -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-live-") as scratch:
        agents = LiveAgents(Path(scratch) / "federation", link)
        agents.lay_out()
        try:
            agents.start()
            begins = begins_of(time.time())
            with writing(agents):
                agents.run(statements(begins))
                costs = counted(agents, link, begins)
                await_that(
                    lambda: all(settled(agents, one) for one in STREAMS), SETTLED_S_MAX, "not final"
                )
            queries = agents.queries()
        finally:
            agents.stop()
        measured = {stream: list(windows_of(agents, stream)) for stream in STREAMS}
        session = start_session(SparkConfig(directory=f"{scratch}/spark"))
        try:
            roots = [agents.data(HOME), agents.data(FAR)]
            truths = {
                stream: central_answers(
                    session.session, query, paths_below(roots, query.program.source.path)
                )
                for stream, query in queries.items()
            }
        finally:
            session.stop()
    report(measured, truths, costs)


def begins_of(now_s: float) -> dict[str, float]:
    first_s = (now_s + FIRST_S) // WINDOW_S * WINDOW_S
    step_s = (WINDOWS + PAUSE_WINDOWS) * WINDOW_S
    return {stream: first_s + n * step_s for n, stream in enumerate(STREAMS)}


def statements(begins: dict[str, float]) -> str:
    asked = [
        f"CREATE STREAM {stream} WITH (begin = '{_utc(begins[stream])}', "
        f"extent = '{WINDOWS * WINDOW_S} seconds', disorder = '1 second', "
        f"lateness = '10 seconds', {options}) AS\n"
        f"SELECT url, count(*) AS requests FROM access "
        f"GROUP BY window(ts, '{WINDOW_S} seconds'), url;"
        for stream, options in STREAMS.items()
    ]
    return "\n".join([SOURCE, *asked])


@contextmanager
def writing(agents: LiveAgents) -> Iterator[None]:
    """Logs grow at both sites until the block ends."""
    ends, start_s = threading.Event(), time.time()
    traffic = Traffic(seed=5, swing=0.0, late_s_max=3.0, rotate_s=60.0)
    writers = [
        SiteWriter(agents.data(site), SiteProfile(site, LINES_PER_S), traffic, start_s=start_s)
        for site in (HOME, FAR)
    ]

    def write() -> None:
        while not ends.wait(0.2):
            for writer in writers:
                writer.advance(time.time())

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
        for writer in writers:
            writer.close()


class Cost(msgspec.Struct, frozen=True):
    """Of a stream, while it had the link to itself."""

    link_bytes: int
    """Sent through the shaper, headers included."""
    cpu_s: float
    """Of the agent behind it, its JVM included."""
    keys_early: int
    """Sent by it before the closes of their panes, each time counted."""


def counted(agents: LiveAgents, link: ShapedLink, begins: dict[str, float]) -> dict[str, Cost]:
    found = {}
    for stream, begin_s in begins.items():
        _sleep_until(begin_s)
        sent, cpu_s = link.sent_bytes(FAR), tree_cpu_s(agents.pid(FAR))
        early = agents.keys_early(FAR)
        _sleep_until(begin_s + (WINDOWS + PAUSE_WINDOWS) * WINDOW_S)
        found[stream] = Cost(
            link.sent_bytes(FAR) - sent,
            tree_cpu_s(agents.pid(FAR)) - cpu_s,
            agents.keys_early(FAR) - early,
        )
    return found


def settled(agents: LiveAgents, stream: str) -> bool:
    newest = {one.window: one for _, one in agents.envelopes(stream)}
    return len(newest) >= WINDOWS and all(one.final for one in newest.values())


def windows_of(agents: LiveAgents, stream: str) -> Iterator[WindowMeasured]:
    reader = agents.results(stream)
    revisions: dict[int, list[tuple[int, Envelope]]] = {}
    for seq, envelope in agents.envelopes(stream):
        revisions.setdefault(envelope.window, []).append((seq, envelope))
    for window, found in sorted(revisions.items()):
        whole = (one.staleness_s for _, one in found if one.covered == one.expected)
        yield WindowMeasured(
            stream,
            window,
            found[0][1],
            reader.answer(*found[0]),
            found[-1][1],
            reader.answer(*found[-1]),
            next(whole, None),
        )


def report(
    measured: dict[str, list[WindowMeasured]],
    truths: dict[str, dict[int, pa.Table]],
    costs: dict[str, Cost],
) -> None:
    rows = [
        row_of(one, truths[stream][one.window], costs[stream])
        for stream, windows in measured.items()
        for one in windows
    ]
    write_csv("heintz_live", HEADER, rows)
    print_table(HEADER, rows)
    wrong = [row[:2] for row in rows if not row[HEADER.index("is_true")]]
    print(f"{len(rows)} windows; states something that is not true: {wrong or 'none'}")
    for stream in STREAMS:
        own = [dict(zip(HEADER, row, strict=True)) for row in rows if row[0] == stream]
        late = [float(str(one["all_in_s"])) for one in own if one["all_in_s"] != ""]
        cost = costs[stream]
        print(
            f"{stream}: all in after {median(late):.1f} s in the middle, {max(late):.1f} at most; "
            f"{cost.link_bytes / 1e3:.0f} kB over the link, {cost.cpu_s:.1f} s of CPU at {FAR}, "
            f"{cost.keys_early} keys left early"
        )
    cpu = (costs["error"].cpu_s, costs["whole"].cpu_s, costs["whole_again"].cpu_s)
    print(f"CPU with an error ÷ without: {2 * cpu[0] / (cpu[1] + cpu[2]):.2f}")
    lines = {
        stream: (list(range(len(windows))), [one.all_in_s or float("nan") for one in windows])
        for stream, windows in measured.items()
    }
    title = f"two agents and a relay, one behind {KBIT_S} kbit/s"
    y = "all sites are in after s"
    draw_lines("heintz_live", lines, title=title, x=f"windows of {WINDOW_S} s", y=y)


def row_of(one: WindowMeasured, truth: pa.Table, cost: Cost) -> tuple[object, ...]:
    stated = one.last.withheld
    is_true = broken_bound(stated, one.last_rows, truth) is None
    if not stated:
        is_true = error_share(one.last_rows, truth) == 0.0 and one.last.exact
    return (
        one.stream,
        one.window,
        round(one.first.staleness_s, 2),
        one.first.covered,
        "" if one.all_in_s is None else round(one.all_in_s, 2),
        f"{error_share(one.first_rows, truth):.5f}",
        f"{stated.columns[0].reached:.5f}" if stated.columns else "",
        stated.keys,
        f"{error_share(one.last_rows, truth):.5f}",
        is_true,
        cost.link_bytes,
        round(cost.cpu_s, 2),
        cost.keys_early,
    )


def error_share(mine: pa.Table | None, truth: pa.Table) -> float:
    """The largest error over all groups ÷ the window's total."""
    mine = truth.slice(0, 0) if mine is None else mine
    both = mine.join(truth, ["url"], join_type="full outer", right_suffix="__true")
    counts = (pc.fill_null(both[name], 0) for name in ("requests", "requests__true"))
    worst = pc.max(pc.abs(pc.subtract(*counts))).as_py() or 0
    return float(worst / (pc.sum(truth["requests"]).as_py() or 1))


def _utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def _sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.time()))


if __name__ == "__main__":
    main()
