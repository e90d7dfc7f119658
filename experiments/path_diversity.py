"""Do planned siblings give as many ways around as random trees? (Mortar, sections 3.2 and 7.2.1)

680 sites of the test bed, trees that branch by 16; a share of the sites is gone. Of those that are
left, how many still reach the root over the links of any tree, from live site to live site? Graphs
are walked; the protocol's own behaviour is the simulator's to show. The same on PlanetLab.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from experiments.common import (
    draw_lines,
    mean_and_spread,
    planetlab_or_made_up,
    print_table,
    random_tree,
    roster_of,
    settle,
    timed,
    write_csv,
)
from headwater.placement.plan_trees import plan_trees
from headwater.plan.tree import Tree
from headwater.sim.world import latencies
from headwater.sim.world.latencies import World

BRANCHING = 16
TREE_COUNTS = (1, 2, 3, 4, 5)
GONE_SHARES = (0.1, 0.2, 0.3, 0.4)
ROOTS = 10
TRIALS = 20
PAPER = {0.1: "100", 0.2: "100", 0.3: "98", 0.4: "94"}
"""Figure 12, four trees."""


def main() -> None:
    rows: list[tuple[object, ...]] = []
    for short, title, world in (
        ("transit-stub", "Mortar's test bed", latencies.transit_stub(680, seed=17)),
        ("planetlab", *planetlab_or_made_up()),
    ):
        with timed(title):
            found = measure(world)
        rows += report(short, title, found)
    header = ("world", "kind", "trees", "gone", "trials", "connected_of_live", "sd")
    write_csv("path_diversity", header, rows)


Found = dict[tuple[str, int, float], list[float]]


def measure(world: World) -> Found:
    found_at = settle(world, rounds=10, neighbours=32, seed=12)
    at = dict(zip(world.names, found_at, strict=True))
    roster = roster_of(world)
    count = len(world.names)
    random = Random(12)
    found: Found = {}
    for root in random.sample(range(count), ROOTS):
        for trees in TREE_COUNTS:
            planned = plan_trees(
                roster, root=world.names[root], branching=BRANCHING, count=trees, coordinates=at
            )
            drawn = [
                random_tree(count, root=root, branching=BRANCHING, random=random)
                for _ in range(trees)
            ]
            for kind, some in (("planned", planned), ("random", drawn)):
                for share in GONE_SHARES:
                    found.setdefault((kind, trees, share), []).extend(
                        connected(some, share, count=count, random=random) for _ in range(TRIALS)
                    )
    return found


def connected(trees: Sequence[Tree], share: float, *, count: int, random: Random) -> float:
    """Of the live sites, after a share of all has gone."""
    root = trees[0].root
    gone = set(random.sample([n for n in range(count) if n != root], round(share * count)))
    children: dict[int, set[int]] = {}
    for tree in trees:
        for child, parent in tree.parents:
            if child not in gone and parent not in gone:
                children.setdefault(parent, set()).add(child)
    reached = {root}
    open_ = [root]
    while open_:
        fresh = children.get(open_.pop(), set()) - reached
        reached |= fresh
        open_.extend(fresh)
    return len(reached) / (count - len(gone))


def report(short: str, title: str, found: Found) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for (kind, trees, share), values in sorted(found.items()):
        mean, spread = mean_and_spread(values)
        rows.append((short, kind, trees, share, len(values), round(mean, 4), round(spread, 4)))
    print(f"\n{title}: live sites connected, %, when so many are gone")
    table: list[tuple[object, ...]] = [
        (kind, trees, *(f"{100 * mean_and_spread(found[kind, trees, s])[0]:.1f}" for s in PAPER))
        for kind in ("planned", "random")
        for trees in TREE_COUNTS
    ]
    print_table(
        ("", "trees", *(f"{share:.0%}" for share in PAPER)),
        [*table, ("paper, figure 12", 4, *PAPER.values())],
    )
    draw_lines(
        f"path_diversity_{short}",
        {
            f"{kind}, {trees} trees": (
                [100 * share for share in GONE_SHARES],
                [100 * mean_and_spread(found[kind, trees, share])[0] for share in GONE_SHARES],
            )
            for kind in ("planned", "random")
            for trees in (1, 2, 4)
        },
        title=f"{title}: branching {BRANCHING}",
        x="sites gone, %",
        y="live sites connected, %",
    )
    return rows


if __name__ == "__main__":
    main()
