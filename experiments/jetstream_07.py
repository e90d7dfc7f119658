"""JetStream, figures 7 and 8: latency while links are cut to a half, and to a quarter, and back.

80 sources with a link each, which carries half as much again as a source needs: requests for URLs,
1,000 a second, counted by URL every second. A pane is late by what it takes from its end until its
last byte has arrived. *None*: nothing is given up. *Measured*: a threshold on the count, then a
sample of URLs, by the product's rule, its estimates and its measure of the link. *Known*: the same,
told what the link carries, which shows what the measure costs. ``jetstream/source.py`` says what of
it is the product and what is a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.jetstream.requests import Requests
from experiments.jetstream.source import Source, bytes_of
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind

SOURCES = 80
PER_S = 1_000.0
SPARE = 1.5
PHASES = (
    ("wide", 90, 1.0),
    ("half", 90, 0.5),
    ("wide again", 90, 1.0),
    ("quarter", 90, 0.25),
    ("wide at last", 90, 1.0),
)
SECONDS = sum(length for _, length, _ in PHASES)
LIMIT = 0.01
PLAN = Degradation(
    (
        Operator(OperatorKind.THRESHOLD, (1 / 64, 1 / 16, 1 / 4, 1.0), "hits"),
        Operator(OperatorKind.SAMPLE, (1 / 2, 1 / 4, 1 / 8, 1 / 16), "url"),
    )
)
SMOOTHED_S = 8
"""As in the paper."""
MODES = ("none", "measured", "known")
Floats = NDArray[np.float64]


class Row(NamedTuple):
    mode: str
    phase: str
    median_s: float
    p95_s: float
    max_s: float
    step: float
    """On average."""
    left_out: float
    """Of the requests, the share that is in no pane that was sent."""


def link(full: float) -> Callable[[float], float]:
    ends = np.cumsum([length for _, length, _ in PHASES])

    def rate(now_s: float) -> float:
        at = min(int(np.searchsorted(ends, now_s, side="right")), len(PHASES) - 1)
        return SPARE * full * PHASES[at][2]

    return rate


def sources(mode: str, count: int = SOURCES, *, per_s: float = PER_S) -> list[Source]:
    needs = np.full(SECONDS, per_s)
    rows = [np.count_nonzero(Requests(needs, seed=n).of(0)) for n in range(5)]
    full = bytes_of(round(float(np.mean(rows))))
    plan = None if mode == "none" else PLAN
    return [
        Source(Requests(needs, seed=n), plan, LIMIT, link(full), is_known=mode == "known").run(
            SECONDS
        )
        for n in range(count)
    ]


def latencies(found: Sequence[Source]) -> Floats:
    """By source and second; what had not arrived by the end is late by at least the rest."""
    late = [[min(one.latency_s, SECONDS - one.end_s) for one in source.sent] for source in found]
    return np.array(late)


def rows_of(mode: str, found: Sequence[Source]) -> list[Row]:
    late, steps = latencies(found), np.array([source.steps for source in found])
    lost = np.array([[one.lost_counts.sum() / max(1, one.asked) for one in s.sent] for s in found])
    rows, start = [], 0
    for phase, length, _ in PHASES:
        span = slice(start, start + length)
        part = late[:, span]
        rows.append(
            Row(
                mode,
                phase,
                float(np.median(part)),
                float(np.percentile(part, 95)),
                float(part.max()),
                float(steps[:, span].mean()),
                float(lost[:, span].mean()),
            )
        )
        start += length
    return rows


def main() -> None:
    rows: list[Row] = []
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for mode in MODES:
        with timed(mode):
            found = sources(mode)
        rows += rows_of(mode, found)
        late = latencies(found)
        at = list(range(SMOOTHED_S, SECONDS, SMOOTHED_S))
        seen = [float(np.percentile(late[:, n - SMOOTHED_S : n], 95)) for n in at]
        lines[f"{mode}: 95th percentile"] = ([float(n) for n in at], seen)
        print(f"{mode}: all sources are at full fidelity again from {max(map(_back, found))} s on")
    header = Row._fields
    shown = [(*row[:2], *(f"{value:.3g}" for value in row[2:])) for row in rows]
    print_table(header, shown)
    write_csv("jetstream_07", header, shown)
    draw_lines(
        "jetstream_07",
        lines,
        title="80 links cut to a half (90 s to 180 s) and a quarter (270 s to 360 s)",
        x="seconds",
        y="seconds from the end of a pane to its arrival",
    )


def _back(source: Source) -> int:
    """The second from which on nothing is given up any more."""
    given_up = [second for second, step in enumerate(source.steps) if step]
    return given_up[-1] + 1 if given_up else 0


if __name__ == "__main__":
    main()
