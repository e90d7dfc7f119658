"""The last resort: when no tree leads on, straight to somebody from where the root can be reached.

Trees are static, so a site all of whose parents are down is cut off in all of them, though the
network may be fine. It then looks for a *host* outside its trees' links: its ancestors first,
nearest first, then others that are nearer to the root than itself, the root itself, and in the end
anybody who says that the root can be reached from there. A parent on the trees of another query
that leads on comes before all of them, since that link is there. Else it dials a few at a time, and
stays with the first that takes it. A peer takes a limited number of such *guests*, the root among
them, and hangs up on more, so that the search spreads::

    root ── a ✗── b ✗── c      c's parent is down, and so on every tree:
      └──── d ── e             c dials a (no answer), d (taken): c's summaries go by d

All searches share one budget, which falls while this machine is busy: with fifty queries there are
fifty searches, and whoever is cut off in one is cut off in all. Who is being tried for one query is
tried for the others at no cost.

When a tree leads on again, summaries go by the host for a while longer: the tree may have been
mended by a host far above, and ways that change back and forth make answers late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from math import inf, isinf

from headwater.algebra.budget import Budget
from headwater.algebra.route import Route
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.here import Here
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.outputs import Dial
from headwater.overlay.ways.staged_policy import DOWNS_MAX, RESORT, Hop

UNCLES_MAX = 16
"""Hosts that are tried beside ancestors and the root."""
DOUBLINGS_MAX = 8
"""Rounds of a search become rarer, as dials do."""
TRIES_MAX = 4
"""Hosts that are tried at once: with half of a federation gone, one of four is there."""


class _Search:
    """One query's search for a host, and the host that was found."""

    def __init__(self, root: str, lost_s: float) -> None:
        self.root = root
        self.lost_s = lost_s
        """Since when no tree leads on."""
        self.led_s: float | None = None
        """Since when a tree leads on again."""
        self.candidates: Iterator[str] = iter(())
        self.rounds = 0
        """How often all candidates have been tried, the round under way included."""
        self.resume_s = -inf
        """When the next round may begin."""
        self.tried: dict[str, float] = {}
        """Who has been dialled, and when."""
        self.host: str | None = None


class LastResort:
    def __init__(self, here: Here, *, neighbours: Neighbours) -> None:
        self._here = here
        self._ordinal = here.ordinal
        self._roster = here.roster
        self._config = config = here.config
        self._neighbours = neighbours
        self._budget = Budget.full(
            per_s=config.hosts_sought_per_s_max, burst=config.hosts_sought_burst_max
        )
        self._searches: dict[str, _Search] = {}

    # Where summaries go

    def hop(self, query: LiveQuery, route: Route, *, now_s: float) -> Hop | None:
        """To the host, while there is one: no tree leads on, or not for long enough."""
        search = self._searches.get(query.id)
        host = None if search is None else search.host
        if host is None or not self._leads(host, query.root, now_s):
            return None
        ordinal = self._roster.ordinal_of[host]
        onward = resort_route(query, route, ordinal=self._ordinal, host=ordinal)
        return None if onward is None else Hop(host, onward, RESORT)

    def host_of(self, query_id: str) -> str | None:
        search = self._searches.get(query_id)
        return None if search is None else search.host

    def hosts_for(self, root: str) -> list[str]:
        """To whom summaries for this root go. One that is only tried is not on their way, and what
        it knows of a root says nothing about it."""
        return [
            search.host
            for search in self._searches.values()
            if search.host is not None and search.root == root
        ]

    def has_failed(self, query_id: str) -> bool:
        """Everybody has been tried and nobody took us, or nobody is to be tried."""
        search = self._searches.get(query_id)
        is_off = isinf(self._config.resort_after_s)
        return search is not None and search.host is None and (is_off or search.rounds > 1)

    def _leads(self, host: str, root: str, now_s: float) -> bool:
        """A host must say itself that it has a way: whoever is lost finds others that are."""
        return self._neighbours.leads_to(host, root, is_above=False, now_s=now_s)

    def _has_host(self, search: _Search, now_s: float) -> bool:
        return search.host is not None and self._leads(search.host, search.root, now_s)

    # The search

    def hosts(self) -> set[str]:
        """All with whom a link is wanted beside the trees' links."""
        wanted: set[str] = set()
        for search in self._searches.values():
            wanted.update(search.tried)
            if search.host is not None:
                wanted.add(search.host)
        return wanted

    def is_tried(self, site: str) -> bool:
        """Its word is being waited for."""
        if not self._searches:
            return False
        return any(site in search.tried for search in self._searches.values())

    def discard_query(self, query_id: str) -> None:
        self._searches.pop(query_id, None)

    def overslept(self, late_s: float, *, now_s: float) -> None:
        """This peer was asleep until now: nobody has had time to take it in meanwhile, and no tree
        has been given up for that long."""
        for search in self._searches.values():
            search.lost_s = min(search.lost_s + late_s, now_s)
            search.tried = {site: min(at_s + late_s, now_s) for site, at_s in search.tried.items()}

    def step(
        self,
        query: LiveQuery,
        *,
        has_tree: bool,
        is_whole: bool,
        parents: Collection[str],
        now_s: float,
    ) -> None:
        """For a query not answered here, with every heartbeat and when something has changed.
        ``has_tree``: a parent leads on; ``is_whole``: and by trees alone; ``parents`` are those on
        the trees of all queries.

        Whoever has a host leaves it only for trees alone. Else two that are parents of each other
        would leave their hosts together, each because the other has one.
        """
        search = self._searches.get(query.id)
        if search is None:
            if has_tree:
                return
            search = self._searches[query.id] = _Search(query.root, now_s)
        if is_whole or (has_tree and search.host is None):
            if self._is_left(search, now_s=now_s):
                del self._searches[query.id]
            return
        search.led_s = None
        if self._has_host(search, now_s):
            return
        search.host = None
        if not 0.0 <= now_s - search.lost_s < self._config.resort_after_s:
            self._look_on(search, query, parents, now_s=now_s)

    def next_deadline_s(self) -> float:
        """When a search is to go on."""
        if not self._searches:
            return inf
        return min(self._due_s(search) for search in self._searches.values())

    def _due_s(self, search: _Search) -> float:
        if search.host is not None or search.led_s is not None:
            return inf  # looked after with the heartbeats
        tried_s = min(search.tried.values(), default=search.resume_s - self._config.resort_try_s)
        due_s = max(
            search.lost_s + self._config.resort_after_s, tried_s + self._config.resort_try_s
        )
        return max(due_s, self._budget.allows_at_s(share=self._here.wake.share(self._budget.at_s)))

    def _is_left(self, search: _Search, *, now_s: float) -> bool:
        """A tree leads on: True where that has gone on for long enough, or there is no host."""
        if search.led_s is None:
            search.led_s = now_s
        is_kept = now_s - search.led_s <= self._config.resort_keep_s
        return not (is_kept and self._has_host(search, now_s))

    def _look_on(
        self, search: _Search, query: LiveQuery, parents: Collection[str], *, now_s: float
    ) -> None:
        """A parent on another query's trees that leads on is the host, which costs no link, or the
        first of those tried; others take the place of those who have had their time."""
        children = {child for place in query.all_places() for child in place.children}
        known = (*sorted(set(parents) - children), *search.tried)
        search.host = next((one for one in known if self._leads(one, query.root, now_s)), None)
        if search.host is not None:
            search.tried = {}
            return
        try_s = self._config.resort_try_s
        search.tried = {
            site: at_s for site, at_s in search.tried.items() if 0.0 <= now_s - at_s < try_s
        }
        while len(search.tried) < TRIES_MAX:
            if not self._may_seek(now_s):
                text = f"{query.id}: the search for a host waits for its budget"
                self._here.tray.note("hosts wait", text, now_s=now_s)
                return
            site = next(search.candidates, None)
            if site is not None:
                self._try(search, site, now_s=now_s)
            elif search.tried or self._is_resting(search, now_s):
                return
            else:
                self._begin_round(search, query, now_s=now_s)

    def _may_seek(self, now_s: float) -> bool:
        self._budget = self._budget.at(now_s, share=self._here.wake.share(now_s))
        return self._budget.allows()

    def _try(self, search: _Search, site: str, *, now_s: float) -> None:
        """Who is linked with us, or tried for another query, is not dialled."""
        is_dialled = not self._neighbours.is_up(site) and not self.is_tried(site)
        search.tried[site] = now_s
        if is_dialled:
            self._budget = self._budget.spend()
            self._here.tray.put(Dial(site, as_host=True))

    def _begin_round(self, search: _Search, query: LiveQuery, *, now_s: float) -> None:
        """Later rounds leave time between them, for nobody seems to lead on."""
        pause_s = self._config.resort_try_s * 2.0 ** min(search.rounds, DOUBLINGS_MAX)
        search.resume_s = now_s + min(pause_s, self._config.dial_last_s)
        search.rounds += 1
        search.candidates = self._candidates(query)

    def _is_resting(self, search: _Search, now_s: float) -> bool:
        """Not where the clock was set back and the time for it is out of reach."""
        return 0.0 < search.resume_s - now_s <= self._config.dial_last_s

    def _candidates(self, query: LiveQuery) -> Iterator[str]:
        """Ancestors from near to far, a sample of uncles, the root, and a sample of all, for the
        root may be reached by others where it can't be by us; each once."""
        seen = {query.root}
        trees = [tree for tree in query.tree_set.trees if self._ordinal in tree.levels]
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
    for number, tree in enumerate(query.tree_set.trees):
        level = tree.levels.get(host)
        own = tree.levels.get(ordinal)
        if level is not None and own is not None and level < min(own, route.level_on(number)):
            return route.moved(number, min(own, route.level_on(number)))
    if route.downs >= DOWNS_MAX:
        return None
    return Route(tree=route.tree, levels=(), downs=route.downs + 1)
