"""Acknowledgements on their way down: only the newest of each query is ever kept or owed.

A relay hands an acknowledgement to all its children in the query's tree. A child whose link is
down or full is owed the newest one, not all that it missed: each says what the root holds now,
and an older one asks for what may have come since. Its leaves may come by several ways; each is
kept once.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headwater.algebra.sets import ranges
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.algebra.words.site_state import FOREVER

NEVER = (-1, -1)


class AckCast:
    def __init__(self) -> None:
        self._newest: dict[str, tuple[Acknowledgement, float]] = {}
        self._outlived: dict[str, tuple[int, int]] = {}
        """By query: the newest word that was handed on of a life of its root before the newest."""
        self._owed: set[tuple[str, str]] = set()

    def is_news(self, ack: Acknowledgement) -> bool:
        """A new life of the root starts its own count. A word of an earlier one is handed on, since
        a root whose clock was set back must be told that there was a higher one; but each once.
        Were it taken for the newest, two lives would take turns, and their words go in circles."""
        known = self._newest.get(ack.query)
        if known is None or ack.order > known[0].order:
            return True
        is_outlived = ack.root_incarnation < known[0].root_incarnation
        return is_outlived and ack.order > self._outlived.get(ack.query, NEVER)

    def held(self, ack: Acknowledgement) -> Acknowledgement | None:
        """The same word, as it is held here."""
        known = self._newest.get(ack.query)
        return known[0] if known is not None and known[0].order == ack.order else None

    def add(self, query_id: str, leaves: Iterable[AckLeaf]) -> None:
        """Further leaves of the newest."""
        ack, came_s = self._newest[query_id]
        joined = sorted((*ack.leaves, *leaves), key=lambda leaf: leaf.number)
        self._newest[query_id] = (msgspec.structs.replace(ack, leaves=tuple(joined)), came_s)

    def accept(self, ack: Acknowledgement, *, now_s: float) -> None:
        """Of news."""
        known = self._newest.get(ack.query)
        before = None if known is None else known[0]
        if before is None or ack.order > before.order:
            self._newest[ack.query] = (ack, now_s)
        if before is not None and before.root_incarnation != ack.root_incarnation:
            older = min(before.order, ack.order)
            self._outlived[ack.query] = max(older, self._outlived.get(ack.query, NEVER))

    def newest(self, query_id: str, *, now_s: float) -> Acknowledgement | None:
        """With its age as of now."""
        known = self._newest.get(query_id)
        if known is None:
            return None
        ack, came_s = known
        held_s = max(0.0, now_s - came_s)
        return msgspec.structs.replace(ack, age_s=ack.age_s + held_s) if held_s else ack

    def done_through(self, query_id: str) -> int:
        known = self._newest.get(query_id)
        return -FOREVER if known is None else known[0].done_through

    def is_over(self, query_id: str, first: int, last: int) -> bool:
        """The root takes nothing more of these panes, as it last said."""
        known = self._newest.get(query_id)
        if known is None:
            return False
        ack, _ = known
        return last < ack.done_through or ranges.covers(
            ack.unwanted, max(first, ack.done_through), last
        )

    def owe(self, query_id: str, child: str) -> None:
        self._owed.add((query_id, child))

    def take_owed(self, child: str) -> list[str]:
        """The queries of which this child is owed the newest; they are owed no more."""
        queries = sorted(query_id for query_id, owed in self._owed if owed == child)
        self._owed.difference_update((query_id, child) for query_id in queries)
        return queries

    def discard_query(self, query_id: str) -> None:
        self._newest.pop(query_id, None)
        self._outlived.pop(query_id, None)
        self._owed = {owed for owed in self._owed if owed[0] != query_id}
