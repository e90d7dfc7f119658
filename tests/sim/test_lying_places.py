"""Trees that are planned while one member says where all others are, and what they cost.

Every child of the federation's home tells where those below it are. One of them says of everybody
that they are somewhere else. Home believes it of its own branch, an eighth of the sites, and the
trees are a little longer; before, it placed them all.
"""

from __future__ import annotations

from random import Random
from statistics import mean

import pytest

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.sets import bitset
from headwater.algebra.summary import Merger
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import CoordinatesMessage, Placed
from headwater.overlay.peer import Peer
from headwater.placement.plan_trees import plan_trees
from headwater.placement.tree_latency import latency_to_root_s
from headwater.plan.query import Query
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sim.simulation import settle
from headwater.sim.world import latencies

SITES, BRANCHING, FAR_MS = 80, 8, 300.0
SEEDS = (1, 2, 3)
RATIO_MAX = 1.35
"""What one liar may cost: the mean way to the root, with it and without."""


def no_merger(query: Query) -> Merger:
    raise AssertionError("nothing is merged here")


class Place:
    """A world with its roster, the coordinates that sites find, and the federation's tree."""

    def __init__(self, kind: str, seed: int) -> None:
        make = latencies.plane if kind == "plane" else latencies.transit_stub
        self.world, self.seed = make(SITES, seed=seed), seed
        self.names = self.world.names
        sites = (Site(n, name, region=self.world.regions[n]) for n, name in enumerate(self.names))
        self.roster = Roster(1, tuple(sites), self.names[0])
        self.true = settle(self.world, seed=seed)
        self.federation = self.plan(None)

    def plan(self, coordinates: dict[str, Coordinate] | None) -> tuple[Tree, ...]:
        return plan_trees(
            self.roster,
            root=self.roster.home,
            branching=BRANCHING,
            count=4,
            coordinates=coordinates,
            seed=self.seed,
        )

    def cost_s(self, coordinates: dict[str, Coordinate]) -> float:
        def hop_s(child: int, parent: int) -> float:
            return float(self.world.one_way_s[child, parent])

        ways = [latency_to_root_s(tree, hop_s) for tree in self.plan(coordinates)]
        return mean(way_s for found in ways for way_s in found.values())

    def lies(self) -> dict[str, Coordinate]:
        chance = Random(f"lies {self.seed}")
        at = [[chance.uniform(-FAR_MS, FAR_MS) for _ in range(3)] for _ in self.names]
        return {
            name: Coordinate(x=x, y=y, z=z, height=0.1, error=0.05)
            for name, (x, y, z) in zip(self.names, at, strict=True)
        }

    def told(self, liar: int | None) -> dict[str, Coordinate]:
        """What home takes the places to be, after each of its children has spoken, the liar last
        and first."""
        home = Peer(
            site=self.roster.home,
            roster=self.roster,
            trees=self.federation,
            config=OverlayConfig(),
            merger_of=no_merger,
        )
        tree = self.federation[0]
        everybody = range(1, SITES)
        for child in (*((liar,) if liar else ()), *tree.children[0]):
            is_liar = child == liar
            below = everybody if is_liar else list(bitset.members(tree.subtree_of(child)))
            told = self.lies() if is_liar else self.true
            placed = tuple(Placed(n, told[self.names[n]]) for n in below)
            home.receive(self.names[child], CoordinatesMessage(placed), now_s=1.0)
        known = dict(home.coordinates())
        known[self.roster.home] = self.true[self.roster.home]
        return known


@pytest.mark.parametrize("kind", ["plane", "transit-stub"])
def test_one_liar_costs_its_own_branch_and_not_everybody(kind: str) -> None:
    honest, one_branch, all_of_them = [], [], []
    for seed in SEEDS:
        place = Place(kind, seed)
        base_s = place.cost_s(place.told(None))
        honest.append(base_s / place.cost_s(place.true))
        liars = place.federation[0].children[0][:3]
        one_branch += [place.cost_s(place.told(liar)) / base_s for liar in liars]
        all_of_them.append(place.cost_s(place.lies()) / base_s)
    assert mean(honest) == pytest.approx(1.0)
    assert mean(one_branch) < RATIO_MAX
    assert mean(one_branch) < mean(all_of_them) - 0.05
    print(
        f"{kind}: one branch {mean(one_branch):.2f}, at most {max(one_branch):.2f}; "
        f"all {mean(all_of_them):.2f}"
    )
