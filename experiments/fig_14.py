"""Mortar, figure 14: rolling failures of 10, 20, 30 and 40% of 680 nodes, a minute each.

Measured: live nodes in the first answer, the time from a failure until answers are whole again,
the latency of first answers, the length of ways, and the load. *Stable* is the first window from
which on, for five windows, at most 1% less of the live nodes are in than in the settled part of
that failure (its last 20 s). The load is counted once for each overlay hop.
"""

from __future__ import annotations

import sys

from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv
from experiments.mortar_bed import bed, between, mean, run
from headwater.sim.measure.findings import Findings

SHARES = (0.1, 0.2, 0.3, 0.4)
DOWN_S, UP_S, FIRST_S = 60.0, 30.0, 20.0
END_S = FIRST_S + len(SHARES) * (DOWN_S + UP_S)
SEEDS = 1
PAPER = {
    "completeness": (100, 100, 98, 94),
    "stable_s": (7, 7, 7, 7),
    "latency_s": (4.5,) * 4,
    "hops": ("4", "", "", "up to 7"),
}
RUN_LENGTH = 5
"""So many windows in a row must be whole for answers to be stable."""


def main(seeds: int = SEEDS) -> None:
    rows: list[list[tuple[float, ...]]] = []
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            found, loads = measure(seed)
        rows.append([of_failure(found, number) for number in range(len(SHARES))])
    report(rows, found, loads)


def measure(seed: int) -> tuple[Findings, dict[int, float]]:
    file = bed(
        seed=seed,
        duration=END_S,
        faults=(
            {"kind": "rolling", "from": FIRST_S, "shares": SHARES, "down": DOWN_S, "up": UP_S},
        ),
    )
    ran, found = run(file)
    seconds = sorted({second for by in ran.gauge.load_bytes.values() for second in by})
    first = seconds[0]
    loads = {
        second - first: 8e-6 * sum(by[second] for by in ran.gauge.load_bytes.values())
        for second in seconds
    }
    print(f"stages {found.stages}; load {found.load_bits_s}; verdict {found.verdict}")
    return found, loads


def of_failure(found: Findings, number: int) -> tuple[float, ...]:
    """(all windows, settled, worst, stable after, latency, hops, limit upwards)."""
    begun_s = FIRST_S + number * (DOWN_S + UP_S)
    windows = between(found, begun_s, begun_s + DOWN_S)
    settled = between(found, begun_s + DOWN_S - 20.0, begun_s + DOWN_S - 2.0)
    level = mean([one.of_live for one in settled])
    stable_s = float("nan")
    for place, one in enumerate(windows):
        following = windows[place : place + RUN_LENGTH]
        if all(other.of_live >= level - 0.01 for other in following):
            stable_s = one.end_s - begun_s
            break
    return (
        100 * mean([one.of_live for one in windows]),
        100 * level,
        100 * min(one.of_live for one in windows),
        stable_s,
        mean([one.latency_s for one in windows]),
        mean([one.hops for one in settled]),
        100 * mean([one.upwards / one.live for one in settled]),
    )


def report(runs: list[list[tuple[float, ...]]], found: Findings, loads: dict[int, float]) -> None:
    header = (
        "gone",
        "seeds",
        "live_in_first_all",
        "live_in_first_settled",
        "sd",
        "worst_window",
        "stable_after_s",
        "latency_mean_s",
        "hops",
        "limit_upwards",
        "paper_completeness",
        "paper_stable_s",
        "paper_latency_s",
        "paper_hops",
    )
    rows = []
    for number, share in enumerate(SHARES):
        of = [one[number] for one in runs]
        means = [mean_and_spread([one[column] for one in of])[0] for column in range(7)]
        spread = mean_and_spread([one[1] for one in of])[1]
        rows.append(
            (
                share,
                len(runs),
                round(means[0], 2),
                round(means[1], 2),
                round(spread, 2),
                round(means[2], 2),
                round(means[3], 1),
                round(means[4], 2),
                round(means[5], 2),
                round(means[6], 2),
                *(PAPER[what][number] for what in PAPER),
            )
        )
    print_table(header, rows)
    write_csv("fig_14", header, rows)
    series = [
        (
            one.end_s,
            one.live,
            one.upwards,
            one.first,
            one.covered_last,
            one.latency_s,
            one.hops,
            round(loads.get(int(one.end_s), 0.0), 3),
        )
        for one in found.windows
    ]
    names = ("end_s", "live", "upwards", "first", "newest", "latency_s", "hops", "load_mbit_s")
    write_csv("fig_14_series", names, series)
    times = [row[0] for row in series]
    draw_lines(
        "fig_14",
        {
            "live sites": (times, [row[1] for row in series]),
            "in the first answer": (times, [row[3] for row in series]),
            "latency, 1/100 s": (times, [100 * row[5] for row in series]),
            "load, 1/100 Mbit/s": (times, [100 * row[7] for row in series]),
        },
        title="680 sites, rolling failures of 10, 20, 30, 40% for 60 s",
        x="seconds",
        y="sites",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
