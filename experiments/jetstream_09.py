"""JetStream, figure 9: policies under a cap of 80 kbit/s a source.

A day of requests in five minutes, counted by URL every second at 80 sources: the curve of the day
is that of NASA's web server, 1,000 a second on average, which needs more than the cap. Each policy
goes by the product's rule and estimates, with the budget as the way. An error is that of one URL:
by how much its count is too small in the answer of one window, over all sources, as a share of all
requests of the window; the largest is stated. ``jetstream/source.py`` says what of it is the
product and what is a model: coarse panes are held and put together there, samples are cut there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.jetstream.requests import URLS, Requests, day_curve
from experiments.jetstream.source import Source
from headwater.plan.altered.link_share import CONTROL_SHARE
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind

SOURCES = 80
SECONDS = 300
PER_S = 1_000.0
CAP = 10_000.0
"""Bytes a second."""
LIMIT = 0.01
STRETCH_S = 10
TIME_5 = Operator(OperatorKind.COARSEN_TIME, (5e6,))
TIME_10 = Operator(OperatorKind.COARSEN_TIME, (5e6, 10e6))
SAMPLE = Operator(OperatorKind.SAMPLE, (1 / 2, 1 / 4, 1 / 8, 1 / 16), "url")
THRESHOLD = Operator(OperatorKind.THRESHOLD, (1 / 64, 1 / 16, 1 / 4, 1.0), "hits")
POLICIES: Mapping[str, tuple[Operator, ...]] = {
    "none": (),
    "windows to 5 s": (TIME_5,),
    "windows to 10 s": (TIME_10,),
    "sample": (SAMPLE,),
    "threshold": (THRESHOLD,),
    "windows to 5 s, then threshold": (TIME_5, THRESHOLD),
}


Floats = NDArray[np.float64]


class Row(NamedTuple):
    policy: str
    kbit_per_s: float
    """What a source has made to be sent, on average."""
    most_of_cap: float
    """The most that a source has sent in ten seconds, as a share of the cap."""
    waiting_s: float
    """How long what waits at the end would take, on average."""
    p95_s: float
    """Latency, from the end of the pane or coarse pane on."""
    step: float
    full_share: float
    """Of the seconds of all sources, at full fidelity."""
    error: float
    """The largest of any URL in any window, as a share of all requests."""
    left_out: float
    """Of all requests."""


def sources(plan: Degradation | None, count: int = SOURCES) -> list[Source]:
    rates = PER_S * day_curve(SECONDS)
    budget = CAP * (1.0 - CONTROL_SHARE)
    return [
        Source(Requests(rates, seed=n), plan, LIMIT, lambda now_s: budget, budget=budget).run(
            SECONDS
        )
        for n in range(count)
    ]


def row_of(policy: str, found: Sequence[Source]) -> Row:
    made = sum(one.bytes for source in found for one in source.sent)
    late = [min(o.latency_s, SECONDS + 60.0 - o.end_s) for source in found for o in source.sent]
    steps = np.array([source.steps for source in found])
    left = np.mean([sum(one.left for one in source.sent) for source in found])
    asked = sum(one.asked for source in found for one in source.sent)
    lost = sum(int(one.lost_counts.sum()) for source in found for one in source.sent)
    return Row(
        policy,
        made * 8.0 / 1_000.0 / len(found) / SECONDS,
        max(_most(source.carried) for source in found) / (CAP * STRETCH_S),
        float(left) / (CAP * (1.0 - CONTROL_SHARE)),
        float(np.percentile(late, 95)),
        float(steps.mean()),
        float((steps == 0).mean()),
        error_of(found),
        lost / asked,
    )


def error_of(found: Sequence[Source]) -> float:
    """Windows are those of the moment at which panes end."""
    lost: dict[float, Floats] = {}
    asked: dict[float, int] = {}
    for source in found:
        for one in source.sent:
            total = lost.setdefault(one.end_s, np.zeros(URLS))
            np.add.at(total, one.lost_urls, one.lost_counts)
            asked[one.end_s] = asked.get(one.end_s, 0) + one.asked
    return max(float(lost[at].max()) / max(1, asked[at]) for at in lost)


def _most(carried: Sequence[float]) -> float:
    return float(np.convolve(carried, np.ones(STRETCH_S)).max())


def main() -> None:
    rows, lines = [], {}
    for policy, operators in POLICIES.items():
        with timed(policy):
            found = sources(Degradation(operators) if operators else None)
        rows.append(row_of(policy, found))
        made = np.zeros(SECONDS + 1)
        for source in found:
            for one in source.sent:
                made[int(one.end_s)] += one.bytes
        smooth = np.convolve(made, np.ones(STRETCH_S) / STRETCH_S)[STRETCH_S:SECONDS]
        at = list(range(STRETCH_S, SECONDS, 5))
        kbits = smooth * 8.0 / 1_000.0 / len(found)
        lines[policy] = ([float(n) for n in at], [float(kbits[n - STRETCH_S]) for n in at])
    lines["cap"] = ([0.0, float(SECONDS)], [CAP * 8.0 / 1_000.0] * 2)
    header = Row._fields
    shown = [(row[0], *(f"{value:.4g}" for value in row[1:])) for row in rows]
    print_table(header, shown)
    write_csv("jetstream_09", header, shown)
    draw_lines(
        "jetstream_09",
        lines,
        title="A day of requests by URL, 80 kbit/s a source",
        x="seconds",
        y="kbit/s that a source makes, over ten seconds",
    )


if __name__ == "__main__":
    main()
