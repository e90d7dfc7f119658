"""A tree over the roster: who sends to whom, planned once and the same by everybody.

Links inside a region are short and wide, links between regions are what summaries are merged
for. So each region gets one inner node, near its centre where latencies are known, and only that
node's merged summaries leave the region::

    root ─┬─ eu-1 ─┬─ eu-2          region eu, headed by eu-1
          │        └─ eu-3
          ├─ us-1 ─── us-2          region us, headed by us-1
          └─ home-2                 the root's own region, headed by the root

This is Mortar's recursive clustering (section 3.1) with the regions as the first clusters: under
each head the rest of its cluster is divided again until no more than ``branching`` are left.

Not everyone can be dialled. A connection serves both directions, but someone must open it, so of
a parent and a child at least one must be dialable. The tree is grown over the sites that can be
dialled; the others are hung below as leaves, each under a dialable site of its region where there
is one. A root that can't be dialled is possible: it dials its children, which are all dialable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.errors import ConfigurationError
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

Latencies = Mapping[tuple[str, str], float]
"""Seconds between two sites by their names, in either order; pairs may be missing."""

SAMPLE_MAX = 64
"""Candidates and witnesses for a centre: exact up to here, a regular sample beyond, so that
planning stays proportional to the number of sites."""

Distance = Callable[[Site, Site], float]


def plan_tree(
    roster: Roster, *, root: str, branching: int, latency_s: Latencies | None = None
) -> Tree:
    """The same roster, root, branching and latencies give the same tree, everywhere.

    ``branching`` is exceeded only where too few sites can be dialled to keep it.
    """
    if branching < 2:
        raise ConfigurationError(f"tree: wanted a branching factor of 2 or more, got {branching}")
    top = roster.site(root)
    others = sorted(
        (site for site in roster.sites if site.ordinal != top.ordinal),
        key=lambda site: site.ordinal,
    )
    planner = _Planner(top, branching, distance=_distance_of(latency_s))
    planner.grow_from(top, [site for site in others if site.dialable])
    planner.hang([site for site in others if not site.dialable])
    return Tree(top.ordinal, tuple(sorted(planner.parents.items())))


def _distance_of(latency_s: Latencies | None) -> Distance | None:
    if not latency_s:
        return None
    unknown_s = max(latency_s.values())

    def distance(left: Site, right: Site) -> float:
        """A pair that nobody measured is taken to be as far apart as the farthest measured."""
        if left.ordinal == right.ordinal:
            return 0.0
        there = latency_s.get((left.name, right.name))
        if there is None:
            there = latency_s.get((right.name, left.name), unknown_s)
        return there

    return distance


class _Planner:
    """The tree as it grows: parents so far, and the members in the order in which they joined."""

    def __init__(self, top: Site, branching: int, *, distance: Distance | None) -> None:
        self.parents: dict[int, int] = {}
        self._branching = branching
        self._distance = distance
        self._child_count = {top.ordinal: 0}
        self._joined = [top]

    def grow_from(self, top: Site, sites: list[Site]) -> None:
        """Breadth first, so that ``_joined`` lists those near the root first."""
        open_: list[tuple[Site, list[Site]]] = [(top, sites)]
        for head, cluster in open_:
            for part in self._parts_below(head, cluster):
                centre = self._centre_of(part)
                self._attach(centre, head)
                rest = [site for site in part if site.ordinal != centre.ordinal]
                if rest:
                    open_.append((centre, rest))

    def hang(self, sites: Iterable[Site]) -> None:
        """Leaves that can't be dialled, each under someone that can."""
        posts = _Posts([site for site in self._joined if site.dialable])
        for site in sites:
            post = posts.for_leaf(site, self._has_room, self._load)
            if post is None:
                raise ConfigurationError(
                    f"tree: {site.name!r} can't be dialled and neither can any other site: "
                    "wanted at least one dialable site in the roster"
                )
            self._attach(site, post)

    def _attach(self, child: Site, parent: Site) -> None:
        self.parents[child.ordinal] = parent.ordinal
        self._child_count[parent.ordinal] += 1
        self._child_count[child.ordinal] = 0
        self._joined.append(child)

    def _has_room(self, site: Site) -> bool:
        return self._load(site) < self._branching

    def _load(self, site: Site) -> int:
        return self._child_count[site.ordinal]

    def _parts_below(self, head: Site, sites: list[Site]) -> list[list[Site]]:
        """At most ``branching`` clusters: the head's own region, and every other region whole."""
        own = [site for site in sites if site.region == head.region]
        regions: dict[str, list[Site]] = {}
        for site in sites:
            if site.region != head.region:
                regions.setdefault(site.region, []).append(site)
        if len(own) + len(regions) <= self._branching:
            return [[site] for site in own] + list(regions.values())
        own_slots = max(1, self._branching - len(regions)) if own else 0
        own_parts = self._divide([[site] for site in own], own_slots)
        return own_parts + self._divide(list(regions.values()), self._branching - len(own_parts))

    def _divide(self, units: list[list[Site]], count: int) -> list[list[Site]]:
        """Units (single sites, or whole regions) in at most ``count`` clusters."""
        if len(units) <= count:
            return units
        if self._distance is None:
            return _in_runs(units, count)
        return _around_seeds(units, count, self._centre_of, self._distance)

    def _centre_of(self, sites: Sequence[Site]) -> Site:
        """The site with the least latency to the others; the first where none is known."""
        if self._distance is None or len(sites) == 1:
            return sites[0]
        sample = sites[:: -(-len(sites) // SAMPLE_MAX)]
        distance = self._distance
        return min(sample, key=lambda site: (sum(distance(site, w) for w in sample), site.ordinal))


def _in_runs(units: list[list[Site]], count: int) -> list[list[Site]]:
    """Runs of neighbours in the roster, as even as possible."""
    size, longer = divmod(len(units), count)
    parts: list[list[Site]] = []
    start = 0
    for number in range(count):
        end = start + size + (number < longer)
        parts.append([site for unit in units[start:end] for site in unit])
        start = end
    return parts


def _around_seeds(
    units: list[list[Site]],
    count: int,
    centre_of: Callable[[Sequence[Site]], Site],
    distance: Distance,
) -> list[list[Site]]:
    """Each unit joins the nearest of ``count`` seeds, which are chosen far from each other.

    Farthest-point seeding needs no randomness and never yields an empty cluster, which is why it
    stands here instead of k-means.
    """
    centres = [centre_of(unit) for unit in units]
    seeds = [0]
    nearest = [(distance(centres[0], centre), 0) for centre in centres]
    while len(seeds) < count:
        farthest = max(range(len(units)), key=lambda index: (nearest[index][0], -index))
        if nearest[farthest][0] <= 0.0:
            return _in_runs(units, count)
        number = len(seeds)
        seeds.append(farthest)
        nearest = [
            min(known, (distance(centres[farthest], centre), number))
            for known, centre in zip(nearest, centres, strict=True)
        ]
    parts: list[list[Site]] = [[] for _ in seeds]
    for (_, number), unit in zip(nearest, units, strict=True):
        parts[number].extend(unit)
    return parts


class _Posts:
    """Where leaves can hang: dialable sites, those near the root first, by region and in all.

    Those found full are passed over for ever, so hanging all leaves is one walk over the posts.
    """

    def __init__(self, sites: list[Site]) -> None:
        self._all = sites
        self._by_region: dict[str, list[Site]] = {}
        for site in sites:
            self._by_region.setdefault(site.region, []).append(site)
        self._next: dict[str | None, int] = {}

    def for_leaf(
        self, leaf: Site, has_room: Callable[[Site], bool], load: Callable[[Site], int]
    ) -> Site | None:
        own = self._by_region.get(leaf.region, [])
        return (
            self._first_with_room(leaf.region, own, has_room)
            or self._first_with_room(None, self._all, has_room)
            or min(own or self._all, key=lambda site: (load(site), site.ordinal), default=None)
        )

    def _first_with_room(
        self, key: str | None, sites: list[Site], has_room: Callable[[Site], bool]
    ) -> Site | None:
        index = self._next.get(key, 0)
        while index < len(sites) and not has_room(sites[index]):
            index += 1
        self._next[key] = index
        return sites[index] if index < len(sites) else None
