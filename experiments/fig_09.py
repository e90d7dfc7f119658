"""Mortar, figures 9 and 10: true completeness and latency when clocks are off.

439 peers, windows of five seconds, offsets as on PlanetLab (a fifth beyond half a second, one in a
hundred beyond 3,000 s), scaled from 0 to 100%. See ``clock_models`` for the three ways. In the
paper timestamps fall to 75% at half of the offsets, at eight times the latency; syncless keeps
91% at 6 s. Our timestamps keep their latency, because a window has a deadline; they pay with the
sites whose clocks are behind. The latency of *placed once* is that of the run with good clocks: it
is taken over, not measured, for a placed record has nothing more to wait for.
"""

from __future__ import annotations

import sys

from experiments.clock_models import by_machines, per_hop, primary
from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv

SCALES = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS = 2
WAYS = ("timestamps", "placed once (ours)", "per hop (Mortar's)")
PAPER = {
    "timestamps": {0.5: "75 %, about 50 s"},
    "per hop (Mortar's)": dict.fromkeys(SCALES, "91 %, 6 s"),
}


def main(seeds: int = SEEDS) -> None:
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    worst_s = 0.0
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            hop = per_hop(seed, *primary(seed))
            calm_s = 0.0
            for scale in SCALES:
                stamped, placed, error_s = by_machines(seed, scale)
                worst_s = max(worst_s, error_s)
                if scale == 0.0:
                    calm_s = stamped.latency_s
                for way, point in zip(
                    WAYS, (stamped, placed._replace(latency_s=calm_s), hop), strict=True
                ):
                    found.setdefault((way, scale), []).append(tuple(point))
                    print(f"{scale:.0%} {way}: {point}", flush=True)
    report(found)
    print(f"worst error of a found offset: {1000 * worst_s:.1f} ms")


def report(found: dict[tuple[str, float], list[tuple[float, float]]]) -> None:
    rows = []
    for (way, scale), points in sorted(found.items()):
        complete, spread = mean_and_spread([point[0] for point in points])
        latency_s = mean_and_spread([point[1] for point in points])[0]
        paper = PAPER.get(way, {}).get(scale, "")
        rows.append((way, scale, len(points), round(complete, 2), round(spread, 2),
                     round(latency_s, 2), paper))  # fmt: skip
    header = ("way", "scale", "seeds", "true_completeness", "sd", "latency_s", "paper")
    print_table(header, rows)
    write_csv("fig_09_10", header, rows)
    for name, column, title in (
        ("fig_09", 3, "true completeness, %"), ("fig_10", 5, "latency of the first answer, s"),
    ):  # fmt: skip
        draw_lines(
            name,
            {
                way: ([100 * row[1] for row in rows if row[0] == way],
                      [row[column] for row in rows if row[0] == way])
                for way in WAYS
            },
            title="439 sites, windows of 5 s, PlanetLab's clock offsets",
            x="offsets scaled to, %",
            y=title,
        )  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
