"""How long summaries travel over a tree, and whether another set of trees would be worth it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from headwater.algebra.coordinate import Coordinate
from headwater.plan.tree import Tree

MOST = 0.9
"""The share of the sites whose latency is compared: an answer that holds 90% of the data must wait
for these (Mortar, section 7.3)."""


def latency_to_root_s(tree: Tree, distance: Callable[[int, int], float]) -> dict[int, float]:
    """By ordinal, over the overlay path, hop by hop. ``distance`` is that of one hop."""
    children: dict[int, list[int]] = {}
    for child, parent in tree.parents:
        children.setdefault(parent, []).append(child)
    found_s = {tree.root: 0.0}
    open_ = [tree.root]
    for parent in open_:
        for child in children.get(parent, ()):
            found_s[child] = found_s[parent] + distance(child, parent)
            open_.append(child)
    return found_s


def most_within_s(latencies_s: Sequence[float], *, share: float = MOST) -> float:
    """Within which time that share of them is there; 0 for none.

    >>> most_within_s([5.0, 1.0, 2.0, 4.0, 3.0], share=0.8)
    4.0
    """
    if not latencies_s:
        return 0.0
    return sorted(latencies_s)[max(0, ceil(share * len(latencies_s)) - 1)]


def is_much_better(
    old: tuple[Tree, ...],
    new: tuple[Tree, ...],
    coordinates_by_ordinal: Mapping[int, Coordinate],
    *,
    by: float = 0.3,
) -> bool:
    """True where the new trees shorten the latency to the root by at least the share ``by``.

    Trees are exchanged at a cost, and coordinates always move a little: this is the threshold
    between the two. A hop whose ends are not both known counts as nothing in either set.
    """
    old_s = _mean_latency_s(old, coordinates_by_ordinal)
    return old_s > 0.0 and _mean_latency_s(new, coordinates_by_ordinal) <= (1.0 - by) * old_s


def _mean_latency_s(trees: tuple[Tree, ...], places: Mapping[int, Coordinate]) -> float:
    """Of 90% of the sites, over the trees; one way."""

    def one_way_s(child: int, parent: int) -> float:
        here, there = places.get(child), places.get(parent)
        return 0.0 if here is None or there is None else here.distance_s(there) / 2.0

    found_s = []
    for tree in trees:
        by_ordinal = latency_to_root_s(tree, one_way_s)
        found_s.append(
            most_within_s([by_ordinal[n] for n in by_ordinal if n != tree.root and n in places])
        )
    return sum(found_s) / len(found_s) if found_s else 0.0
