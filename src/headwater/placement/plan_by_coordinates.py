"""The primary tree from network coordinates: Mortar's recursive clustering (section 3.1).

A root and a set of sites: find as many clusters as the tree branches, make the site nearest to the
centre of each a child of the root, and go on with that child as the root of the rest of its
cluster, until no more are left than the tree branches::

    root ─┬─ head of cluster 1 ─┬─ head of a cluster within it ─── ...
          │                     └─ ...
          └─ head of cluster 2 ─── ...

The tree is grown over the sites that can be dialled. The others become leaves, each where its path
to the root is shortest, and where there is room.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.draws import Draws
from headwater.errors import ConfigurationError
from headwater.placement.cluster import Members, Points, clusters_of, head_of
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

LEAVES_AT_ONCE = 256
"""Leaves for which the distances to all posts are held at a time."""
UNKNOWN_PERCENTILE = 95.0
"""A site without a coordinate is taken to have a bad access link, so that it heads nothing."""


def plan_by_coordinates(
    roster: Roster,
    *,
    root: str,
    branching: int,
    coordinates: Mapping[str, Coordinate],
    draws: Draws,
) -> Tree:
    """At least one site of the roster must have a coordinate; the others are guessed.

    ``branching`` is exceeded only where too few sites can be dialled to keep it.
    """
    if branching < 2:
        raise ConfigurationError(f"tree: wanted a branching factor of 2 or more, got {branching}")
    top = roster.site(root)
    sites = sorted(roster.sites, key=lambda site: site.ordinal)
    others = [(row, site) for row, site in enumerate(sites) if site.ordinal != top.ordinal]
    dialable = [row for row, site in others if site.dialable]
    leaves = [row for row, site in others if not site.dialable]
    top_row = sites.index(top)
    posts = sorted([top_row, *dialable]) if top.dialable else dialable
    if leaves and not posts:
        raise ConfigurationError(
            f"tree: {sites[leaves[0]].name!r} can't be dialled and neither can any other site: "
            "wanted at least one dialable site in the roster"
        )
    planner = _Planner(_Places(sites, coordinates), branching, draws)
    planner.grow(top_row, np.array(sorted([top_row, *dialable]), dtype=np.intp))
    planner.hang(np.array(leaves, dtype=np.intp), np.array(posts, dtype=np.intp))
    pairs = ((sites[c].ordinal, sites[p].ordinal) for c, p in planner.parents.items())
    return Tree(top.ordinal, tuple(sorted(pairs)))


class _Places:
    """Sites as rows of numbers, in the order of their ordinals."""

    def __init__(self, sites: list[Site], coordinates: Mapping[str, Coordinate]) -> None:
        self.sites = sites
        self.points: Points = np.zeros((len(sites), 3))
        self.heights: Points = np.zeros(len(sites))
        known = np.zeros(len(sites), dtype=bool)
        for number, site in enumerate(sites):
            found = coordinates.get(site.name)
            if found is not None:
                known[number] = True
                self.points[number] = (found.x, found.y, found.z)
                self.heights[number] = found.height
        if not known.all():
            self._guess(known)

    def _guess(self, known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Where the others of its region stand, or in the middle of all."""
        regions: dict[str, list[int]] = {}
        for number in np.flatnonzero(known):
            regions.setdefault(self.sites[number].region, []).append(int(number))
        anywhere = self.points[known].mean(axis=0)
        height = float(np.percentile(self.heights[known], UNKNOWN_PERCENTILE))
        middles = {region: self.points[rows].mean(axis=0) for region, rows in regions.items()}
        for number in np.flatnonzero(~known):
            self.points[number] = middles.get(self.sites[number].region, anywhere)
            self.heights[number] = height


class _Planner:
    """The tree as it grows, in row numbers."""

    def __init__(self, places: _Places, branching: int, draws: Draws) -> None:
        self.parents: dict[int, int] = {}
        self._places = places
        self._branching = branching
        self._draws = draws
        self._child_count = np.zeros(len(places.sites), dtype=np.intp)
        self._to_root: Points = np.zeros(len(places.sites))
        """Milliseconds over the tree, so far."""

    def grow(self, top: int, members: Members) -> None:
        """Breadth first, so that a head's way to the root is known before its children's.

        ``members`` include the top. It is taken out after the first clustering, and each cluster
        has draws of its own, so that queries with other roots find mostly the same clusters and
        share the heartbeats within them (Mortar, figure 13).
        """
        open_: list[tuple[int, Members]] = [(top, members)]
        for head, rest in open_:
            if head == top and len(rest) <= self._branching + 1:
                rest = rest[rest != top]
            if not len(rest):
                continue
            draws = self._draws.of(self._places.sites[rest[0]].ordinal)
            for part in clusters_of(self._places.points[rest], self._branching, draws):
                cluster = rest[part]
                self._head(cluster[cluster != top], head, open_)

    def _head(self, cluster: Members, parent: int, open_: list[tuple[int, Members]]) -> None:
        """Puts the head of a cluster under its parent, and the rest of it on the list."""
        if not len(cluster):
            return
        index = head_of(self._places.points[cluster], self._places.heights[cluster])
        head = int(cluster[index])
        self._attach(head, parent)
        if len(cluster) > 1:
            open_.append((head, np.delete(cluster, index)))

    def hang(self, leaves: Members, posts: Members) -> None:
        """Beyond the branching only where there is no room left at all."""
        for start in range(0, len(leaves), LEAVES_AT_ONCE):
            some = leaves[start : start + LEAVES_AT_ONCE]
            ways = self._ways(some, posts)
            for leaf, way in zip(some, ways, strict=True):
                load = self._child_count[posts]
                room = load < self._branching
                best = np.where(room, way, np.inf) if room.any() else load + way / (1.0 + way)
                self._attach(int(leaf), int(posts[int(best.argmin())]))

    def _ways(self, leaves: Members, posts: Members) -> Points:
        """Milliseconds from each leaf to the root by way of each post."""
        places = self._places
        apart = places.points[leaves][:, None, :] - places.points[posts][None, :, :]
        between = np.sqrt(np.einsum("lpd,lpd->lp", apart, apart))
        return np.asarray(between + (places.heights[posts] + self._to_root[posts])[None, :])

    def _attach(self, child: int, parent: int) -> None:
        places = self._places
        self.parents[child] = parent
        self._child_count[parent] += 1
        hop = float(np.linalg.norm(places.points[child] - places.points[parent]))
        heights = places.heights[child] + places.heights[parent]
        self._to_root[child] = self._to_root[parent] + hop + heights
