"""Where a summary goes next: the one place that decides on the way.

A query's summaries go by the staged policy over its trees, and by the last resort where no tree
leads on. A summary of a query that nobody here knows goes up the federation's own tree, where
someone will know it. Everything else in the overlay only ever asks ``next_hop``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import msgspec

from headwater.algebra.route import START, Route
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.ways.last_resort import LastResort
from headwater.overlay.ways.staged_policy import RESORT, Hop, choose_down, choose_up
from headwater.overlay.ways.tree_place import TreePlace

ASTRAY_MAX = 6
"""Steps down and new beginnings together, after which a summary waits for its end."""

Federation = tuple[TreePlace | None, ...]


class Way(msgspec.Struct, frozen=True):
    """One way up from here, for people."""

    by: str
    level: int
    parent: str
    leads_on: bool


class Router:
    def __init__(
        self, federation: Federation, *, neighbours: Neighbours, resort: LastResort
    ) -> None:
        self.federation = federation
        self._neighbours = neighbours
        self._resort = resort
        self.live: dict[str, LiveQuery] = {}
        """The queries that are known here, by id."""
        self._carriers: dict[str, set[str]] = {}

    def discard(self, query_id: str) -> None:
        self.live.pop(query_id, None)
        self._carriers.pop(query_id, None)

    @property
    def federation_parent(self) -> str | None:
        """On the federation's primary tree."""
        place = self.federation[0]
        return None if place is None else place.parent

    def next_hop(
        self, query_id: str, route: Route = START, version: int | None = None, *, now_s: float
    ) -> Hop | None:
        """Who takes this summary now, and its route from there on; None: there is no way, or it is
        full.

        ``version`` is the plan that the route speaks of, by default the newest.
        """
        hop = self.way_on(query_id, route, version, now_s=now_s)
        query = self.live.get(query_id)
        if hop is None or query is None or not query.is_member:
            return hop
        return None if self._neighbours.link(hop.site).is_filled_for(query_id) else hop

    def way_on(
        self, query_id: str, route: Route = START, version: int | None = None, *, now_s: float
    ) -> Hop | None:
        """The same, however much waits there."""
        query = self.live.get(query_id)
        if query is None or not query.is_member:
            return self._up_the_federation(route)
        tree_set = query.tree_set if version is None else query.tree_set_of(version)
        hop = self._resort.hop(query, route, now_s=now_s)
        if hop is not None and not self._neighbours.is_open(hop.site):
            return None
        if hop is None and tree_set is not None:
            takes = partial(self._neighbours.takes, root=query.root, now_s=now_s)
            hop = choose_up(route, tree_set.places, partial(takes, is_above=True)) or choose_down(
                route, tree_set.places, partial(takes, is_above=False)
            )
        return hop or self._anew(query, route, now_s)

    def _anew(self, query: LiveQuery, route: Route, now_s: float) -> Hop | None:
        """It went astray while ways opened and closed, and may enter no tree any more: it begins
        anew under the newest plan. That could go in circles, so it is counted with the steps
        down, and ends."""
        if route.downs >= ASTRAY_MAX:
            return None
        again = Route(tree=route.tree, levels=(), downs=route.downs + 1)
        takes = partial(self._neighbours.takes, root=query.root, is_above=True, now_s=now_s)
        hop = choose_up(again, query.tree_set.places, takes)
        return hop and msgspec.structs.replace(hop, version=query.tree_set.version)

    def route_of(self, query_id: str, route: Route, plan_version: int) -> Route:
        """Of what came with a route on this plan. One on another plan than ours says nothing about
        our trees; that it has gone astray before is kept, so that it ends."""
        query = self.live.get(query_id)
        if query is None or query.tree_set.version == plan_version:
            return route
        return msgspec.structs.replace(START, downs=min(route.downs, ASTRAY_MAX) + 1)

    def went(self, query_id: str, site: str) -> None:
        """A summary or states of this query were handed to this site. Of queries that are not known
        here nothing is kept, for any name might come."""
        if query_id in self.live:
            self._carriers.setdefault(query_id, set()).add(site)

    def carriers(self, query_id: str) -> Collection[str]:
        """All who have been handed something of this query."""
        return self._carriers.get(query_id, ())

    def _up_the_federation(self, route: Route) -> Hop | None:
        parent = self.federation_parent
        is_open = parent is not None and self._neighbours.is_open(parent)
        return Hop(parent, route, RESORT) if parent is not None and is_open else None
