"""Mortar, figure 15: 10% of 680 nodes are gone at any time, and every 10 s some are others.

As there, a twentieth of all nodes comes back every ten seconds and as many go. *Back in* is how
long after each change it takes until the first answer has at least 99% of the live nodes again.
"""

from __future__ import annotations

import sys

from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv
from experiments.mortar_bed import bed, between, mean, run
from headwater.sim.measure.findings import Findings

FIRST_S, EVERY_S, END_S = 20.0, 10.0, 110.0
DEADLINE_S = 4.0
SEEDS = 2


def main(seeds: int = SEEDS) -> None:
    all_found = []
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            file = bed(
                seed=seed,
                duration=END_S,
                faults=(
                    {"kind": "churn", "share": 0.1, "swap": 0.5, "every": EVERY_S, "from": FIRST_S},
                ),
            )
            all_found.append(run(file)[1])
    report(all_found)


def back_in_s(found: Findings) -> list[float]:
    """For each change, until 99% of the live are in again. Windows that ended up to a deadline
    before it were still under way, so they suffer from it too."""
    changes = [FIRST_S + EVERY_S * n for n in range(int((END_S - 10.0 - FIRST_S) / EVERY_S))]
    times = []
    for change_s in changes:
        windows = between(found, change_s - DEADLINE_S, change_s + EVERY_S - DEADLINE_S)
        bad = [one.end_s for one in windows if one.of_live < 0.99]
        times.append(max(0.0, bad[-1] + 1.0 - change_s) if bad else 0.0)
    return times


def report(all_found: list[Findings]) -> None:
    rows = []
    for found in all_found:
        windows = between(found, FIRST_S, END_S)
        back = back_in_s(found)
        rows.append(
            (
                found.seed,
                round(100 * mean([one.of_live for one in windows]), 2),
                round(100 * min(one.of_live for one in windows), 2),
                round(mean(back), 1),
                round(max(back), 1),
                round(mean([one.latency_s for one in windows]), 2),
                round(mean([one.hops for one in windows]), 2),
                round(found.load_bits_s.total / 1e6, 2),
                "within 10",
            )
        )
    header = (
        "seed",
        "live_in_first",
        "worst_window",
        "back_in_mean_s",
        "back_in_max_s",
        "latency_s",
        "hops",
        "load_mbit_s",
        "paper_back_in_s",
    )
    print_table(header, rows)
    means = [mean_and_spread([float(row[n]) for row in rows]) for n in (1, 3, 5)]
    print(f"means and sd over seeds: {means}")
    write_csv("fig_15", header, rows)
    windows = all_found[0].windows
    times = [one.end_s for one in windows]
    draw_lines(
        "fig_15",
        {
            "live sites": (times, [one.live for one in windows]),
            "in the first answer": (times, [one.first for one in windows]),
        },
        title="680 sites, 10% churn",
        x="seconds",
        y="sites",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
