"""Site states on their way up, collected so that a relay sends one message instead of hundreds.

A state is a snapshot, so of two of the same site and incarnation only the one with the higher
number matters; of an older incarnation the root keeps its own account. What waits is therefore
bounded by the number of sites, and losing it does no harm: sites repeat a state until the root
has greeted it. States that travel together have one route, as merged summaries have.
"""

from __future__ import annotations

from headwater.algebra.route import Route
from headwater.algebra.words.site_state import SiteState

STATES_PER_MESSAGE_MAX = 64
"""Keeps a message well below what fits into a frame, and its signatures (84 µs each) below what may
hold up a loop."""


class _OfQuery:
    def __init__(self, route: Route) -> None:
        self.route = route
        self.states: dict[tuple[int, int], SiteState] = {}


class StateBatch:
    def __init__(self, *, states_max: int) -> None:
        self._states_max = states_max
        self._queries: dict[str, _OfQuery] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, state: SiteState, route: Route) -> bool:
        """False where there is no room and the state is lost."""
        found = self._queries.get(state.query)
        key = (state.ordinal, state.incarnation)
        known = None if found is None else found.states.get(key)
        if known is None and self._count >= self._states_max:
            return False
        if found is None:
            found = self._queries[state.query] = _OfQuery(route)
        found.route = found.route.merge(route)
        if known is None or known.number < state.number:
            found.states[key] = state
            self._count += known is None
        return True

    def routes(self) -> dict[str, Route]:
        """By query: the way of what waits."""
        return {query_id: found.route for query_id, found in self._queries.items()}

    def take(self, query_id: str) -> list[tuple[SiteState, ...]]:
        """All states of this query, in pieces that fit a message."""
        found = self._queries.pop(query_id, None)
        if found is None:
            return []
        states = list(found.states.values())
        self._count -= len(states)
        return [
            tuple(states[start : start + STATES_PER_MESSAGE_MAX])
            for start in range(0, len(states), STATES_PER_MESSAGE_MAX)
        ]
