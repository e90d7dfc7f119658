"""How well coordinates predict round trips: the median relative error of Vivaldi.

Each site hears each of 32 random neighbours once a round. Compared are all pairs, also those that
never measured each other. Five seeds: other neighbours, other order, other first steps.
"""

from __future__ import annotations

import numpy as np

from experiments.common import (
    DATA,
    draw_lines,
    mean_and_spread,
    planetlab_or_made_up,
    print_table,
    relative_errors,
    settle,
    timed,
    write_csv,
)
from headwater.algebra.coordinate import Coordinate
from headwater.sim.world import latencies
from headwater.sim.world.latencies import World

SEEDS = 5
ROUNDS = 20
ROUNDS_TOLD = (1, 2, 5, 10, 20)
NEIGHBOURS = 32
PAPER = "Vivaldi's abstract: 11% for 1740 hosts, measured otherwise (no such data here)"


def main() -> None:
    rows: list[tuple[object, ...]] = []
    lines = {}
    table = []
    for title, world in worlds():
        with timed(title):
            medians, tails = measure(world)
        spread_by_round = {n: mean_and_spread(medians[n]) for n in ROUNDS_TOLD}
        for n, (mean, spread) in spread_by_round.items():
            tail = mean_and_spread(tails[n])[0]
            rows.append((title, n, SEEDS, round(mean, 4), round(spread, 4), round(tail, 4)))
        lines[title] = (ROUNDS_TOLD, [100 * mean for mean, _ in spread_by_round.values()])
        table.append(
            (
                title,
                *(f"{100 * mean:.1f} ± {100 * sd:.1f}" for mean, sd in spread_by_round.values()),
                f"{100 * mean_and_spread(tails[ROUNDS])[0]:.0f}",
            )
        )
    print(f"\nMedian relative error, %, after so many rounds. {PAPER}.")
    print_table(("world", *ROUNDS_TOLD, "p90 at last"), table)
    header = ("world", "rounds", "seeds", "median_error_mean", "median_error_sd", "p90_error_mean")
    write_csv("coordinates", header, rows)
    draw_lines(
        "coordinates",
        lines,
        title="Vivaldi, 32 neighbours",
        x="rounds",
        y="median relative error, %",
        x_is_log=True,
    )


def worlds() -> list[tuple[str, World]]:
    found = [
        planetlab_or_made_up(),
        ("Mortar's test bed (340 nodes)", latencies.transit_stub(340, seed=17)),
    ]
    if (DATA / latencies.WONDER_PINGS).exists():
        found.append(("WonderNetwork (230 cities)", latencies.wonder_network(DATA)))
    if (DATA / latencies.SEATTLE).exists():
        found.append(("Seattle (99 devices)", latencies.seattle(DATA)))
    return found


def measure(world: World) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """The medians and the 90th percentiles, by round, of every seed."""
    medians: dict[int, list[float]] = {n: [] for n in ROUNDS_TOLD}
    tails: dict[int, list[float]] = {n: [] for n in ROUNDS_TOLD}

    def look(number: int, coordinates: list[Coordinate]) -> None:
        if number in medians:
            errors = relative_errors(coordinates, world)
            medians[number].append(float(np.median(errors)))
            tails[number].append(float(np.percentile(errors, 90)))

    for seed in range(SEEDS):
        settle(world, rounds=ROUNDS, neighbours=NEIGHBOURS, seed=seed, after_round=look)
    return medians, tails


if __name__ == "__main__":
    main()
