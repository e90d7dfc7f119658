"""The last resort: when no tree leads on, straight to somebody from where the root can be reached.

Trees are static, so a site all of whose parents are down is cut off in all of them, though the
network may be fine. It then looks for a *host* outside its trees' links: its ancestors first,
nearest first, then others that are nearer to the root than itself, the root itself, and in the end
anybody who says that the root can be reached from there. It dials one after the other until one
takes it. A peer takes a limited number of such *guests*, the root among them, and hangs up on more,
so that the search spreads::

    root ── a ✗── b ✗── c      c's parent is down, and so on every tree:
      └──── d ── e             c dials a (no answer), d (taken): c's summaries go by d

When a tree leads on again, the host is left after a while.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from math import isinf

from headwater.algebra.route import Route
from headwater.overlay.config import OverlayConfig
from headwater.overlay.live_query import LiveQuery
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.staged_policy import DOWNS_MAX, RESORT, Hop

UNCLES_MAX = 16
"""Hosts that are tried beside ancestors and the root."""


class _Search:
    """One query's search for a host, and the host that was found."""

    __slots__ = (
        "candidates", "dialled_s", "host", "is_needed", "lost_s", "root", "rounds", "served_s",
        "tried",
    )  # fmt: skip

    def __init__(self, root: str, lost_s: float) -> None:
        self.root = root
        self.lost_s = lost_s
        """Since when no tree leads on."""
        self.is_needed = True
        """No tree leads on now."""
        self.served_s = lost_s
        """When the host was last needed."""
        self.candidates: Iterator[str] = iter(())
        self.rounds = 0
        """How often all candidates have been tried, the round under way included."""
        self.tried: str | None = None
        self.dialled_s = float("-inf")
        self.host: str | None = None


class LastResort:
    def __init__(
        self,
        ordinal: int,
        *,
        roster: RosterIndex,
        config: OverlayConfig,
        leads_to: Callable[[str, str, bool], bool],
        is_up: Callable[[str], bool],
    ) -> None:
        self._ordinal = ordinal
        self._roster = roster
        self._config = config
        self._leads_to = leads_to
        self._is_up = is_up
        self._searches: dict[str, _Search] = {}

    def hop(self, query: LiveQuery, route: Route) -> Hop | None:
        """Where a summary goes that no tree takes, now."""
        search = self._searches.get(query.id)
        if search is None or search.host is None or not self._leads(search.host, query):
            return None
        host = self._roster.ordinal_of[search.host]
        onward = resort_route(query, route, ordinal=self._ordinal, host=host)
        return None if onward is None else Hop(search.host, onward, RESORT)

    def host_of(self, query_id: str) -> str | None:
        search = self._searches.get(query_id)
        return None if search is None else search.host

    def is_used(self, site: str, root: str) -> bool:
        """Whether summaries for this root go to this host now. One that is kept in reserve, or
        only tried, is not on their way, and what it knows of a root says nothing about it."""
        return any(
            search.host == site and search.is_needed and search.root == root
            for search in self._searches.values()
        )

    def has_failed(self, query_id: str) -> bool:
        """Everybody has been tried and nobody took us, or nobody is to be tried."""
        search = self._searches.get(query_id)
        is_off = isinf(self._config.resort_after_s)
        return search is not None and search.host is None and (is_off or search.rounds > 1)

    def _leads(self, host: str, query: LiveQuery) -> bool:
        """A host must say itself that it has a way: whoever is lost finds others that are."""
        return self._leads_to(host, query.root, False)

    def hosts(self) -> set[str]:
        """All with whom a link is wanted beside the trees' links."""
        return {
            site
            for search in self._searches.values()
            for site in (search.host, search.tried)
            if site is not None
        }

    def discard_query(self, query_id: str) -> None:
        self._searches.pop(query_id, None)

    def step(self, query: LiveQuery, *, has_tree: bool, now_s: float) -> str | None:
        """Called with every heartbeat for every query not answered here; whom to dial now."""
        search = self._searches.get(query.id)
        if search is not None:
            search.is_needed = not has_tree
        if has_tree:
            if search is not None and now_s - search.served_s > self._config.resort_keep_s:
                del self._searches[query.id]
            return None
        if search is None:
            self._searches[query.id] = _Search(query.root, now_s)
            return None
        search.served_s = now_s
        if search.host is not None and self._leads(search.host, query):
            return None
        search.host = None
        if now_s - search.lost_s < self._config.resort_after_s:
            return None
        return self._look_on(search, query, now_s=now_s)

    def _look_on(self, search: _Search, query: LiveQuery, *, now_s: float) -> str | None:
        if search.tried is not None:
            if self._leads(search.tried, query):
                search.host, search.tried = search.tried, None
                return None
            if now_s - search.dialled_s < self._config.resort_try_s:
                return None
        search.tried = next(search.candidates, None)
        if search.tried is None:
            search.rounds += 1
            search.candidates = self._candidates(query)
            search.tried = next(search.candidates, None)
        search.dialled_s = now_s
        return None if search.tried is None or self._is_up(search.tried) else search.tried

    def _candidates(self, query: LiveQuery) -> Iterator[str]:
        """Ancestors from near to far, a sample of uncles, the root, and a sample of all, for the
        root may be reached by others where it can't be by us; each once."""
        seen = {query.root}
        trees = [tree for tree in query.plan.trees if self._ordinal in tree.levels]
        ancestors = {
            (-tree.levels[ordinal], ordinal)
            for tree in trees
            for ordinal in tree.ancestors_of(self._ordinal)[1:]
        }
        for _, ordinal in sorted(ancestors):
            yield from self._once(ordinal, seen)
        if trees:
            levels = trees[0].levels
            uncles = [one for one in levels if levels[one] < levels[self._ordinal]]
            for ordinal in sorted(uncles, key=self._spread)[:UNCLES_MAX]:
                yield from self._once(ordinal, seen)
        if query.root in self._roster.dialable:
            yield query.root
        if trees:
            others = [one for one in trees[0].levels if one != self._ordinal]
            for ordinal in sorted(others, key=self._spread)[:UNCLES_MAX]:
                yield from self._once(ordinal, seen)

    def _once(self, ordinal: int, seen: set[str]) -> Iterator[str]:
        name = self._roster.name_of[ordinal]
        if name not in seen and name in self._roster.dialable:
            seen.add(name)
            yield name

    def _spread(self, other: int) -> bytes:
        """Another order for every peer, the same every time."""
        return hashlib.blake2b(f"{self._ordinal}>{other}".encode(), digest_size=8).digest()


def resort_route(query: LiveQuery, route: Route, *, ordinal: int, host: int) -> Route | None:
    """The route of a summary that goes to this host; None: it may not. As a rule that brings it
    nearer to the root than it has been, like a step on a tree. Where it does not (the host is as
    far as we are, or the summary has been nearer before), it begins anew, which is counted."""
    for number, tree in enumerate(query.plan.trees):
        level = tree.levels.get(host)
        own = tree.levels.get(ordinal)
        if level is not None and own is not None and level < min(own, route.level_on(number)):
            return route.moved(number, min(own, route.level_on(number)))
    if route.downs >= DOWNS_MAX:
        return None
    return Route(route.tree, (), route.downs + 1)
