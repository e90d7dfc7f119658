"""Federations on made-up maps, and what the tests of placement ask of their trees."""

from random import Random

from headwater.algebra.coordinate import Coordinate
from headwater.placement.tree_latency import latency_to_root_s, most_within_s
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree


def roster_of(count, *, undialable=(), regions=1):
    return Roster(
        1,
        tuple(
            Site(n, f"s{n}", region=f"r{n % regions}", dialable=n not in undialable)
            for n in range(count)
        ),
        "s0",
    )


def towns(count, *, seed, town_count=12):
    """Sites in towns of a country 150 ms wide, each with an access link of its own."""
    random = Random(seed)
    centres = [[random.uniform(0, 150) for _ in range(3)] for _ in range(town_count)]
    found = {}
    for n in range(count):
        x, y, z = (random.gauss(at, 2.0) for at in random.choice(centres))
        found[f"s{n}"] = Coordinate(x=x, y=y, z=z, height=random.uniform(0.1, 5.0), error=0.1)
    return found


def fan_in(tree):
    counts = {}
    for _, parent in tree.parents:
        counts[parent] = counts.get(parent, 0) + 1
    return max(counts.values(), default=0)


def one_way(coordinates):
    return lambda n, m: coordinates[f"s{n}"].distance_s(coordinates[f"s{m}"]) / 2


def p90_s(tree, coordinates):
    found = latency_to_root_s(tree, one_way(coordinates))
    return most_within_s([found[n] for n in found if n != tree.root])


def random_tree(count, *, branching, random):
    order = list(range(1, count))
    random.shuffle(order)
    order.insert(0, 0)
    return Tree(0, tuple((order[n], order[(n - 1) // branching]) for n in range(1, count)))


def reached(trees, gone):
    found, open_ = {0}, [0]
    while open_:
        place = open_.pop()
        for tree in trees:
            for child, parent in tree.parents:
                if parent == place and child not in found and child not in gone:
                    found.add(child)
                    open_.append(child)
    return found
