"""Mortar, figure 13: how many children a site heartbeats, by the number of queries and of trees.

A query for every peer, rooted there, over all others; 1, 2 and 4 trees each. Pairs are shared: a
child counts once for a site, in however many trees and queries it is one. Peers are 340 of the test
bed (the paper ran 680), trees branch by 16, queries come in random order.
"""

from __future__ import annotations

from random import Random

from experiments.common import draw_lines, print_table, roster_of, settle, timed, write_csv
from headwater.placement.plan_trees import plan_trees
from headwater.sim.world import latencies

SITES = 340
BRANCHING = 16
TREE_COUNTS = (1, 2, 4)
TOLD = (1, 2, 5, 10, 20, 50, 100, 200, 340)
PAPER = "sub-linear in queries; 2 trees about double 1, 4 trees 50% more than 2"


def main() -> None:
    with timed(f"{SITES} queries"):
        found = measure()
    rows = [
        (queries, *(round(found[trees][queries - 1], 3) for trees in TREE_COUNTS))
        for queries in range(1, SITES + 1)
    ]
    write_csv("fig_13", ("queries", *(f"children_{trees}_trees" for trees in TREE_COUNTS)), rows)
    table = []
    for queries in TOLD:
        one, two, four = (found[trees][queries - 1] for trees in TREE_COUNTS)
        table.append((queries, one, two, four, f"{two / one:.2f}", f"{four / two:.2f}"))
    print(f"\nUnique children of a site, on average. Paper: {PAPER}.")
    print_table(("queries", "1 tree", "2 trees", "4 trees", "2 by 1", "4 by 2"), table)
    draw_lines(
        "fig_13",
        {f"{trees} trees": (range(1, SITES + 1), found[trees]) for trees in TREE_COUNTS},
        title=f"{SITES} sites, branching {BRANCHING}: a query rooted at each",
        x="queries",
        y="unique children of a site, mean",
    )


def measure() -> dict[int, list[float]]:
    """By the number of trees: the mean number of children after each further query."""
    world = latencies.transit_stub(SITES, seed=17)
    found_at = settle(world, rounds=10, neighbours=32, seed=13)
    at = dict(zip(world.names, found_at, strict=True))
    roster = roster_of(world)
    roots = list(world.names)
    Random(13).shuffle(roots)
    pairs: dict[int, set[tuple[int, int]]] = {trees: set() for trees in TREE_COUNTS}
    found: dict[int, list[float]] = {trees: [] for trees in TREE_COUNTS}
    for root in roots:
        for trees in TREE_COUNTS:
            planned = plan_trees(
                roster, root=root, branching=BRANCHING, count=trees, coordinates=at
            )
            for tree in planned:
                pairs[trees].update(tree.parents)
            found[trees].append(len(pairs[trees]) / SITES)
    return found


if __name__ == "__main__":
    main()
