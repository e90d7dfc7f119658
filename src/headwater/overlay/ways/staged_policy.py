"""Which way a summary takes at a peer: the staged policy over several trees (Mortar, 3.3, fig. 5).

Each stage allows more than the one before, and may lengthen the way::

    same tree    on with it, to the parent on the tree on which it came
    up*          to the parent on another tree on which this peer is at least as near to the root
    flex         to the parent on any tree, nearest to the root first
    flex-down    to a child on such a tree, at most ``DOWNS_MAX`` times

A tree is entered again only nearer to the root than it was left, so the first three stages can't
go in circles, and the fourth is counted. Where a peer has a host (the last resort), that comes
before a step down: it is one hop, and it leads on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from headwater.algebra.route import Route
from headwater.overlay.ways.tree_place import TreePlace

DOWNS_MAX = 3
"""Mortar's limit of steps away from the root."""

SAME, UP, FLEX, DOWN, RESORT = "same tree", "up*", "flex", "flex-down", "last resort"

Leads = Callable[[str], bool]
"""Whether a summary put on the link to this neighbour would get on."""


class Hop(msgspec.Struct, frozen=True):
    site: str
    route: Route
    """As the summary is to carry it from there on."""
    stage: str
    version: int | None = None
    """The plan that the route speaks of, where it has changed on the way."""


def choose_up(route: Route, places: Sequence[TreePlace | None], leads: Leads) -> Hop | None:
    """The first three stages. ``places`` are this peer's in all trees."""
    own = places[route.tree] if route.tree < len(places) else None
    if (
        own is not None
        and own.parent is not None
        and own.level <= route.level_on(route.tree)
        and leads(own.parent)
    ):
        return Hop(own.parent, route.moved(route.tree, own.level), SAME)
    for level, tree, place in _enterable(route, places):
        assert place.parent is not None, "the root has no next hop"
        if tree != route.tree and leads(place.parent):
            stage = UP if own is not None and level <= own.level else FLEX
            return Hop(place.parent, route.moved(tree, level), stage)
    return None


def choose_down(route: Route, places: Sequence[TreePlace | None], leads: Leads) -> Hop | None:
    """The fourth stage: to a child that has a way of its own."""
    if route.downs >= DOWNS_MAX:
        return None
    for level, tree, place in _enterable(route, places):
        child = next((child for child in place.children if leads(child)), None)
        if child is not None:
            return Hop(child, route.moved(tree, level, is_down=True), DOWN)
    return None


def _enterable(
    route: Route, places: Sequence[TreePlace | None]
) -> list[tuple[int, int, TreePlace]]:
    """(level, tree, place) of the trees that may be entered here, nearest to the root first."""
    return sorted(
        (place.level, tree, place)
        for tree, place in enumerate(places)
        if place is not None and place.parent is not None and place.level < route.level_on(tree)
    )
