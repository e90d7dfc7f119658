"""Leaves of sibling trees trade places, so that a site's ways to the root do not fail together.

Siblings keep the primary's clusters, and with them its weak places: when the heads that a cluster
has in all trees are gone, so is the cluster. Mortar leaves it at that (section 3.2). Here a few
hundred failures are drawn, and for each site it is found in which of them it would reach the root
over the links of any tree. Then a leaf that depends on one tree in draws in which that tree fails
it trades places with a leaf under another head near by, where the two together gain::

        p       q              p       q
       / \\     / \\    ─>      / \\     / \\      v's other ways go when p goes, u's do not
      v   w   u   x          u   w   v   x

Trees keep their shape, so branching and depth hold, and inner nodes their places. Nobody is moved
farther from the root than nine in ten leaves of the tree are, so that the latency for which an
answer waits holds too; nor to a head farther away than nine in ten have theirs, since what crosses
the wide area should be merged before it does. On Mortar's test bed with 40% of 680 sites gone this
lifts the share of the others that is connected from 93 to 96%, where random trees have 97
(experiments.path_diversity), and latencies stay (experiments.fig_17).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from math import inf

import numpy as np

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.draws import Draws
from headwater.placement.tree_latency import latency_to_root_s, most_within_s
from headwater.plan.tree import Tree

SIXTY_FOURS = 4
"""Of 64 drawn failures each. Trees that suit twice as many are hardly better in others."""
EVERY_DRAW = (1 << (64 * SIXTY_FOURS)) - 1
NEAR_HEADS = 8
"""With whose leaves one trades; with those of 16 the ways grow longer and are hardly freer."""
GAIN_STEP = 6
"""Draws by which a trade must gain, and in steps of which gains are compared: less is not worth
another pair that exchanges heartbeats, and queries with other roots make mostly the same trades."""
HEADS_AT_ONCE = 256
"""For which the distances to all heads are held at a time."""


def trade_leaves(
    trees: Sequence[Tree],
    *,
    places: Mapping[int, Coordinate],
    undialable: Set[int],
    draws: Draws,
    hop_max_s: float = inf,
) -> tuple[Tree, ...]:
    """The primary, which is the first, as it is. A site that stands nowhere stays where it is, and
    nobody goes to a head farther away than ``hop_max_s``."""
    root = trees[0].root
    alive = {member: _survivals(draws.of(member)) for member in sorted(trees[0].members())}
    alive[root] = EVERY_DRAW
    parents = [dict(tree.parents) for tree in trees]
    for above in parents[1:]:
        _Market(root, parents, above, alive, places, undialable, hop_max_s).trade()
    return tuple(Tree(root, tuple(sorted(above.items()))) for above in parents)


def _survivals(draws: Draws) -> int:
    """A bit for each drawn failure; three in eight are zero, about the most to be prepared for."""
    bits = 0
    for _ in range(SIXTY_FOURS):
        bits = (bits << 64) | draws.bits() | (draws.bits() & draws.bits())
    return bits


def _reached(
    root: int, parents: Sequence[Mapping[int, int]], alive: Mapping[int, int]
) -> dict[int, int]:
    """In which draws each one reaches the root upwards, from live site to live site."""
    above = {member: {tree[member] for tree in parents} for member in parents[0]}
    reached = dict.fromkeys(above, 0)
    reached[root] = EVERY_DRAW
    moved = True
    while moved:
        moved = False
        for member, ways in above.items():
            found = 0
            for parent in ways:
                found |= reached[parent]
            found &= alive[member]
            if found != reached[member]:
                reached[member] = found
                moved = True
    return reached


class _Market:
    """The leaves of one sibling, and what each has under each head. ``parent`` is changed."""

    def __init__(
        self,
        root: int,
        parents: Sequence[dict[int, int]],
        parent: dict[int, int],
        alive: Mapping[int, int],
        places: Mapping[int, Coordinate],
        undialable: Set[int],
        hop_max_s: float,
    ) -> None:
        self._places = places
        self._undialable = undialable
        self._parent = parent
        self._reached = _reached(root, parents, alive)
        heads = set(parent.values())
        leaves = [one for one in parent if one not in heads and one in places]
        others = [above for above in parents if above is not parent]
        self._needs = {one: alive[one] & ~self._by(others, one) for one in leaves}
        """The draws in which a leaf has this tree or nothing."""
        self._leaves_of: dict[int, list[int]] = {}
        for one in leaves:
            if parent[one] in places:
                self._leaves_of.setdefault(parent[one], []).append(one)
        self._way_s = latency_to_root_s(Tree(root, tuple(parent.items())), self._distance_s)
        self._way_max_s = most_within_s([self._way_s[one] for one in leaves])
        hops_s = [self._distance_s(one, parent[one]) for one in leaves]
        self._hop_max_s = min(most_within_s(hops_s), hop_max_s)
        self._near = _nearest(list(self._leaves_of), places)

    def _by(self, trees: Sequence[Mapping[int, int]], leaf: int) -> int:
        reached = 0
        for above in trees:
            reached |= self._reached[above[leaf]]
        return reached

    def _distance_s(self, one: int, other: int) -> float:
        here, there = self._places.get(one), self._places.get(other)
        return 0.0 if here is None or there is None else here.distance_s(there)

    def trade(self) -> None:
        """Those first that lose most."""
        leaves = [one for some in self._leaves_of.values() for one in some]
        for leaf in sorted(leaves, key=lambda one: (-self._loss(one), one)):
            if self._loss(leaf) < GAIN_STEP:
                continue
            for _, other in sorted(self._offers(leaf)):
                if self._may_trade(leaf, other):
                    self._exchange(leaf, other)
                    break

    def _loss(self, leaf: int) -> int:
        return (self._needs[leaf] & ~self._reached[self._parent[leaf]]).bit_count()

    def _gain(self, leaf: int, head: int) -> int:
        """In how many more draws it is reached under that head."""
        needs = self._needs[leaf]
        has = needs & self._reached[self._parent[leaf]]
        return (needs & self._reached[head]).bit_count() - has.bit_count()

    def _offers(self, leaf: int) -> Iterator[tuple[int, int]]:
        """(rank, with whom); those from which the two together gain most rank first."""
        here = self._parent[leaf]
        for head in self._near[here]:
            if (gain := self._gain(leaf, head)) > 0:
                for other in self._leaves_of[head]:
                    if steps := max(0, gain + self._gain(other, here)) // GAIN_STEP:
                        yield -steps, other

    def _may_trade(self, leaf: int, other: int) -> bool:
        here, there = self._parent[leaf], self._parent[other]
        return self._may_stand(leaf, there) and self._may_stand(other, here)

    def _may_stand(self, leaf: int, head: int) -> bool:
        if leaf in self._undialable and head in self._undialable:
            return False
        hop_s = self._distance_s(leaf, head)
        return hop_s <= self._hop_max_s and self._way_s[head] + hop_s <= self._way_max_s

    def _exchange(self, leaf: int, other: int) -> None:
        here, there = self._parent[leaf], self._parent[other]
        self._parent[leaf], self._parent[other] = there, here
        self._leaves_of[here].remove(leaf)
        self._leaves_of[there].remove(other)
        self._leaves_of[here].append(other)
        self._leaves_of[there].append(leaf)


def _nearest(heads: list[int], places: Mapping[int, Coordinate]) -> dict[int, list[int]]:
    """For each of them the nearest others, without heights: these are the same for all ways."""
    points = np.array([(places[n].x, places[n].y, places[n].z) for n in heads]).reshape(-1, 3)
    last = min(NEAR_HEADS, len(heads) - 1)
    found: dict[int, list[int]] = {}
    for start in range(0, len(heads), HEADS_AT_ONCE):
        some = points[start : start + HEADS_AT_ONCE]
        apart = ((some[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        radius = np.partition(apart, last, axis=1)[:, last]
        for row, is_near in enumerate(apart <= radius[:, None]):
            head = heads[start + row]
            near = np.flatnonzero(is_near)[: NEAR_HEADS + 1]
            found[head] = [heads[n] for n in near if heads[n] != head]
    return found
