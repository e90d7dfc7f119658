"""Which ways lead on from a peer: its trees, the roots' pulses, and the last resort.

Knows for every query which of its neighbours a summary may be handed to, and says in turn what
others may believe of this peer. It is looked after with every heartbeat, for ways close by silence
and open without a word from anybody.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

import msgspec

from headwater.algebra.capacity.way_capacity import WayCapacity, least
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.clocks.clock_proof import ClockBounds, ClockProofs
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.commands.live_query import FEDERATION, LiveQuery
from headwater.overlay.here import Here
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import AGE_MAX_S
from headwater.overlay.messages import Heartbeat
from headwater.overlay.outputs import Hangup
from headwater.overlay.ways.last_resort import LastResort
from headwater.overlay.ways.root_pulses import RootPulse, RootPulses, RootWay
from headwater.overlay.ways.router import Router, Way

DRAIN_LIVES = 2
"""Lives of a summary for which the former trees of a query are kept after a re-plan."""


class Pathfinder:
    def __init__(self, here: Here, *, federation: LiveQuery, neighbours: Neighbours) -> None:
        """The federation's home is a root whether or not a query is answered there: its clock is
        shown, and from where it can be reached, commands come."""
        self._ordinal = here.ordinal
        self._federation = federation
        self._home = here.roster.ordinal_of[federation.root]
        self._roster = here.roster
        self._config = here.config
        self._neighbours = neighbours
        self._tray = here.tray
        self._pulses = RootPulses(
            here.ordinal,
            ways_to=self._ways_to,
            name_of=here.roster.name_of,
            config=here.config,
            patience_s=neighbours.patience_s,
        )
        self._proofs = ClockProofs(here.ordinal)
        self._resort = LastResort(here, neighbours=neighbours)
        self.router = Router(federation.places, neighbours=neighbours, resort=self._resort)
        self._parents: set[str] = set()
        """In all trees."""
        self._above: dict[int, set[str]] = {}
        """By root: the parents in all trees of its queries."""
        self._below: frozenset[int] = frozenset()
        """The children in all trees."""
        self._goes_down: set[int] = set()
        """Roots for which no parent and no host leads on: what goes, goes by a child."""
        self._drained_s: dict[str, float] = {}
        """By query that was planned anew: when nothing can be under way by its former trees."""
        self.relate()

    # Queries come and go

    def add(self, query: LiveQuery, *, now_s: float) -> None:
        """Also for a query that has new trees."""
        if len(query.tree_sets) > 1:
            self._drained_s[query.id] = now_s + DRAIN_LIVES * self._config.summary_life_s
        self.router.live[query.id] = query
        self.relate()
        self.tell_unreachable(now_s=now_s)

    def discard(self, query_id: str, *, now_s: float) -> None:
        self._drained_s.pop(query_id, None)
        self.router.discard(query_id)
        self._resort.discard_query(query_id)
        self._proofs.discard_query(query_id)
        self.relate()
        self.tell_unreachable(now_s=now_s)

    def relate(self) -> None:
        """Keep links with the parents and children of all trees there are."""
        places = [place for place in self.router.federation if place is not None]
        places += [one for query in self.router.live.values() for one in query.all_places()]
        self._parents = parents = {one.parent for one in places if one.parent is not None}
        children = {child for one in places for child in one.children}
        self._below = frozenset(self._roster.ordinal_of[child] for child in children)
        self._above = {}
        roots: dict[str, set[int]] = {site: {self._home} for site in parents | children}
        for query in self.router.live.values():
            root = self._roster.ordinal_of[query.root]
            above = self._above.setdefault(root, set())
            for place in query.all_places():
                for child in place.children:
                    roots[child].add(root)
                if place.parent is not None:
                    above.add(place.parent)
                    roots[place.parent].add(root)
        known = self._above.keys() | {self._home}
        self._neighbours.set_relations(
            parents=parents,
            children=children,
            level=max((place.level for place in places), default=0),
            roots={site: frozenset(of_site) for site, of_site in roots.items()},
            root_count=len(known),
        )
        self._pulses.set_roots({root: frozenset(self._above.get(root, ())) for root in known})
        self._proofs.keep_roots({self._roster.name_of[root] for root in self._above})

    def tell_unreachable(self, *, now_s: float) -> None:
        """Neighbours with whom neither side can open a connection: the plan is wrong."""
        dialable = self._roster.dialable
        is_hidden = self._roster.name_of[self._ordinal] not in dialable
        unreachable = sorted(self._neighbours.names - dialable) if is_hidden else []
        if unreachable:
            text = f"neither side can dial: {', '.join(unreachable[:8])}"
            self._tray.note("unreachable", text, now_s=now_s)

    # The roots

    def hear(self, sender: str, beat: Heartbeat, *, rtt_s: float | None, now_s: float) -> None:
        self._pulses.hear_clocks(sender, beat.roots, rtt_s=rtt_s, now_s=now_s)

    def sent(self, state: SiteState, *, now_s: float) -> None:
        """This site's own word leaves; an acknowledgement that greets it is newer."""
        self._proofs.sent(state, now_s=now_s)

    def heard(self, ack: Acknowledgement, *, root: str, now_s: float) -> float:
        """A word that the root has signed; how old it can be. Its age is its carriers' word, and
        what the sites' clocks show now is told by that; but when it was made the root has
        signed."""
        bounds = self._proofs.heard(ack, root=root, now_s=now_s)
        self._pulses.prove(self._roster.ordinal_of[root], bounds)
        clock = self.root_clock(root, now_s=now_s)
        if ack.clock_s is None or clock is None or not clock.is_confirmed:
            return AGE_MAX_S
        apart_s = clock.spread_at(now_s) + self._config.clock_apart_s
        return max(0.0, now_s + clock.offset_s - ack.clock_s + apart_s)

    def has_news(self, *, now_s: float) -> bool:
        """Neighbours should hear soon of a way that was lost or found."""
        return self._pulses.has_news(now_s=now_s)

    def say(self, *, now_s: float) -> tuple[RootPulse, ...]:
        """What a heartbeat tells of the roots."""
        return self._pulses.say(now_s=now_s)

    def seed_clock(self, root: str, clock_s: float, *, age_s: float, now_s: float) -> None:
        """A message of this age told what the clock of this root showed."""
        self._pulses.seed(self._roster.ordinal_of[root], clock_s, age_s=age_s, now_s=now_s)

    def _tell_aside(self, now_s: float) -> None:
        """Who contradicts all others about a root's clock is shown."""
        for root, voter, off_s in self._pulses.aside():
            text = f"{voter} says {off_s:+.3f} s of the clock of {self._roster.name_of[root]}"
            text += "; the others agree without it"
            self._tray.note("clock set aside", text, now_s=now_s)
        for root, voter, off_s in self._pulses.long_aside(now_s=now_s):
            text = f"{off_s:+.3f} s of the clock of {self._roster.name_of[root]}, for long"
            lie = Untrue.of(LieKind.CLOCK, f"it says {text}; the others agree without it")
            self._tray.lies.add(lie, sender=voter, now_s=now_s)

    def clock_bounds(self, root: str) -> ClockBounds | None:
        """What the root's own signature proves of its clock."""
        return self._proofs.of(root)

    def root_clock(self, root: str, *, now_s: float) -> RootClock | None:
        return self._pulses.clock_of(self._roster.ordinal_of.get(root, -1), now_s=now_s)

    def _ways_to(self, root: int, now_s: float) -> list[RootWay]:
        """The best of all ways that summaries for this root may take from here, for what we say of
        a root is what those believe who send by us. Where children are on it, who are our parents
        on other trees, also the best way without them."""
        name = self._roster.name_of[root]
        found = [(site, False, is_above) for site, is_above in self._sites_towards(root)]
        found += [(site, True, False) for site in self._resort.hosts_for(name)]
        if root in self._goes_down:
            found += [(site, False, False) for site in self._neighbours.names]
        way_by = partial(self._neighbours.way_by, root=name, now_s=now_s)
        ways = sorted(
            [
                (is_host or way.by_host, len(way.via), -way.seen_s, site, way)
                for site, is_host, is_above in found
                if (way := way_by(site, is_above=is_above)) is not None
            ]
        )  # trees before hosts, then the shortest, then the newest
        if not ways:
            return []
        by_host, _, _, site, way = ways[0]
        best = self._onward(site, way, by_host=by_host)
        on_it = self._below.intersection(best.via)
        if not on_it:
            return [best]
        others = (self._onward(site, way, by_host=by_host) for by_host, _, _, site, way in ways[1:])
        return [best, *islice((way for way in others if on_it.isdisjoint(way.via)), 1)]

    def _sites_towards(self, root: int) -> list[tuple[str, bool]]:
        """Who may take something for this root, and whether it is above us. Where no query here is
        answered at the home, that is anybody: commands come by any link."""
        above = self._above.get(root)
        if above or root != self._home:
            return [(site, True) for site in above or ()]
        parents = self._federation.parents()
        return [(site, site in parents) for site in self._neighbours.names]

    def _onward(self, site: str, way: RootWay, *, by_host: bool) -> RootWay:
        own = WayCapacity(self._neighbours.link(site).capacity.bytes_per_s)
        carries = least(own, WayCapacity(way.carries)).bytes_per_s
        via = (self._roster.ordinal_of[site], *way.via)
        return RootWay(way.seen_s, via, by_host, carries)

    # The ways

    def look(self, *, now_s: float) -> None:
        """A query that no tree leads on from here looks for a host; one that is not needed any
        more is left, and so are trees that have drained. Without a query that leads home the
        federation itself looks: who is cut off would not hear of new ones."""
        self._retire_plans(now_s=now_s)
        self._tell_aside(now_s)
        self._goes_down = set()
        for query in self.router.live.values():
            if not query.is_root and query.is_member:
                towards = [(parent, True) for parent in query.parents()]
                self._look_for(query, towards, now_s=now_s)
        if self._above.get(self._home):
            self._resort.discard_query(FEDERATION)
        elif not self._federation.is_root:
            self._look_for(self._federation, self._sites_towards(self._home), now_s=now_s)
        hosts = self._resort.hosts()
        if hosts != self._neighbours.hosts:
            for left in sorted(self._neighbours.hosts - hosts - self._neighbours.names):
                if self._neighbours.is_up(left):
                    self._tray.put(Hangup(left))
            self._neighbours.hosts = hosts

    def overslept(self, late_s: float, *, now_s: float) -> None:
        self._resort.overslept(late_s, now_s=now_s)

    def awaits(self, site: str) -> bool:
        """The word of this site may end a search for a host."""
        return self._resort.is_tried(site)

    def next_deadline_s(self) -> float:
        """When to look, if not earlier."""
        return self._resort.next_deadline_s()

    def ways(self, query_id: str, *, now_s: float) -> list[Way]:
        """This peer's parents on each tree of a query, and the host of the last resort."""
        query = self.router.live.get(query_id)
        if query is None or query.is_root:
            return []
        found = [
            (f"tree {tree}", place.level, place.parent, True)
            for tree, place in enumerate(query.places)
            if place is not None and place.parent is not None
        ]
        if (host := self.host_of(query_id)) is not None:
            found.append(("last resort", 0, host, False))
        leads_to = self._neighbours.leads_to
        return [
            Way(by, level, site, leads_to(site, query.root, is_above=is_above, now_s=now_s))
            for by, level, site, is_above in found
        ]

    def host_of(self, query_id: str) -> str | None:
        """The host of the last resort."""
        return self._resort.host_of(query_id)

    def _look_for(self, query: LiveQuery, towards: list[tuple[str, bool]], *, now_s: float) -> None:
        way_by = partial(self._neighbours.way_by, root=query.root, now_s=now_s)
        found = [way_by(site, is_above=is_above) for site, is_above in towards]
        ways = [way for way in found if way is not None]
        if not ways and self._resort.has_failed(query.id):
            self._goes_down.add(self._roster.ordinal_of[query.root])
        self._resort.step(
            query,
            has_tree=bool(ways),
            is_whole=any(not way.by_host for way in ways),
            parents=self._parents,
            now_s=now_s,
        )

    def _retire_plans(self, *, now_s: float) -> None:
        """Former trees cost heartbeats; they go when all that was sent by them has come or died."""
        for query_id in [one for one, at_s in self._drained_s.items() if at_s <= now_s]:
            del self._drained_s[query_id]
            query = self.router.live.get(query_id)
            if query is not None:
                drained = msgspec.structs.replace(query, tree_sets=query.tree_sets[:1])
                self.router.live[query_id] = drained
                self.relate()
                self.tell_unreachable(now_s=now_s)
