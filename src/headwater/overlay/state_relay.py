"""Site states towards the roots: checked, collected for a moment, sent on in one message."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.site_state import SiteState
from headwater.overlay.config import OverlayConfig
from headwater.overlay.messages import StatesMessage
from headwater.overlay.outputs import CONTROL, StatesDelivered
from headwater.overlay.router import Router
from headwater.overlay.state_batch import StateBatch
from headwater.overlay.tray import Tray
from headwater.overlay.trust import problem_with_state


class StateRelay:
    def __init__(self, *, config: OverlayConfig, router: Router, tray: Tray) -> None:
        self.batch = StateBatch(states_max=config.states_max)
        self._config = config
        self._router = router
        self._tray = tray
        self._flush_s = float("inf")

    def report(self, states: Iterable[SiteState], *, now_s: float) -> None:
        """This site's own word."""
        self._accept(list(states), now_s=now_s)

    def receive(self, sender: str, states: Iterable[SiteState], *, now_s: float) -> None:
        passed: list[SiteState] = []
        for state in states:
            query = self._router.query(state.query)
            if query is None:
                problem: str | None = f"state of {state.query[:80]}: query unknown"
            else:
                problem = problem_with_state(state, sender, query)
            if problem is None:
                passed.append(state)
            else:
                self._tray.note("refused" if query else "no-way", f"{sender}: {problem}")
        self._accept(passed, now_s=now_s)

    def unsent(self, states: Iterable[SiteState], *, now_s: float) -> None:
        self._accept([s for s in states if self._router.query(s.query)], now_s=now_s)

    def tick(self, *, now_s: float) -> None:
        is_out_of_reach = self._flush_s > now_s + self._config.states_hold_s  # clock set back
        if len(self.batch) and (now_s >= self._flush_s or is_out_of_reach):
            self.flush()

    def flush(self) -> None:
        """Send what has a way; the rest stays until a way opens."""
        self._flush_s = float("inf")
        by_hop: dict[str, set[str]] = {}
        for query_id in sorted(self.batch.queries()):
            hop = self._router.next_hop(query_id)
            if hop is not None:
                by_hop.setdefault(hop, set()).add(query_id)
        for hop, queries in by_hop.items():
            for states in self.batch.take(queries):
                self._tray.transmit(hop, StatesMessage(states), CONTROL)

    def next_deadline_s(self) -> float:
        return self._flush_s

    def _accept(self, states: list[SiteState], *, now_s: float) -> None:
        mine = tuple(state for state in states if self._router.is_root_of(state.query))
        if mine:
            self._tray.put(StatesDelivered(mine))
        for state in states:
            if self._router.is_root_of(state.query):
                continue
            if not self.batch.add(state):
                self._tray.note("full", f"states: more than {self._config.states_max} wait")
            self._flush_s = min(self._flush_s, now_s + self._config.states_hold_s)
