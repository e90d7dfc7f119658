"""Whom of its children this peer has lost, said to the roots that may be waiting for them.

A root can't tell a late site from one that is gone; iMR's workers send boundary panes for that
(section 3.3), which a worker that is gone can't. Its parents can: with every heartbeat a peer says
whom it has lost, and who has come to it as a last resort. Nothing is kept of it on the way, and a
word that finds none is dropped: the next one follows. Where thousands have lost somebody, only so
many words a second are looked at, so that trouble does not multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from headwater.algebra.budget import Budget
from headwater.algebra.route import START, Route
from headwater.algebra.words.absence import LOST_MAX, Absence
from headwater.overlay.carry.let_go import LetGo
from headwater.overlay.clocks.root_clock import RootClock
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.message_rules import problem_with_absence, problem_with_lost
from headwater.overlay.messages import AbsenceMessage
from headwater.overlay.outputs import CONTROL, AbsenceDelivered, Transmit
from headwater.overlay.ways.router import Router

BURST_S = 2.0
"""Peers' heartbeats may fall together."""


class Near(Protocol):
    """What it asks of the neighbours."""

    names: set[str]

    def is_up(self, site: str) -> bool: ...

    def guests(self) -> list[str]: ...


class AbsenceRelay:
    def __init__(
        self,
        here: Here,
        *,
        router: Router,
        neighbours: Near,
        clock_of: Callable[[str, float], RootClock | None],
        let_go: LetGo,
    ) -> None:
        """``clock_of``: what is known of a root's clock, at this time on ours."""
        self._let_go = let_go
        self._here = here
        self._config = here.config
        self._tray = here.tray
        self._router = router
        self._neighbours = neighbours
        self._clock_of = clock_of
        per_s = here.config.absences_per_s_max
        self._budget = Budget.full(per_s=per_s, burst=BURST_S * per_s)
        self._missed_s: dict[str, float] = {}
        """Neighbours without a link, and since when."""
        self._met: set[str] = set()
        """Neighbours with whom there was one."""

    def overslept(self) -> None:
        """What this peer has not heard while it was asleep proves nothing."""
        self._missed_s.clear()

    def say(self, *, now_s: float) -> None:
        """With a heartbeat."""
        lost, guests = self._lost(now_s), self._neighbours.guests()
        if not lost and not guests:
            return
        for query, children in self._by_root():
            of_it = lost & children
            if of_it or guests:
                self._say(query, of_it, guests, now_s=now_s)

    def receive(self, link: Link, message: AbsenceMessage, *, now_s: float) -> None:
        self._budget = self._budget.at(now_s, share=self._here.wake.share(now_s))
        if not self._budget.allows():
            self._tray.count("absence beyond its budget")
            return
        self._budget = self._budget.spend()
        absence, route = message.absence, message.route
        roster, signatures = self._here.roster, self._here.signatures
        problem = problem_with_absence(absence, route, roster=roster, signatures=signatures)
        problem = problem or problem_with_lost(absence, self._router.live, roster=roster)
        if problem is not None:
            self._tray.refuse(link.site, problem, now_s=now_s)
            return
        older = msgspec.structs.replace(absence, age_s=absence.age_s + link.one_way_s)
        route = self._router.route_of(absence.query, route, message.plan_version)
        self._hand_on(older, route, now_s=now_s)

    def _lost(self, now_s: float) -> set[str]:
        near = self._neighbours
        for gone in self._missed_s.keys() - near.names:
            del self._missed_s[gone]
        self._met &= near.names
        for site in near.names:
            if near.is_up(site):
                self._met.add(site)
                self._missed_s.pop(site, None)
            else:
                self._missed_s.setdefault(site, now_s)
        missed = self._missed_s.items()
        return {site for site, since_s in missed if now_s - since_s >= self._patience_s(site)}

    def _patience_s(self, site: str) -> float:
        was_seen = site in self._met
        return self._config.absent_after_s if was_seen else self._config.dial_last_s

    def _by_root(self) -> Iterable[tuple[LiveQuery, set[str]]]:
        """By root: a query that leads there, and this peer's children on the trees of all such."""
        found: dict[str, tuple[LiveQuery, set[str]]] = {}
        for _, query in sorted(self._router.live.items()):
            if query.is_member:
                _, children = found.setdefault(query.root, (query, set()))
                children.update(child for one in query.places if one for child in one.children)
        return found.values()

    def _say(
        self, query: LiveQuery, lost: Iterable[str], guests: Iterable[str], *, now_s: float
    ) -> None:
        clock_s = self._clock_s(query, now_s)
        if clock_s is None:
            self._tray.count("absence undated")
            return
        absence = Absence(
            query=query.id,
            speaker=self._here.ordinal,
            clock_s=clock_s,
            lost=self._ordinals(lost),
            guests=self._ordinals(guests),
        )
        if not query.is_root:
            absence = self._here.signatures.sign_absence(absence)
        self._tray.count("absence said")
        self._hand_on(absence, START, now_s=now_s)

    def _clock_s(self, query: LiveQuery, now_s: float) -> float | None:
        if query.is_root:
            return now_s
        clock = self._clock_of(query.root, now_s)
        return None if clock is None else now_s + clock.offset_s

    def _ordinals(self, sites: Iterable[str]) -> tuple[int, ...]:
        ordinal_of = self._here.roster.ordinal_of
        return tuple(sorted(ordinal_of[site] for site in sites)[:LOST_MAX])

    def _hand_on(self, absence: Absence, route: Route, *, now_s: float) -> None:
        self._let_go.hear_absence(absence, now_s=now_s)
        query = self._router.live.get(absence.query)
        if query is not None and query.is_root:
            self._tray.put(AbsenceDelivered(absence))
            return
        hop = None if query is None else self._router.next_hop(absence.query, route, now_s=now_s)
        if query is None or hop is None:
            self._tray.count("absence without a way")
            return
        version = query.tree_set.version
        self._tray.put(Transmit(hop.site, AbsenceMessage(absence, hop.route, version), CONTROL))
