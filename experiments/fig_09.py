"""Mortar, figures 9 and 10: true completeness and latency when clocks are off.

439 peers, windows of five seconds, one record a second at each, offsets as on PlanetLab (a fifth
beyond half a second, one in a hundred beyond 3,000 s), scaled from 0 to 100%, clocks that drift by
up to 50 ppm. True completeness: of the records that were truly born in a window, by the simulator's
own clock as the root's shows it, the share in the first answer of that window.

*Timestamps* (``time = 'event'``) and *placed once* (``time = 'age'``) are queries that run on the
product's machines; nothing is computed from offsets. *Per hop* is Mortar's own way, rebuilt in
``sim/variants/per_hop.py``: it compares no clocks, so no scale changes it. It is shown twice, from
the install on and after its timeouts have learned; ``CAUSES`` are what the paper leaves open.
"""

from __future__ import annotations

import sys

import msgspec

from experiments.common import draw_lines, mean_and_spread, print_table, timed, write_csv
from experiments.mortar_bed import bed, mean
from headwater.plan.tree import Tree
from headwater.sim.measure.findings import find
from headwater.sim.simulation import (
    make_place,
    make_roster,
    make_scenario,
    make_trees,
    run_simulation,
)
from headwater.sim.simulation_file import SimulationFile
from headwater.sim.variants.per_hop import PerHopTuning, PerHopWorld
from headwater.sim.world.latencies import World

SITES = 439
WINDOW_S = 5.0
DURATION_S = 75.0
DEADLINE_S = 6.0
SKIPPED = 2
"""The first windows, in which sites may still begin."""
SCALES = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS = 3
TIMESTAMPS, PLACED = "timestamps", "placed once (ours)"
SETTLED, WHOLE = "per hop (Mortar's), settled", "per hop (Mortar's), first 3 minutes"
TIMES = {TIMESTAMPS: "event", PLACED: "age"}
PER_HOP = {SETTLED: PerHopTuning(), WHOLE: PerHopTuning(warm_up_s=0.0, duration_s=180.0)}
CAUSES = {
    **PER_HOP,
    "installs wait unseen up to 50 ms a hop": PerHopTuning(install_wait_s=0.05),
    "installs wait unseen up to 100 ms a hop": PerHopTuning(install_wait_s=0.1),
    "installs wait unseen up to 250 ms a hop": PerHopTuning(install_wait_s=0.25),
    "timeouts of 0.75 (netDist - age)": PerHopTuning(hold_factor=0.75),
    "timeouts of 1.5 (netDist - age)": PerHopTuning(hold_factor=1.5),
    "100 ms, first 3 minutes": PerHopTuning(install_wait_s=0.1, warm_up_s=0.0, duration_s=180.0),
}
PAPER = {
    TIMESTAMPS: {0.5: "75 %, an order of magnitude longer"},
    SETTLED: dict.fromkeys(SCALES, "91 %, 6 s"),
}

Point = tuple[float, float]
"""(true completeness in per cent, latency in s from the window's end)."""


def main(seeds: int = SEEDS) -> None:
    found: dict[tuple[str, float], list[Point]] = {}
    causes: dict[str, list[Point]] = {}
    for seed in range(1, seeds + 1):
        with timed(f"seed {seed}"):
            place, trees = world_of(seed)
            for cause, tuning in CAUSES.items():
                causes.setdefault(cause, []).append(per_hop(seed, place, trees, tuning))
            for scale in SCALES:
                for way in PER_HOP:
                    found.setdefault((way, scale), []).append(causes[way][-1])
                for way, time in TIMES.items():
                    point = by_machines(file_of(seed, scale, time), place, trees)
                    found.setdefault((way, scale), []).append(point)
                    print(f"{scale:.0%} {way}: {point}", flush=True)
    report(found)
    report_causes(causes)


def file_of(seed: int, scale: float, time: str, *, sites: int = SITES) -> SimulationFile:
    return bed(
        seed=seed,
        duration=DURATION_S,
        sites=sites,
        query={"window": WINDOW_S, "deadline": DEADLINE_S, "begin_after": 8, "time": time},
        workload={"poll_every": 1.0, "polls": "aligned"},
        clocks={"kind": "planetlab", "scale": scale, "drift_ppm": 50},
    )


def world_of(seed: int, *, sites: int = SITES) -> tuple[World, tuple[Tree, ...]]:
    file = file_of(seed, 0.0, "event", sites=sites)
    place = make_place(file)
    return place, make_trees(file, make_roster(file, place), place)


def by_machines(file: SimulationFile, place: World, trees: tuple[Tree, ...]) -> Point:
    """The product itself. The root's clock is right, so that timestamps have a fair chance."""
    scenario = make_scenario(file, place=place, trees=trees)
    offsets_s = (0.0, *scenario.offsets_s[1:])
    ran = run_simulation(file, msgspec.structs.replace(scenario, offsets_s=offsets_s))
    if ran.outcome.rule:
        raise SystemExit(f"seed {file.seed}: {ran.outcome.failure}")
    windows = find(ran).windows[SKIPPED:]
    return 100 * mean([one.of_born for one in windows]), mean([one.latency_s for one in windows])


def per_hop(seed: int, place: World, trees: tuple[Tree, ...], tuning: PerHopTuning) -> Point:
    found = PerHopWorld(trees, place.one_way_s, seed=seed, tuning=tuning).run()
    return 100 * found.completeness, found.latency_s


def report(found: dict[tuple[str, float], list[Point]]) -> None:
    rows = []
    for (way, scale), points in sorted(found.items()):
        paper = PAPER.get(way, {}).get(scale, "")
        rows.append((way, scale, *_summed(points), paper))
    header = (
        "way",
        "scale",
        "seeds",
        "true_completeness",
        "sd",
        "latency_s",
        "latency_sd",
        "paper",
    )
    print_table(header, rows)
    write_csv("fig_09_10", header, rows)
    for name, column, title in (
        ("fig_09", 3, "true completeness, %"),
        ("fig_10", 5, "latency of the first answer, s"),
    ):
        draw_lines(
            name,
            {
                way: (
                    [100 * row[1] for row in rows if row[0] == way],
                    [row[column] for row in rows if row[0] == way],
                )
                for way in (*TIMES, *PER_HOP)
            },
            title="439 sites, windows of 5 s, PlanetLab's clock offsets",
            x="offsets scaled to, %",
            y=title,
        )


def report_causes(causes: dict[str, list[Point]]) -> None:
    rows = [(cause, *_summed(points)) for cause, points in causes.items()]
    header = ("per_hop", "seeds", "true_completeness", "sd", "latency_s", "latency_sd")
    print_table(header, rows)
    write_csv("fig_09_per_hop", header, rows)


def _summed(points: list[Point]) -> tuple[int, float, float, float, float]:
    """(seeds, mean completeness, its spread, mean latency, its spread)."""
    complete, spread = mean_and_spread([point[0] for point in points])
    latency_s, latency_spread_s = mean_and_spread([point[1] for point in points])
    return (
        len(points),
        round(complete, 2),
        round(spread, 2),
        round(latency_s, 2),
        round(latency_spread_s, 2),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
