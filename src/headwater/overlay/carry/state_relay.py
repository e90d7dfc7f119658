"""Site states towards the roots: signed here or checked, collected for a moment, sent on in one
message."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.route import START, Route
from headwater.algebra.sets import bitset
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.carry.bringers import Bringers
from headwater.overlay.carry.let_go import LetGo
from headwater.overlay.carry.state_batch import StateBatch
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_state
from headwater.overlay.messages import StatesMessage
from headwater.overlay.outputs import CONTROL, StatesDelivered, Transmit
from headwater.overlay.ways.router import ASTRAY_MAX, Router


class StateRelay:
    def __init__(
        self,
        here: Here,
        *,
        router: Router,
        neighbours: Neighbours,
        bringers: Bringers,
        let_go: LetGo,
    ) -> None:
        self._neighbours = neighbours
        self._let_go = let_go
        self.batch = StateBatch(states_max=here.config.states_max)
        self._here = here
        self._config = here.config
        self._tray = here.tray
        self._router = router
        self._bringers = bringers
        self._flush_s = float("inf")

    def report(self, states: Iterable[SiteState], *, now_s: float) -> None:
        """This site's own word."""
        signed = [self._here.signatures.sign_state(state) for state in states]
        self._let_go.hear_states(signed)
        self._accept(signed, START, now_s=now_s)

    def receive(self, link: Link, message: StatesMessage, *, now_s: float) -> None:
        route, sender = message.route, link.site
        passed = [
            state for state in message.states if self._is_sound(state, route, sender, now_s=now_s)
        ]
        for query_id in {state.query for state in passed}:
            sites = bitset.of(state.ordinal for state in passed if state.query == query_id)
            self._bringers.came(query_id, route.tree, sender, sites, now_s=now_s)
        self._let_go.hear_states(passed)
        query_id = message.states[0].query if message.states else ""
        route = self._router.route_of(query_id, route, message.plan_version)
        self._accept(passed, route, now_s=now_s)

    def _is_sound(self, state: SiteState, route: Route, sender: str, *, now_s: float) -> bool:
        """If not, that has been told."""
        query = self._router.live.get(state.query)
        if query is None:
            text = f"{sender}: state of {state.query[:80]}: query unknown"
            self._tray.note("no-way", text, now_s=now_s)
            return False
        roster, signatures = self._here.roster, self._here.signatures
        problem = problem_with_state(state, route, query, roster=roster, signatures=signatures)
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
        return problem is None

    def unsent(self, message: StatesMessage, *, now_s: float) -> None:
        known = [state for state in message.states if self._router.live.get(state.query)]
        self._accept(known, message.route, now_s=now_s)

    def tick(self, *, now_s: float) -> None:
        is_out_of_reach = self._flush_s > now_s + self._config.states_hold_s  # clock set back
        if len(self.batch) and (now_s >= self._flush_s or is_out_of_reach):
            self.flush(now_s=now_s)

    def flush(self, *, now_s: float) -> None:
        """Send what has a way; the rest stays until a way opens. So does what would wait behind
        control on a slow link: here newer states take the place of older ones."""
        self._flush_s = float("inf")
        for query_id, route in sorted(self.batch.routes().items()):
            hop = self._router.next_hop(query_id, route, now_s=now_s)
            query = self._router.live.get(query_id)
            if hop is None or query is None:
                if route.downs >= ASTRAY_MAX:
                    self.batch.take(query_id)  # sites repeat their states until they are greeted
                    self._tray.note("no-way", f"states of {query_id}: gone astray", now_s=now_s)
                continue
            if self._neighbours.has_control_ahead(hop.site):
                continue
            self._router.went(query_id, hop.site)
            for states in self.batch.take(query_id):
                version = query.tree_set.version
                message = StatesMessage(states=states, route=hop.route, plan_version=version)
                self._tray.put(Transmit(hop.site, message, CONTROL))

    def flush_waiting(self, *, now_s: float) -> None:
        """Again for what had no way at its time."""
        if len(self.batch) and self._flush_s == float("inf"):
            self.flush(now_s=now_s)

    def next_deadline_s(self) -> float:
        return self._flush_s

    def _accept(self, states: list[SiteState], route: Route, *, now_s: float) -> None:
        mine: list[SiteState] = []
        others: list[SiteState] = []
        for state in states:
            query = self._router.live.get(state.query)
            (mine if query is not None and query.is_root else others).append(state)
        if mine:
            self._tray.put(StatesDelivered(tuple(mine)))
        for state in others:
            if not self.batch.add(state, route):
                text = f"states: more than {self._config.states_max} wait"
                self._tray.note("full", text, now_s=now_s)
            self._flush_s = min(self._flush_s, now_s + self._config.states_hold_s)
