"""Answers of questions against the logs: each has of each site the panes that it says it has.

Of these it has all that the site had to read before it closed them, and nothing that is none of
them; of the others it has nothing. So a pane that was let go of, or never there, can't pass for an
empty one: its records are missing, and the answer does not say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from headwater.algebra.sets import bitset, ranges
from headwater.algebra.words.site_state import PaneState
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.outputs import WindowAnswer
from headwater.root.said.envelope import Envelope, MissingSite
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.records.asked_panes import stream_panes
from headwater.sim.records.bag import Bag, numbers_text
from headwater.sim.transcript import Transcript

QUESTIONS_SOMETIMES = (
    "a question was answered",
    "a question was answered exactly",
    "a question lacks panes: declined",
    "a question lacks panes: unknown",
    "a question says what had expired",
)


class QuestionCheck:
    def __init__(
        self, queries: Mapping[str, Query], roster: Roster, truth: Truth, transcript: Transcript
    ) -> None:
        self._queries = queries
        self._roster = roster
        self._truth = truth
        self._transcript = transcript

    def published(self, question: Query, request: WindowAnswer, bag: Bag) -> None:
        envelope = request.envelope
        if bag.twice:
            raise Violation("a question counts once", f"{question.id}: {numbers_text(bag.twice)}")
        self._count(envelope)
        for place, site in enumerate(self._roster.sites):
            if site.has_data and is_asked(question, site):
                self._check_site(question, envelope, bag, place, site.name)
        if envelope.exact and (envelope.missing or envelope.damaged):
            raise Violation("an exact answer has all", f"{question.id}: {envelope.missing}")

    def _count(self, envelope: Envelope) -> None:
        count = self._transcript.count
        count("a question was answered")
        if envelope.exact:
            count("a question was answered exactly")
        for one in envelope.missing:
            is_declined = one.state is PaneState.DECLINED
            count(f"a question lacks panes: {'declined' if is_declined else 'unknown'}")
            if one.reason == "expired":
                count("a question says what had expired")

    def _check_site(
        self, question: Query, envelope: Envelope, bag: Bag, place: int, name: str
    ) -> None:
        assert question.asked is not None, "only questions come here"
        stream = self._queries[question.asked.stream]
        truth = self._truth.sites[self._roster.sites[place].ordinal]
        lacks = [one for one in envelope.missing if one.site == name]
        coming = [one for one in lacks if one.state is not PaneState.DECLINED]
        asked = question.window.panes_of(envelope.window)
        panes = [
            one
            for pane in asked
            if not _is_in(pane, lacks)
            for one in stream_panes(pane, question, stream)
        ]
        panes_in_part = [
            one
            for pane in asked
            if _is_in(pane, coming)
            for one in stream_panes(pane, question, stream)
        ]
        count = len(self._roster.sites)
        found = bitset.of(n for n in bitset.members(bag.once) if n % count == place)
        where = f"{question.id} of {name}"
        born = (truth.born(stream, pane) for pane in (*panes, *panes_in_part))
        allowed = reduce(or_, born, 0)
        if found & ~allowed:
            text = f"{where} has {numbers_text(found & ~allowed)}, which are of none of its panes"
            raise Violation("a question has what it states", text)
        if not envelope.damaged:
            self._check_whole(where, stream, truth, panes, found)

    def _check_whole(
        self, where: str, stream: Query, truth: SiteTruth, panes: list[int], found: int
    ) -> None:
        for pane in panes:
            due = truth.due(stream, pane)
            if due is None:
                raise Violation(
                    "a question has closed panes", f"{where}: {stream.id} pane {pane} is open yet"
                )
            if due & ~found:
                raise Violation(
                    "a question has what it states",
                    f"{where} lacks {numbers_text(due & ~found)} of {stream.id} pane {pane}, and "
                    "says that it has that",
                )


def _is_in(pane: int, missing: Sequence[MissingSite]) -> bool:
    return any(ranges.contains(one.panes, pane) for one in missing)
