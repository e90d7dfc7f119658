"""Mortar, figure 17: the latency to the root of random, planned and sibling trees.

179 sites, Vivaldi for ten rounds (each site hears each of 32 random neighbours once a round), then
30 graphs for each branching factor: five choices of sites with six roots each. Trees are planned on
coordinates and judged by the true delays: the 90th percentile over the sites of the one-way latency
to the root along the tree, averaged over the graphs.
"""

from __future__ import annotations

from random import Random

import numpy as np

from experiments.common import (
    draw_lines,
    mean_and_spread,
    planetlab_or_made_up,
    print_table,
    random_tree,
    roster_of,
    settle,
    some_of,
    timed,
    write_csv,
)
from headwater.placement.plan_trees import plan_trees
from headwater.placement.tree_latency import latency_to_root_s
from headwater.plan.tree import Tree
from headwater.sim.world import latencies
from headwater.sim.world.latencies import World

SITES = 179
BRANCHINGS = (2, 4, 8, 16, 32)
CHOICES = 5
ROOTS = 6
ROUNDS = 10
NEIGHBOURS = 32
TREES = 4
PAPER = "30 to 50% below random; siblings keep most of it"

Found = dict[tuple[int, str], list[float]]


def main() -> None:
    test_bed = latencies.transit_stub(680, seed=17)
    worlds = (
        ("transit-stub", "Mortar's test bed", test_bed),
        ("planetlab", *planetlab_or_made_up()),
    )
    rows: list[tuple[object, ...]] = []
    for short, title, world in worlds:
        with timed(title):
            found = measure(world)
        rows += report(short, title, found)
    write_csv(
        "fig_17",
        ("world", "branching", "tree", "graphs", "p90_ms_mean", "p90_ms_sd", "below_random"),
        rows,
    )


def measure(world: World) -> Found:
    """Milliseconds of every graph, by branching and kind of tree."""
    found: Found = {}
    for choice in range(CHOICES):
        random = Random(choice)
        part = some_of(world, SITES, random=random)
        found_at = settle(part, rounds=ROUNDS, neighbours=NEIGHBOURS, seed=choice)
        at = dict(zip(part.names, found_at, strict=True))
        roster = roster_of(part)
        for root in random.sample(range(SITES), ROOTS):
            for branching in BRANCHINGS:
                planned, *siblings = plan_trees(
                    roster,
                    root=part.names[root],
                    branching=branching,
                    count=TREES,
                    coordinates=at,
                    seed=root,
                )
                by_chance = random_tree(SITES, root=root, branching=branching, random=random)
                found.setdefault((branching, "random"), []).append(p90_ms(by_chance, part))
                found.setdefault((branching, "planned"), []).append(p90_ms(planned, part))
                of_siblings = [p90_ms(tree, part) for tree in siblings]
                found.setdefault((branching, "sibling"), []).append(float(np.mean(of_siblings)))
    return found


def p90_ms(tree: Tree, world: World) -> float:
    to_root_s = latency_to_root_s(tree, lambda one, other: float(world.one_way_s[one, other]))
    return 1_000.0 * float(np.percentile([to_root_s[n] for n in to_root_s if n != tree.root], 90))


def report(short: str, title: str, found: Found) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    table = []
    for branching in BRANCHINGS:
        by_chance, _ = mean_and_spread(found[branching, "random"])
        line: list[object] = [branching]
        for kind in ("random", "planned", "sibling"):
            mean, spread = mean_and_spread(found[branching, kind])
            below = 1.0 - mean / by_chance
            graphs = len(found[branching, kind])
            rows.append(
                (short, branching, kind, graphs, round(mean, 2), round(spread, 2), round(below, 3))
            )
            line.append(f"{mean:.0f} ± {spread:.0f}")
            line.append(f"-{below:.0%}")
        table.append([*line[:2], *line[3:]])
    print(f"\n{title}: 90th percentile latency to the root, ms. Paper: {PAPER}.")
    print_table(("bf", "random", "planned", "", "sibling", ""), table)
    lines = {
        kind: (BRANCHINGS, [mean_and_spread(found[bf, kind])[0] for bf in BRANCHINGS])
        for kind in ("random", "planned", "sibling")
    }
    draw_lines(
        f"fig_17_{short}",
        lines,
        title=f"{title}: latency to the root, {SITES} sites",
        x="branching factor",
        y="90th percentile, ms one way",
        x_is_log=True,
    )
    return rows


if __name__ == "__main__":
    main()
