"""Mortar, figure 12: live nodes in the answer when a share of all is disconnected.

680 peers, trees of 16, one to five of them, with and without the last resort. The nodes are
disconnected while the query runs. The mean is over the windows that begin from 30 s after that:
how long it takes to get there is figure 14's question. Windows of two seconds here, to halve the
time that a run takes; who is in an answer does not depend on it. *Limit* is the share of live
nodes with a live path to the root up the links of any trees, which is what figure 1 and
path_diversity walk; *either way* also allows steps down.
"""

from __future__ import annotations

import sys

from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv
from experiments.mortar_bed import bed, between, mean, run

SHARES = (0.1, 0.2, 0.3, 0.4)
CASES = ((4, True), (4, False), (2, False), (1, False), (3, False), (5, False))
"""(trees, with last resort)."""
SEEDS = 3
"""Beyond the first only for four trees: a run is a minute, and which nodes are drawn matters much
(the limit has a standard deviation of 5 points at 40%; see path_diversity)."""
GONE_S = 14.0
SETTLED_S = GONE_S + 30.0
END_S = 58.0
PAPER = {0.1: 100.0, 0.2: 100.0, 0.3: 98.0, 0.4: 94.0}
"""Four trees."""

Key = tuple[int, bool, float]


def main(seeds: int = SEEDS) -> None:
    found: dict[Key, list[tuple[float, float, float]]] = {}
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            for trees, last_resort in CASES if seed == 1 else CASES[:2]:
                for share in SHARES:
                    key = (trees, last_resort, share)
                    found.setdefault(key, []).append(measure(seed, *key))
                report(found)
    report(found, draws=True)


def measure(seed: int, trees: int, last_resort: bool, share: float) -> tuple[float, float, float]:
    """(in the first answer, the limit upwards, and either way), of live nodes in per cent."""
    file = bed(
        seed=seed,
        duration=END_S,
        trees=trees,
        last_resort=last_resort,
        faults=({"kind": "nodes", "share": share, "from": GONE_S},),
        query={"window": 2.0},
        workload={"poll_every": 2.0},
    )
    _, findings = run(file)
    windows = between(findings, SETTLED_S, END_S)
    first = 100 * mean([one.of_live for one in windows])
    limit = 100 * mean([one.upwards / one.live for one in windows])
    either = 100 * mean([one.by_trees / one.live for one in windows])
    case = f"{trees} trees, last resort {last_resort}, {share:.0%} gone"
    print(f"{case}: {first:.2f}, limit {limit:.2f}", flush=True)
    return first, limit, either


def report(found: dict[Key, list[tuple[float, float, float]]], *, draws: bool = False) -> None:
    rows, lines = [], {}
    for (trees, last_resort, share), values in sorted(found.items()):
        first, spread = mean_and_spread([one[0] for one in values])
        limit = mean_and_spread([one[1] for one in values])[0]
        either = mean_and_spread([one[2] for one in values])[0]
        paper = PAPER[share] if trees == 4 else ""
        rows.append(
            (
                trees,
                last_resort,
                share,
                len(values),
                round(first, 2),
                round(spread, 2),
                round(limit, 2),
                round(either, 2),
                paper,
            )
        )
    for trees, last_resort in CASES:
        points = [row for row in rows if row[:2] == (trees, last_resort)]
        label = f"{trees} trees" + (", last resort" if last_resort else "")
        lines[label] = ([100 * row[2] for row in points], [row[4] for row in points])
    four = [row for row in rows if row[:2] == (4, False)]
    shares = [100 * row[2] for row in four]
    lines["what 4 trees allow, upwards"] = (shares, [row[6] for row in four])
    lines["what 4 trees allow, either way"] = (shares, [row[7] for row in four])
    lines["paper, 4 trees"] = ([100 * share for share in PAPER], list(PAPER.values()))
    header = (
        "trees",
        "last_resort",
        "gone",
        "seeds",
        "live_in_first",
        "sd",
        "limit_upwards",
        "limit_either_way",
        "paper",
    )
    write_csv("fig_12", header, rows)
    if draws:
        print_table(header, rows)
        draw_lines(
            "fig_12",
            lines,
            title="680 sites, branching 16: live sites in the first answer",
            x="sites disconnected, %",
            y="live sites in the first answer, %",
            y_from=55.0,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
