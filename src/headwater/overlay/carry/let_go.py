"""For whom a relay need not hold a pane: by the same counts by which its root answers.

A site that has declined a pane sends nothing of it, and one that all its parents have lost sends
nothing soon. A relay hears some of both on the way: signed states and words of absence go through
its hands, and it says its own. What it has not heard it does not know, and then it holds as ever;
what comes all the same is carried by itself. So this changes when a summary leaves, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from headwater.algebra.sets import bitset
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.site_state import REFUSED, Declined, SiteState
from headwater.overlay.commands.live_query import LiveQuery

STRETCHES_KEPT = 8
"""Of what a site declines, the newest: panes that are held are young."""
DECLINING_MAX = 1_024
"""Sites of one query of which it is known what they decline; further ones are held for."""
ABSENT_BEATS = 2.5
"""What a parent says of a link counts for so many of its heartbeats, as at a root."""


class _Declining(msgspec.Struct, frozen=True):
    order: tuple[int, int]
    is_refused: bool
    declined: tuple[Declined, ...]

    def has(self, pane: int) -> bool:
        return self.is_refused or any(one.first <= pane <= one.last for one in self.declined)


class LetGo:
    """At one peer, for all queries."""

    def __init__(self, live: Mapping[str, LiveQuery], *, beat_s: float) -> None:
        self._live = live
        self._life_s = ABSENT_BEATS * beat_s
        self._declining: dict[str, dict[int, _Declining]] = {}
        self._lost: dict[tuple[str, int], tuple[float, int]] = {}
        """By (root, speaker): when it was said, and the sites that it has lost."""
        self._heard_s: dict[tuple[str, int], float] = {}
        """By (query, site), of those that are said to be lost: when something of it came."""

    def hear_states(self, states: Iterable[SiteState]) -> None:
        """They are signed, and of sites of the query."""
        for state in states:
            order, known = (state.incarnation, state.number), self._declining.get(state.query, {})
            former = known.get(state.ordinal)
            if former is not None and former.order > order:
                continue
            declined, is_refused = state.declined[-STRETCHES_KEPT:], state.status == REFUSED
            if not declined and not is_refused:
                known.pop(state.ordinal, None)
            elif former is not None or len(known) < DECLINING_MAX:
                told = _Declining(order, is_refused, declined)
                self._declining.setdefault(state.query, known)[state.ordinal] = told

    def hear_absence(self, absence: Absence, *, now_s: float) -> None:
        query = self._live.get(absence.query)
        if query is not None:
            said_s = now_s - absence.age_s
            self._lost[query.root, absence.speaker] = said_s, bitset.of(absence.lost)

    def heard(self, query_id: str, sites: int, *, now_s: float) -> None:
        """Something of these sites came."""
        query = self._live.get(query_id)
        if query is not None and self._lost:
            for ordinal in bitset.members(sites & self._lost_of(query.root, now_s)):
                self._heard_s[query_id, ordinal] = now_s

    def of(self, query_id: str, pane: int, *, now_s: float) -> int:
        """The sites that nobody need wait for, as a bitset."""
        query, declining = self._live.get(query_id), self._declining.get(query_id)
        found = bitset.EMPTY
        if declining:
            found = bitset.of(site for site, told in declining.items() if told.has(pane))
        if query is not None and self._lost:
            lost = self._lost_of(query.root, now_s)
            found |= bitset.of(one for one in bitset.members(lost) if self._is_absent(query, one))
        return found

    def discard_query(self, query_id: str) -> None:
        self._declining.pop(query_id, None)
        self._heard_s = {key: at for key, at in self._heard_s.items() if key[0] != query_id}

    def _lost_of(self, root: str, now_s: float) -> int:
        old = [key for key, (said_s, _) in self._lost.items() if said_s < now_s - self._life_s]
        for key in old:
            del self._lost[key]
        if not self._lost:
            self._heard_s.clear()
        return bitset.union(lost for (of, _), (_, lost) in self._lost.items() if of == root)

    def _is_absent(self, query: LiveQuery, ordinal: int) -> bool:
        since_s = self._heard_s.get((query.id, ordinal), float("-inf"))
        trees = query.tree_set.trees
        parents = [tree.parent[ordinal] for tree in trees if ordinal in tree.parent]
        said = [self._lost.get((query.root, parent)) for parent in parents]
        return bool(said) and all(
            one is not None and one[1] >> ordinal & 1 and one[0] >= since_s for one in said
        )
