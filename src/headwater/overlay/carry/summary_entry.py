"""An entry of the time-space list: one summary in the making, kept as its parts."""

from __future__ import annotations

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.thin import thinned
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.route import START, Route
from headwater.algebra.summary import Lane, Rows, Summary, merge_summaries
from headwater.overlay.commands.live_query import LiveQuery
from headwater.overlay.ways.staged_policy import Hop

Key = tuple[str, Lane, int, int]
"""(query, lane, pane, plan version): the index of an entry."""


class SummaryEntry:
    def __init__(self, number: int, key: Key, query: LiveQuery | None, *, may_merge: bool) -> None:
        self.number = number
        self.key = key
        self.query = query
        self.may_merge = may_merge
        self.interval_last: int | None = None
        """Of states: the last pane that it stands for, whatever its parts say of themselves."""
        self.parts: list[Summary] = []
        self.coverage = Coverage()
        """Of all parts together: what a further part must merge with."""
        self.route: Route = START
        """Of all parts together, so that they can go on as one."""
        self.size_bytes = 0
        self.birth_s = float("inf")
        """The first send of the oldest part, on this peer's clock."""
        self.due_s: float
        """When its timer goes off; every entry that is held has one."""
        self.is_due = False
        """Its hold is over, and it waits for a way."""
        self.is_gone = False
        self.is_early = False
        """Of parts that left before their sites' closes of the pane."""

    def add(self, summary: Summary, *, size_bytes: int, birth_s: float) -> None:
        """Of an entry that has parts, ``has_place_for`` has said that it may."""
        if self.parts:
            self.route = self.route.merge(summary.route)
            self.coverage = self.coverage.merge(summary.coverage)
        else:
            self.route, self.coverage = summary.route, summary.coverage
        self.parts.append(summary)
        self.size_bytes += size_bytes
        self.birth_s = min(self.birth_s, birth_s)

    @property
    def sites(self) -> int:
        return self.coverage.sites

    def has_place_for(self, coverage: Coverage) -> bool:
        """Its sites are all others."""
        if self.coverage.intersects(coverage):
            return False
        return not coverage.groups or self.coverage.merged(coverage) is not None

    def is_alike(self, other: SummaryEntry) -> bool:
        """The other has other updates of the same sites. Those of one site stay as the site has
        signed them, each alone."""
        sites = self.coverage.sites
        has_several = sites & (sites - 1) != 0
        is_same = has_several and sites == other.coverage.sites
        return is_same and self.coverage.merged(other.coverage) is not None

    def take(self, other: SummaryEntry) -> None:
        """All that the other has, which is alike."""
        self.route = self.route.merge(other.route)
        self.parts += other.parts
        self.coverage = self.coverage.merge(other.coverage)
        self.size_bytes += other.size_bytes
        self.birth_s = min(self.birth_s, other.birth_s)

    @property
    def first(self) -> int:
        """The pane, or the first pane, that it stands for."""
        return self.key[2]

    @property
    def last(self) -> int:
        return self.key[2] if self.interval_last is None else self.interval_last

    def narrow(self, first: int, last: int) -> None:
        """It stands for the states of these panes from now on."""
        query_id, lane, _, version = self.key
        self.key, self.interval_last = (query_id, lane, first, version), last

    def part(self, number: int, first: int, last: int) -> SummaryEntry:
        """The same for a part of its panes, as an entry of its own that shares the rows."""
        other = SummaryEntry(number, self.key, self.query, may_merge=self.may_merge)
        other.narrow(first, last)
        other.parts, other.coverage, other.route = list(self.parts), self.coverage, self.route
        other.size_bytes, other.birth_s, other.is_due = self.size_bytes, self.birth_s, self.is_due
        return other

    def is_complete(self, let_go: int) -> bool:
        """Nobody of this peer's subtree is missing but whom nobody waits for; without a place
        nobody is waited for at all."""
        place = None
        if self.query is not None:
            place = self.query.place_on(self.key[3], self.route.tree)
        if place is None or self.query is None:
            return True
        awaited = place.awaited & ~(self.sites | let_go)
        draw = self.query.draw
        if draw is not None and draw.is_apart and awaited and self.interval_last is None:
            awaited &= draw.sites(self.first, place.awaited)
        return not awaited

    def compact(self) -> None:
        """All parts as one. Raises whatever the rows raise, and then nothing has changed."""
        if len(self.parts) > 1 and self.query is not None:
            assert self.query.merger is not None, "without a merger an entry has one part"
            self.parts = [merge_summaries(self.parts, self.query.merger, coverage=self.coverage)]
            self.size_bytes = rows_bytes(self.parts[0].rows, self.query)

    def thin(self, tolerance: Tolerance, keys: tuple[str, ...]) -> int:
        """Drop groups of what is one merged piece by now; how many. A site's own update is what the
        site has signed, early ones are those that matter, and nothing is thinned twice: the bound
        would be used up twice. Raises whatever the rows raise, and then nothing has changed."""
        is_piece = self.may_merge and len(self.parts) == 1 and self.coverage.is_merged
        if not is_piece or self.coverage.thinned or self.is_early or self.query is None:
            return 0
        (piece,) = self.parts
        merger = self.query.merger
        if piece.rows is None or piece.proof is not None or merger is None:
            return 0
        found = thinned(piece.rows, merger, tolerance, keys)
        if found is None:
            return 0
        rows, dropped = found
        self.coverage = msgspec.structs.replace(self.coverage, thinned=dropped)
        self.parts = [msgspec.structs.replace(piece, rows=rows, coverage=self.coverage)]
        self.size_bytes = rows_bytes(rows, self.query)
        return max((one.keys for one in dropped), default=0)

    def leave(self, hop: Hop, *, now_s: float) -> list[Summary]:
        """The parts with the age of the oldest, on their way as ``hop`` says."""
        age_s = max(0.0, now_s - self.birth_s)
        version = self.key[3] if hop.version is None else hop.version
        left = [
            msgspec.structs.replace(part, age_s=age_s, route=hop.route, plan_version=version)
            for part in self.parts
        ]
        if self.interval_last is None:
            return left
        more = self.interval_last - self.first
        return [msgspec.structs.replace(part, pane=self.first, more=more) for part in left]

    def __str__(self) -> str:
        query_id, lane, pane, _ = self.key
        panes = f"panes {pane} to {self.last}" if self.last != pane else f"pane {pane}"
        return f"{lane} {panes} of {query_id} with {self.sites.bit_count()} sites"


def can_merge(summary: Summary, query: LiveQuery | None) -> bool:
    """Not a spare, the query known, and its rows decoded (``bytes`` are rows still encoded)."""
    return (
        summary.lane is not Lane.SPARE
        and query is not None
        and query.merger is not None
        and query.is_member
        and not isinstance(summary.rows, bytes)
    )


def rows_bytes(rows: Rows, query: LiveQuery | None) -> int:
    """About what these rows take in memory."""
    if rows is None:
        return 0
    if isinstance(rows, bytes):
        return len(rows)
    return query.merger.size_bytes(rows) if query is not None and query.merger is not None else 0
