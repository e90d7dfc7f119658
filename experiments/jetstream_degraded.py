"""JetStream live, with something to give up: a policy that changes levels on agents with Spark.

Two agents on Spark and a relay, in network namespaces; the link of one of them is shaped by ``tc
tbf``. What its stream takes is measured first, without a limit to speak of; then the link carries
one and a half times that, is cut to a half of it, and is wide again. The same question runs three
times, one after the other: with nothing to give up, with a threshold, and with a threshold and
``finally = 'exact'``, so that what was kept back follows.
Each answer, the first of a window and the last, is held against one Spark over all records.
Without the right to make namespaces nothing is measured.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz.live_agents import FAR, NAMES, LiveAgents, await_that
from experiments.heintz.shaped_link import ShapedLink, Unavailable, open_shaped_link
from headwater.local.demo.workload import SiteProfile, SiteWriter, Traffic
from headwater.local.trial.stated_bounds import broken_bound
from headwater.root.said.envelope import Envelope
from headwater.spark.central import central_answers
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.store.input.site_files import paths_below

LINES_PER_S = 1_000.0
WINDOW_S = 2
FREE_KBIT_S = 20_000
QUEUE = "2000ms"
"""As in ``jetstream_live``; in a shorter one a pane, which leaves at once, loses packets."""
WIDE, CUT = 1.5, 0.75
"""Of what the stream takes at full fidelity."""
SETTLE_S, LEARN_S = 20.0, 16.0
"""Before what it takes is measured, and while it is."""
PARTS = {"wide": 20, "cut to a half": 30, "wide again": 40}
"""Seconds of each, of one stream."""
PAUSE_S = 6
SETTLED_S_MAX = 120.0
LIMIT = "threshold(requests, 1 % of total)"
STREAMS = {
    "nothing": "",
    "threshold": f", degrade = '{LIMIT}', finally = 'bounded'",
    "rest_follows": f", degrade = '{LIMIT}', finally = 'exact'",
}
"""With ``bounded`` what was kept back stays where it is."""
LATENCY_MS = 1.0
"""Of the requests in the log: none is written so late that a window is answered without it."""
SOURCE = """
CREATE SOURCE access (ts TIMESTAMP, domain STRING, url STRING, status INT, bytes BIGINT,
  latency_ms DOUBLE, client STRING, cache STRING)
WITH (format = 'csv', path = 'access-*.log*', time = 'ts');
"""
HEADER = (
    "given_up",
    "part",
    "windows",
    "latency_p50_s",
    "latency_p95_s",
    "latency_most_s",
    "mean_step",
    "most_error_stated_percent",
    "most_error_percent",
    "link_used",
    "last_exact",
    "last_within_bounds",
)


class Measured(NamedTuple):
    """One window."""

    end_s: float
    """After the stream's begin."""
    latency_s: float
    """From its end to the first answer that has the site."""
    step: int
    stated: float
    """A share of the window's total; of the first answer that has the site."""
    error: float
    is_true: bool
    is_exact: bool
    """In the end, and equal to one Spark."""
    is_within: bool
    """In the end no further from one Spark than it says."""


def main() -> None:
    print(f"load {', '.join(f'{one:.1f}' for one in os.getloadavg())}")
    try:
        with timed("all"), open_shaped_link(NAMES, FAR, kbit_s=FREE_KBIT_S) as link:
            measure(link)
    except Unavailable as reason:
        print(
            "NOT MEASURED: a shaped link needs network namespaces, which this machine has not "
            f"({reason}). The tables stay as they are."
        )


def measure(link: ShapedLink) -> None:
    used: dict[tuple[str, str], float] = {}
    begins: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="headwater-live-") as scratch:
        agents = LiveAgents(Path(scratch) / "federation", link)
        agents.lay_out()
        try:
            agents.start()
            with writing(agents):
                extent_s = SETTLE_S + LEARN_S
                agents.run(SOURCE + stream("learned", "", time.time() + 8.0, extent_s))
                time.sleep(SETTLE_S)
                kbit_s = learned_kbit_s(link)
                print(f"the stream takes {kbit_s:.0f} kbit/s, headers and heartbeats included")
                for name, options in STREAMS.items():
                    begins[name] = (time.time() + 10.0) // WINDOW_S * WINDOW_S
                    agents.run(SOURCE + stream(name, options, begins[name], sum(PARTS.values())))
                    used |= narrowing(link, name, begins[name], kbit_s)
                    await_that(partial(settled, agents, name), SETTLED_S_MAX, "not final")
            queries = agents.queries()
        finally:
            agents.stop()
        session = start_session(SparkConfig(directory=f"{scratch}/spark"))
        try:
            roots = [agents.data(FAR)]
            found = {}
            for name in STREAMS:
                query = queries[name]
                files = paths_below(roots, query.program.source.path)
                truth = central_answers(session.session, query, files)
                found[name] = list(windows_of(agents, name, begins[name], truth))
        finally:
            session.stop()
    report(found, used, kbit_s)


def stream(name: str, options: str, begin_s: float, extent_s: float) -> str:
    begin = datetime.fromtimestamp(begin_s // WINDOW_S * WINDOW_S, tz=UTC)
    return (
        f"CREATE STREAM {name} WITH (begin = '{begin:%Y-%m-%d %H:%M:%S}', "
        f"extent = '{extent_s:.0f} seconds', disorder = '1 second', deadline = '60 seconds', "
        f"lateness = '10 seconds', sites = '{FAR}'{options}) AS\n"
        "SELECT url, count(*) AS requests FROM access "
        f"GROUP BY window(ts, '{WINDOW_S} seconds'), url;\n"
    )


def learned_kbit_s(link: ShapedLink) -> float:
    sent, began_s = link.sent_bytes(FAR), time.monotonic()
    time.sleep(LEARN_S)
    return (link.sent_bytes(FAR) - sent) / (time.monotonic() - began_s) / 125.0


def narrowing(
    link: ShapedLink, name: str, begin_s: float, kbit_s: float
) -> dict[tuple[str, str], float]:
    """Shapes the link for each part, and says what share of it was used."""
    used, at_s = {}, begin_s
    link.shape(FAR, kbit_s=round(WIDE * kbit_s), queue=QUEUE)
    for part, seconds in PARTS.items():
        _sleep_until(at_s)
        rate = (CUT if part.startswith("cut") else WIDE) * kbit_s
        link.shape(FAR, kbit_s=round(rate), queue=QUEUE)
        sent = link.sent_bytes(FAR)
        at_s += seconds
        _sleep_until(at_s)
        used[name, part] = (link.sent_bytes(FAR) - sent) / (rate * 125.0 * seconds)
    return used


@contextmanager
def writing(agents: LiveAgents) -> Iterator[None]:
    """The log of the site behind the link grows until the block ends."""
    ends, start_s = threading.Event(), time.time()
    traffic = Traffic(seed=5, swing=0.0, late_share=0.0, rotate_s=60.0)
    profile = SiteProfile(FAR, LINES_PER_S, latency_ms=LATENCY_MS, swing=0.0)
    writer = SiteWriter(agents.data(FAR), profile, traffic, start_s=start_s)

    def write() -> None:
        while not ends.wait(0.2):
            writer.advance(time.time())

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
        writer.close()


def settled(agents: LiveAgents, name: str) -> bool:
    newest = {one.window: one for _, one in agents.envelopes(name)}
    wanted = sum(PARTS.values()) // WINDOW_S
    return len(newest) >= wanted and all(one.final for one in newest.values())


def windows_of(
    agents: LiveAgents, name: str, begin_s: float, truth: Mapping[int, pa.Table]
) -> Iterator[Measured]:
    reader = agents.results(name)
    revisions: dict[int, list[tuple[int, Envelope]]] = {}
    for seq, envelope in agents.envelopes(name):
        revisions.setdefault(envelope.window, []).append((seq, envelope))
    for window, found in sorted(revisions.items()):
        seq, first = next((one for one in found if one[1].covered), found[0])
        rows, last = reader.answer(seq, first), reader.answer(*found[-1])
        errors = first.withheld
        total = sum(truth[window]["requests"].to_pylist()) or 1
        lacks = _most_off(rows, truth[window]) / total
        is_true = broken_bound(errors, rows, truth[window]) is None if errors else lacks == 0.0
        yield Measured(
            first.end_us / 1e6 - begin_s,
            first.staleness_s,
            max((one.step for one in first.degraded), default=0),
            max((one.reached for one in errors.columns), default=0.0),
            lacks,
            is_true,
            is_exact := found[-1][1].exact and _most_off(last, truth[window]) == 0,
            is_exact or broken_bound(found[-1][1].withheld, last, truth[window]) is None,
        )


def _most_off(mine: pa.Table | None, truth: pa.Table) -> int:
    counts = {row["url"]: row["requests"] for row in truth.to_pylist()}
    for row in [] if mine is None else mine.to_pylist():
        counts[row["url"]] = counts.get(row["url"], 0) - row["requests"]
    return max(map(abs, counts.values()), default=0)


def report(
    found: Mapping[str, Sequence[Measured]], used: Mapping[tuple[str, str], float], kbit_s: float
) -> None:
    table = []
    for name, windows in found.items():
        begin_s = 0.0
        for part, seconds in PARTS.items():
            own = [one for one in windows if begin_s < one.end_s <= begin_s + seconds]
            begin_s += seconds
            late = [one.latency_s for one in own]
            table.append(
                (
                    name,
                    part,
                    len(own),
                    *(round(float(value), 2) for value in np.percentile(late, (50, 95, 100))),
                    round(float(np.mean([one.step for one in own])), 2),
                    round(100.0 * max(one.stated for one in own), 3),
                    round(100.0 * max(one.error for one in own), 3),
                    round(used[name, part], 2),
                    sum(one.is_exact for one in own),
                    sum(one.is_within for one in own),
                )
            )
        untrue = [one.end_s for one in windows if not one.is_true]
        print(f"{name}: windows that state something that is not true: {untrue or 'none'}")
        steps = [one.end_s for one in windows if one.step]
        if steps:
            print(f"{name}: at a level from {min(steps):.0f} s to {max(steps):.0f} s")
    print_table(HEADER, table)
    write_csv("jetstream_degraded", HEADER, table)
    lines = {
        f"latency, {name} given up": ([w.end_s for w in own], [w.latency_s for w in own])
        for name, own in found.items()
    }
    stepped = found["threshold"]
    steps_of = [float(one.step) for one in stepped]
    lines["step of the threshold"] = ([one.end_s for one in stepped], steps_of)
    draw_lines(
        "jetstream_degraded",
        lines,
        title=f"A link for {WIDE:g} times {kbit_s:.0f} kbit/s, cut to a half from 20 s to 50 s",
        x="end of the window (s)",
        y="seconds; step",
    )


def _sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.time()))


if __name__ == "__main__":
    main()
