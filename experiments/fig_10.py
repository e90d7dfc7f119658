"""Mortar, figure 10: latency when clocks are off. Its picture comes with the runs of figure 9.

There, sites read right after each second of their own clocks. With clocks that are off, that is no
longer right after the end of the root's windows, and latency grows by a part of a second. Here the
same sites read in a rhythm of their own, as agents do, and what remains is what offsets do.
"""

from __future__ import annotations

import sys

import msgspec

from experiments.common import mean_and_spread, print_table, write_csv
from experiments.fig_09 import by_machines, file_of, world_of
from headwater.sim.simulation_file import SimulationFile

SCALES = (0.0, 0.5, 1.0)
SEEDS = 2


def main(seeds: int = SEEDS) -> None:
    found: dict[float, list[tuple[float, float]]] = {scale: [] for scale in SCALES}
    for seed in range(1, seeds + 1):
        place, trees = world_of(seed)
        for scale in SCALES:
            point = by_machines(in_own_rhythm(file_of(seed, scale, "age")), place, trees)
            found[scale].append(point)
            print(f"seed {seed}, {scale:.0%}: {point}", flush=True)
    rows = []
    for scale, points in found.items():
        complete = mean_and_spread([point[0] for point in points])[0]
        latency_s, spread_s = mean_and_spread([point[1] for point in points])
        rows.append((scale, seeds, round(complete, 2), round(latency_s, 2), round(spread_s, 2)))
    header = ("scale", "seeds", "true_completeness", "latency_s", "latency_sd")
    print_table(header, rows)
    write_csv("fig_10_rhythm", header, rows)


def in_own_rhythm(file: SimulationFile) -> SimulationFile:
    workload = msgspec.structs.replace(file.workload, polls="free")
    return msgspec.structs.replace(file, workload=workload)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
