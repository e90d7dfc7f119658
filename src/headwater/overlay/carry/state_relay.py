"""Site states towards the roots: signed here or checked, collected for a moment, sent on in one
message."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.route import START, Route
from headwater.algebra.sets import bitset
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.carry.bringers import Came
from headwater.overlay.carry.state_batch import StateBatch
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import StatesMessage
from headwater.overlay.outputs import CONTROL, StatesDelivered
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.signatures import Signatures
from headwater.overlay.tray import Tray
from headwater.overlay.trust import problem_with_state
from headwater.overlay.ways.router import ASTRAY_MAX, Router


class StateRelay:
    """``came`` is told when states come in."""

    def __init__(
        self,
        *,
        config: OverlayConfig,
        roster: RosterIndex,
        router: Router,
        signatures: Signatures,
        tray: Tray,
        came: Came,
    ) -> None:
        self.batch = StateBatch(states_max=config.states_max)
        self._config = config
        self._roster = roster
        self._router = router
        self._signatures = signatures
        self._tray = tray
        self._came = came
        self._flush_s = float("inf")

    def report(self, states: Iterable[SiteState], *, now_s: float) -> None:
        """This site's own word."""
        signed = [self._signatures.sign_state(state) for state in states]
        self._accept(signed, START, now_s=now_s)

    def receive(self, sender: str, message: StatesMessage, *, now_s: float) -> None:
        passed: list[SiteState] = []
        for state in message.states:
            query = self._router.query(state.query)
            if query is None:
                self._tray.note("no-way", f"{sender}: state of {state.query[:80]}: query unknown")
                continue
            problem = problem_with_state(
                state, message.route, query, roster=self._roster, signatures=self._signatures
            )
            if problem is None:
                passed.append(state)
            else:
                self._tray.refuse(sender, problem)
        for query_id in {state.query for state in passed}:
            sites = bitset.of(state.ordinal for state in passed if state.query == query_id)
            self._came(query_id, message.route.tree, sender, sites)
        self._accept(passed, self._route_of(message), now_s=now_s)

    def unsent(self, message: StatesMessage, *, now_s: float) -> None:
        known = [state for state in message.states if self._router.query(state.query)]
        self._accept(known, message.route, now_s=now_s)

    def tick(self, *, now_s: float) -> None:
        is_out_of_reach = self._flush_s > now_s + self._config.states_hold_s  # clock set back
        if len(self.batch) and (now_s >= self._flush_s or is_out_of_reach):
            self.flush()

    def flush(self) -> None:
        """Send what has a way; the rest stays until a way opens."""
        self._flush_s = float("inf")
        for query_id, route in sorted(self.batch.routes().items()):
            hop = self._router.next_hop(query_id, route)
            query = self._router.query(query_id)
            if hop is None or query is None:
                if route.downs >= ASTRAY_MAX:
                    self.batch.take(query_id)  # sites repeat their states until they are greeted
                    self._tray.note("no-way", f"states of {query_id}: gone astray")
                continue
            self._router.went(query_id, hop.site)
            for states in self.batch.take(query_id):
                message = StatesMessage(states, hop.route, query.plan.version)
                self._tray.transmit(hop.site, message, CONTROL)

    def flush_waiting(self) -> None:
        """Again for what had no way at its time."""
        if len(self.batch) and self._flush_s == float("inf"):
            self.flush()

    def next_deadline_s(self) -> float:
        return self._flush_s

    def _route_of(self, message: StatesMessage) -> Route:
        """A route on another plan than ours says nothing about our trees; that it has gone astray
        before is kept, so that it ends."""
        query = self._router.query(message.states[0].query) if message.states else None
        if query is None or query.plan.version == message.plan_version:
            return message.route
        return msgspec.structs.replace(START, downs=min(message.route.downs, ASTRAY_MAX) + 1)

    def _accept(self, states: list[SiteState], route: Route, *, now_s: float) -> None:
        mine = tuple(state for state in states if self._router.is_root_of(state.query))
        if mine:
            self._tray.put(StatesDelivered(mine))
        for state in states:
            if self._router.is_root_of(state.query):
                continue
            if not self.batch.add(state, route):
                self._tray.note("full", f"states: more than {self._config.states_max} wait")
            self._flush_s = min(self._flush_s, now_s + self._config.states_hold_s)
