"""Site states on their way up, collected so that a relay sends one message instead of hundreds.

A state is a snapshot, so of two of the same site and incarnation only the one with the higher
number matters; of an older incarnation the root keeps its own account. What waits is therefore
bounded by the number of sites, and losing it does no harm: sites repeat a state until the root
has greeted it.
"""

from __future__ import annotations

from headwater.algebra.site_state import SiteState

STATES_PER_MESSAGE_MAX = 500
"""Keeps a message well below what fits into a frame."""

Key = tuple[str, int, int]


class StateBatch:
    def __init__(self, *, states_max: int) -> None:
        self._states_max = states_max
        self._states: dict[Key, SiteState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def add(self, state: SiteState) -> bool:
        """False where there is no room and the state is lost."""
        key = (state.query, state.ordinal, state.incarnation)
        known = self._states.get(key)
        if known is None and len(self._states) >= self._states_max:
            return False
        if known is None or known.number < state.number:
            self._states[key] = state
        return True

    def queries(self) -> set[str]:
        return {query_id for query_id, _, _ in self._states}

    def take(self, queries: set[str]) -> list[tuple[SiteState, ...]]:
        """All states of these queries, in pieces that fit a message."""
        keys = [key for key in self._states if key[0] in queries]
        states = [self._states.pop(key) for key in keys]
        return [
            tuple(states[start : start + STATES_PER_MESSAGE_MAX])
            for start in range(0, len(states), STATES_PER_MESSAGE_MAX)
        ]

    def discard_query(self, query_id: str) -> None:
        self.take({query_id})
