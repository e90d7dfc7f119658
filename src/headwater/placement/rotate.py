"""Sibling trees: the primary with its inner nodes exchanged (Mortar, section 3.2).

Walk the tree from the bottom up (post-order) and exchange each inner node with one of its children
at random. Leaves rise into the inside of the tree, so that siblings fail in other places than the
primary does; and they rise within their cluster, so that links stay short::

          r                    r               1. a's subtree: a and c change places
        /   \\                /   \\             2. b's: b and f
       a     b      ─>      c     f
      / \\   / \\            / \\   / \\
     c   d e   f          a   d e   b

Which child is random, but over the siblings no child's turn comes twice before all have had
theirs, the inner node itself among them. To draw for each sibling anew, as the paper does, gives
small clusters hardly any choice: of a pair, each sibling would have the same one on top.

The root stays the root: it is where the answer is wanted. A site that can't be dialled rises only
where all its new neighbours can be. Where distances are known, it is one of the nearer half of the
children that rises: a cluster's outlier, or a site behind a slow access link, would be paid for by
everyone below it.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from math import ceil

from headwater.algebra.draws import Draws
from headwater.plan.tree import Tree

Distance = Callable[[int, int], float]
"""From a head to a child of it, in any unit."""

NEAR_SHARE = 0.5
NEAR_MIN = 2
"""The children that may rise. When all of them might, siblings on PlanetLab's latencies were 76%
longer than the primary at a branching of 4; with the nearer half they are 16% longer there and at
8, less beyond, and go around as many lost sites within a per cent. A tree that branches by two has
no half to spare: its siblings stay 80% longer (experiments.fig_17, experiments.path_diversity)."""


def rotations(
    tree: Tree,
    count: int,
    *,
    undialable: Set[int],
    draws: Draws,
    distance: Distance | None = None,
    first_turn: int = 1,
) -> tuple[Tree, ...]:
    """So many siblings of ``tree``, over the same members and of the same shape.

    At turn 0 every inner node would stay where it is.
    """
    orders = _children_by_place(tree)
    for place, children in orders.items():
        draws.of(place).shuffle(children)
    return tuple(
        _rotated(tree, orders, turn, undialable=undialable, distance=distance)
        for turn in range(first_turn, first_turn + count)
    )


def _rotated(
    tree: Tree,
    orders: dict[int, list[int]],
    turn: int,
    *,
    undialable: Set[int],
    distance: Distance | None,
) -> Tree:
    rotation = _Rotation(tree, undialable)
    for place in rotation.inner_places_from_below():
        children = orders[place]
        if distance is not None:
            children = rotation.nearer_half(place, children, distance)
        ways = [place, *children]
        start = turn % len(ways)
        for way in ways[start:] + ways[:start]:
            if way == place:
                break
            if rotation.allows(place, way):
                rotation.exchange(place, way)
                break
    return rotation.tree()


def _children_by_place(tree: Tree) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for child, parent in tree.parents:
        children.setdefault(parent, []).append(child)
    return children


class _Rotation:
    """Places keep their shape and are named for who stood there first; sites move between them."""

    def __init__(self, tree: Tree, undialable: Set[int]) -> None:
        self.children = _children_by_place(tree)
        self._tree = tree
        self._undialable = undialable
        self._parent = dict(tree.parents)
        self.site_at = {place: place for place in tree.members()}
        self._undialable_below = {
            place: sum(child in undialable for child in children)
            for place, children in self.children.items()
        }
        """Among the children alone."""

    def inner_places_from_below(self) -> list[int]:
        """All but the root; children before their parents."""
        order = [self._tree.root]
        for place in order:
            order.extend(child for child in self.children.get(place, ()) if child in self.children)
        return order[:0:-1]

    def nearer_half(self, place: int, children: list[int], distance: Distance) -> list[int]:
        """In their order."""
        head = self.site_at[place]
        by_distance = sorted(children, key=lambda child: distance(head, self.site_at[child]))
        near = set(by_distance[: max(NEAR_MIN, ceil(len(children) * NEAR_SHARE))])
        return [child for child in children if child in near]

    def allows(self, place: int, child: int) -> bool:
        """Of every new pair at least one can be dialled."""
        rising, sinking = self.site_at[child], self.site_at[place]
        if rising in self._undialable:
            above = self.site_at[self._parent[place]]
            others = self._undialable_below[place] - 1
            return above not in self._undialable and others == 0
        return sinking not in self._undialable or not self._undialable_below.get(child, 0)

    def exchange(self, place: int, child: int) -> None:
        rising, sinking = self.site_at[child], self.site_at[place]
        self.site_at[place], self.site_at[child] = rising, sinking
        change = (rising in self._undialable) - (sinking in self._undialable)
        self._undialable_below[self._parent[place]] += change
        self._undialable_below[place] -= change

    def tree(self) -> Tree:
        site_at = self.site_at
        pairs = ((site_at[child], site_at[parent]) for child, parent in self._tree.parents)
        return Tree(self._tree.root, tuple(sorted(pairs)))
