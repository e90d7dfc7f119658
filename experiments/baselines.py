"""What others do, on the same world: one tree, and everything to one collector.

680 sites; 20% of them are disconnected from 20 s on. *One tree* is a query with a single tree and
no last resort; *collector* has every site send straight to the root (a tree of one level), which
also shows what the root then carries; *ours* is four trees with the last resort.
"""

from __future__ import annotations

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.mortar_bed import SITES, bed, between, mean, run

GONE_S, SETTLED_S, END_S = 20.0, 32.0, 50.0
SHARE = 0.2
CASES = {
    "ours: four trees, last resort": (4, 16, True),
    "one tree": (1, 16, False),
    "collector": (1, SITES, False),
}


def main() -> None:
    rows, lines = [], {}
    for name, (trees, branching, last_resort) in CASES.items():
        with timed(name):
            file = bed(
                seed=1,
                duration=END_S,
                trees=trees,
                branching=branching,
                last_resort=last_resort,
                faults=({"kind": "nodes", "share": SHARE, "from": GONE_S},),
            )
            ran, found = run(file)
        settled = between(found, SETTLED_S, END_S)
        calm = between(found, 0.0, GONE_S - 6.0)
        root = ran.scenario.roster.home
        node = ran.world.sites[root].node
        assert node is not None
        rows.append(
            (
                name,
                round(100 * mean([one.of_live for one in settled]), 2),
                round(mean([one.latency_s for one in calm]), 2),
                round(mean([one.latency_s for one in settled]), 2),
                round(found.load_bits_s.total / 1e6, 2),
                round(found.load_bits_s.summaries / 1e6, 2),
                sum(1 for _ in node.peer.neighbours()),
            )
        )
        windows = found.windows
        lines[name] = ([one.end_s for one in windows], [100 * one.of_live for one in windows])
    header = (
        "case",
        "live_in_first",
        "latency_calm_s",
        "latency_failed_s",
        "load_mbit_s",
        "summaries_mbit_s",
        "links_of_the_root",
    )
    print_table(header, rows)
    write_csv("baselines", header, rows)
    draw_lines(
        "baselines",
        lines,
        title=f"680 sites, {SHARE:.0%} disconnected at {GONE_S:.0f} s",
        x="seconds",
        y="live sites in the first answer, %",
    )


if __name__ == "__main__":
    main()
