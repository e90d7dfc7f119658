"""A close is true: who says that a pane is closed has read all that it had to."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.algebra.coverage import Coverage
from headwater.plan.query import Query
from headwater.sim.check.check_ledger import closes_in
from headwater.sim.check.kinds.check_growing import check_growing
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.transcript import Transcript
from headwater.sim.world.site import SimulatedSite


class CloseCheck:
    """Of all queries; each close is looked at once."""

    def __init__(
        self,
        queries: Mapping[str, Query],
        sites: Mapping[str, SimulatedSite],
        truth: Truth,
        transcript: Transcript,
    ) -> None:
        self._queries = queries
        self._sites = sites
        self._truth = truth
        self._transcript = transcript
        self._ordinals: dict[int, SimulatedSite] = {}
        self._seen: set[tuple[str, int, int, int, int]] = set()

    def check(self, query: str, pane: int, coverage: Coverage) -> None:
        """Where a coverage says that a site has closed a pane, it has read all that it had to."""
        if self._truth.is_forged(query, (pane,)) or self._queries[query].asked is not None:
            return
        lives = self._truth.lives_of(coverage)
        lives |= {part.ordinal: part.incarnation for part in coverage.parts}
        closes = ((ordinal, lives[ordinal], at) for ordinal, at in closes_in(coverage))
        for close in closes:
            if (query, pane, *close) not in self._seen:
                self._seen.add((query, pane, *close))
                self._check_close(query, pane, *close)

    def _check_close(
        self, query: str, pane: int, ordinal: int, incarnation: int, closed_at: int
    ) -> None:
        if closed_at == 0:
            self._transcript.count("an empty pane was closed")
        site = self._by_ordinal[ordinal]
        record = site.disk.cube.records.get(query)
        if site.disk.incarnation != incarnation or record is None or pane < record.done_through:
            return
        if any(declined.first <= pane <= declined.last for declined in record.declined):
            return
        made = self._truth.records_in_updates(query, pane, ordinal, incarnation, closed_at)
        where = f"{query} pane {pane} of {site.name}"
        check_growing(self._queries[query], made, where, self._transcript)
        lack = site.truth.lack_closed(self._queries[query], pane, incarnation, made)
        if lack:
            raise Violation(
                "closing at a site",
                f"{site.name} closes {query} pane {pane} at {closed_at} without: {lack}",
            )

    @property
    def _by_ordinal(self) -> dict[int, SimulatedSite]:
        if not self._ordinals:
            self._ordinals = {site.truth.ordinal: site for site in self._sites.values()}
        return self._ordinals
