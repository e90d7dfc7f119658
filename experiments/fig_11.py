"""Mortar, figure 11: a query is installed on 680 nodes of which a share can't be reached.

The unreachable are cut off when the query is installed, and are reconnected 30 s later. Measured
is how many have the query after a while: of the connected ones, and of all. In the paper all 680
have it in under 10 s without failures; with 40% down, 54.5% of all nodes have it before the
others are back, and soon after that all.
"""

from __future__ import annotations

import sys

from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv
from experiments.mortar_bed import SITES, bed, run
from headwater.sim.scenario import START_S

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
INSTALL_S, BACK_S, END_S = 12.0, 42.0, 85.0
"""Heartbeats run for a while before, so that the unreachable are known to be."""
SEEDS = 2
PAPER = {0.0: "all in < 10 s", 0.4: "54.5% before, all after"}


def main(seeds: int = SEEDS) -> None:
    found: dict[float, list[list[float]]] = {}
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            for share in SHARES:
                found.setdefault(share, []).append(measure(seed, share))
    report(found)


def measure(seed: int, share: float) -> list[float]:
    """When each site had the query, in seconds since it was given."""
    faults = ({"kind": "nodes", "share": share, "from": INSTALL_S - 0.5, "until": BACK_S},)
    file = bed(
        seed=seed,
        duration=END_S,
        faults=faults if share else (),
        query={"window": 5.0, "install_at": INSTALL_S, "begin_after": 20},
        workload={"poll_every": 5.0},
    )
    ran, _ = run(file)
    return sorted(at_s - START_S - INSTALL_S for at_s in ran.gauge.installed_s.values())


def report(found: dict[float, list[list[float]]]) -> None:
    rows, lines = [], {}
    for share, runs in found.items():
        before = [sum(at_s < BACK_S - INSTALL_S for at_s in one) / SITES for one in runs]
        live = [value / (1 - share) for value in before]
        last_s = [
            max((at_s for at_s in one if at_s < BACK_S - INSTALL_S), default=0.0) for one in runs
        ]
        after = [len(one) / SITES for one in runs]
        whole_s = [one[-1] - (BACK_S - INSTALL_S if share else 0.0) for one in runs]
        rows.append(
            (
                share,
                len(runs),
                round(100 * mean_and_spread(before)[0], 1),
                round(100 * mean_and_spread(live)[0], 1),
                round(mean_and_spread(last_s)[0], 2),
                round(100 * mean_and_spread(after)[0], 1),
                round(mean_and_spread(whole_s)[0], 2),
                PAPER.get(share, ""),
            )
        )
        lines[f"{share:.0%} unreachable"] = (
            [0.0, *runs[0]],
            [100 * n / SITES for n in range(len(runs[0]) + 1)],
        )
    header = (
        "unreachable",
        "seeds",
        "have_it_before",
        "of_connected",
        "last_of_those_s",
        "have_it_after",
        "all_after_reconnect_s",
        "paper",
    )
    print_table(header, rows)
    write_csv("fig_11", header, rows)
    draw_lines(
        "fig_11",
        lines,
        title="Installing on 680 sites; reconnected after 30 s",
        x="seconds since the install",
        y="sites with the query, %",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
