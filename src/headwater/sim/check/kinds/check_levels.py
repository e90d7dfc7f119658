"""Coarse windows against the truth: what is in them, and at which level it says it is.

A site that is in a window is in it through its own coarse pane, and then stands among those that
are degraded, or through all finer panes that lie in it. Nothing is in twice, whatever was sent at
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import MakeUpdates, Remember
from headwater.edge.record import EdgeRecord
from headwater.plan.degrading.companion import coarse_pane, fine_panes
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.outputs import Answer, WindowAnswer
from headwater.root.said.degraded import DegradedSite
from headwater.sim.check.check_answers import Published, check_revision, expected_sites
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag, numbers_text
from headwater.sim.transcript import Transcript

THRESHOLD = "threshold(n)"
"""How the operator is written that keeps back of the panes of any level."""
LEVELS_SOMETIMES = (
    "a pane was taken by a level",
    "a coarse window was answered",
    "a coarse window has sites at several levels",
    "a coarse window is at full fidelity",
    "a coarse window was revised",
    "a coarse window was final",
    "a coarse window lacks what a threshold keeps back",
    "deferred panes followed",
)
"""What must have happened in a sweep. That a pane of a level was given up is counted, and so rare
that no sweep is held to it (``tests/edge/degrade/test_levels.py`` is)."""


class LevelCheck:
    """The answers of one level by one root in one life of its disk."""

    def __init__(
        self,
        query: Query,
        queries: Mapping[str, Query],
        roster: Roster,
        truth: Truth,
        taken: Mapping[tuple[str, int], ranges.Ranges],
    ) -> None:
        """``taken``: by level and site, the panes that it has taken in any of its lives."""
        self.query = query
        self.newest: dict[int, Published] = {}
        self._queries = queries
        self._truth = truth
        self._taken = taken
        self._names = {site.ordinal: site.name for site in roster.sites}
        self.expected = expected_sites(query, roster)

    @property
    def _full(self) -> Query:
        level = self.query.stands_for
        assert level is not None, "a level stands for another query"
        return self._queries[level.of]

    def count(self, request: WindowAnswer, transcript: Transcript) -> None:
        envelope = request.envelope
        transcript.count("a coarse window was answered")
        if len(envelope.levels) > 1 and envelope.degraded_count < envelope.covered:
            transcript.count("a coarse window has sites at several levels")
        if envelope.levels == (0,):
            transcript.count("a coarse window is at full fidelity")
        if envelope.revision > 1:
            transcript.count("a coarse window was revised")
        if envelope.final:
            transcript.count("a coarse window was final")
        if envelope.withheld:
            transcript.count("a coarse window lacks what a threshold keeps back")

    def published(self, request: WindowAnswer, bag: Bag, *, at_s: float) -> None:
        envelope, before = request.envelope, self.newest.get(request.window)
        where = f"{envelope.query} window {request.window} revision {request.revision}"
        is_forged = self._is_forged(request.window)
        if bag.twice and not is_forged:
            raise Violation("no double counting", f"{where}: {numbers_text(bag.twice)}")
        if not is_forged:
            self._check_content(where, request, bag)
        if before is not None:
            check_revision(where, before, envelope, bag, is_forged=is_forged)
        elif envelope.revision != 1:
            raise Violation("revisions rise", f"{where}: the first one is {envelope.revision}")
        self.newest[request.window] = Published(envelope, bag, at_s)

    def _is_forged(self, window: int) -> bool:
        full = self._full
        return any(
            self._truth.is_forged(id_, fine_panes(query, self.query, window))
            for id_, query in self._queries.items()
            if query.stands_for is None and id_ == str(full.id)
        ) or any(
            self._truth.is_forged(id_, self._panes_at(query, window))
            for id_, query in self._queries.items()
            if query.stands_for is not None and query.stands_for.of == str(full.id)
        )

    def _panes_at(self, level: Query, window: int) -> range:
        fine = fine_panes(self._full, self.query, window)
        start, end = (self._full.window.pane_start_us(pane) for pane in (fine.start, fine.stop - 1))
        return range(level.window.pane_at(start), level.window.pane_at(end) + 1)

    def _check_content(self, where: str, request: WindowAnswer, bag: Bag) -> None:
        envelope, window, born, covered = request.envelope, request.window, 0, 0
        missing = {one.site for one in envelope.missing}
        degraded = {one.site: one for one in envelope.degraded if one.operator != THRESHOLD}
        lacking = 0
        for ordinal in self.expected:
            site, name = self._truth.sites[ordinal], self._names[ordinal]
            of_site = site.born(self.query, window)
            born, in_it = born | of_site, bag.once & of_site
            kept_back = self._kept_back(site, window, degraded.get(name)) & of_site & ~in_it
            kept_back = kept_back if envelope.withheld else 0
            if name in degraded:
                self._check_taken(where, ordinal, degraded[name])
                lack = self._lack_at(degraded[name], site, in_it | kept_back, of_site)
            else:
                lack = self._lack_full(site, window, in_it | kept_back, of_site)
            if name not in missing and len(site.incarnations) == 1 and in_it:
                lacking += kept_back.bit_count()
            covered += not lack or name in missing
            if lack and name not in missing:
                raise Violation("true coverage", f"{where}: {name} is not missing, but {lack}")
        if bag.once & ~born:
            raise Violation("no strangers", f"{where}: {numbers_text(bag.once & ~born)}")
        stated = sum(one.largest for one in envelope.withheld.columns)
        if lacking > stated:
            raise Violation(
                "stated errors are true", f"{where}: lacks {lacking}, and says {stated:g}"
            )
        if envelope.covered > covered or envelope.expected != len(self.expected):
            raise Violation(
                "true coverage",
                f"{where}: says {envelope.covered} of {envelope.expected}, holds {covered}",
            )
        if envelope.exact and (missing or envelope.covered != envelope.expected):
            raise Violation("exact is exact", f"{where}: exact, and yet {envelope.missing}")

    def _check_taken(self, where: str, ordinal: int, degraded: DegradedSite) -> None:
        """A site that is called degraded has taken these panes itself."""
        level = self._level_of(degraded)
        known = self._taken.get((str(level.id), ordinal), ())
        if not all(ranges.covers(known, first, last) for first, last in degraded.panes):
            raise Violation(
                "true levels", f"{where}: {degraded}, and it took {known} of {level.id}"
            )

    def _kept_back(self, site: SiteTruth, window: int, degraded: DegradedSite | None) -> int:
        """What the site has kept back of the panes that it is in by, which may have followed."""
        if degraded is None:
            fine = fine_panes(self._full, self.query, window)
            return _union(site.kept_back(str(self._full.id), pane) for pane in fine)
        level = str(self._level_of(degraded).id)
        panes = (pane for first, last in degraded.panes for pane in range(first, last + 1))
        return _union(site.kept_back(level, pane) for pane in panes)

    def _level_of(self, degraded: DegradedSite) -> Query:
        of = str(self._full.id)
        return next(
            query
            for query in self._queries.values()
            if query.stands_for is not None
            and query.stands_for.of == of
            and query.stands_for.step == degraded.level
        )

    def _lack_at(self, degraded: DegradedSite, site: SiteTruth, in_it: int, wanted: int) -> str:
        """``wanted``: the others of the site are not in the sample."""
        level = self._level_of(degraded)
        for first, last in degraded.panes:
            for pane in range(first, last + 1):
                lack = site.lack(level, pane, (in_it | ~wanted) & site.born(level, pane))
                if lack:
                    return f"of its pane {pane} at level {degraded.level}: {lack}"
        return ""

    def _lack_full(self, site: SiteTruth, window: int, in_it: int, wanted: int) -> str:
        for pane in fine_panes(self._full, self.query, window):
            lack = site.lack(self._full, pane, (in_it | ~wanted) & site.born(self._full, pane))
            if lack:
                return f"of pane {pane} at full fidelity: {lack}"
        return ""


def _union(found: Iterable[int]) -> int:
    return reduce(or_, found, 0)


class LevelWatch:
    """All levels of a run: what sites have taken, and what was answered."""

    def __init__(
        self, queries: Mapping[str, Query], roster: Roster, truth: Truth, transcript: Transcript
    ) -> None:
        self.checks: dict[tuple[str, int], LevelCheck] = {}
        """By query and number of the root's disk."""
        self._taken: dict[tuple[str, int], ranges.Ranges] = {}
        self._queries = queries
        self._roster = roster
        self._truth = truth
        self._transcript = transcript

    def published(
        self,
        key: tuple[str, int],
        answer: Answer,
        rows: Mapping[int, Bag],
        site: str,
        *,
        at_s: float,
    ) -> None:
        check = self.checks.get(key)
        if check is None:
            query = self._queries[answer.query]
            check = LevelCheck(query, self._queries, self._roster, self._truth, self._taken)
            self.checks[key] = check
        for request in answer.requests:
            envelope, bag = request.envelope, rows[request.window]
            text = (
                f"published window {request.window} revision {request.revision} of {answer.query}: "
                f"{envelope.covered}/{envelope.expected} levels {envelope.levels} exact "
                f"{envelope.exact} final {envelope.final} records {bag}"
            )
            self._transcript.note(at_s, site, text, mark=hash(bag.once))
            check.count(request, self._transcript)
            check.published(request, bag, at_s=at_s)

    def written(
        self, ordinal: int, wanted: MakeUpdates | Remember, before: EdgeRecord | None
    ) -> None:
        """A record is about to be written in the place of the one ``before``."""
        key, record = (wanted.query, ordinal), wanted.record
        known, count = self._taken.get(key, ()), self._transcript.count
        if record.taken and ranges.difference(record.taken, known):
            self._taken[key] = ranges.union(known, record.taken)
            count("a pane was taken by a level")
        if any(one.reason is Reason.STRADDLED for one in record.declined):
            count("a pane of a level was given up")
        if before is not None and ranges.count(before.deferred) > ranges.count(record.deferred):
            count("deferred panes followed")

    def is_taken(self, full: Query, pane: int, ordinal: int) -> bool:
        """Whether the site has taken a pane of a level that this one lies in, for good."""
        return any(
            level.stays
            and level.of == str(full.id)
            and ranges.contains(self._taken.get((id_, ordinal), ()), coarse_pane(full, query, pane))
            for id_, query in self._queries.items()
            if (level := query.stands_for) is not None
        )
