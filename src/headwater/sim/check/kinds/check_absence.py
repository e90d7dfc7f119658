"""Who is called absent: each of its parents has truly said so, and had no link with it when it did.

A word and an answer are looked at as they are made, by the links and the plan of that moment: an
answer is published seconds later, when a new plan may have given the site other parents. Of a
process that is behind, on a full disk say, they were made some time ago, by links and a plan that
may be over; they are dated, and not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.overlay.messages import AbsenceMessage
from headwater.plan.roster import Roster
from headwater.root.outputs import Answer, WindowAnswer
from headwater.root.said.assess import ABSENT
from headwater.sim.outcome import Violation
from headwater.sim.transcript import Transcript
from headwater.sim.world.site import SimulatedSite

ABSENCE_SOMETIMES = ("a site was missing: absent", "an answer did not wait for the absent")
RULE = "who is absent was lost by all its parents"
OLD_S = 15.0
"""What counts for an answer was said so long before it is out, at most: two heartbeats of a slow
root, its way, and what the answer takes."""


class AbsenceCheck:
    def __init__(self, roster: Roster, transcript: Transcript, *, now_s: Callable[[], float]):
        self._ordinals = {site.name: site.ordinal for site in roster.sites}
        self._transcript = transcript
        self._now_s = now_s
        self._said_s: dict[tuple[int, int], float] = {}
        """(speaker, lost) -> when it was said last, in true time."""
        self._seen: set[tuple[str, int, float]] = set()
        """(query, speaker, the root's clock as the speaker took it) of what was said."""

    def said(self, site: SimulatedSite, message: AbsenceMessage) -> None:
        absence = message.absence
        said = (absence.query, absence.speaker, absence.clock_s)
        if absence.speaker != site.truth.ordinal or said in self._seen:
            return  # what it has said may lead back to it, and on from there
        self._seen.add(said)
        for lost in absence.lost:
            self._said_s[absence.speaker, lost] = self._now_s()
        if is_behind(site):
            return
        assert site.node is not None, "somebody speaks"
        up = {self._ordinals[name] for name in site.node.peer.linked()}
        if not up.isdisjoint(absence.lost):
            raise Violation(RULE, f"{site.name} says of {absence.lost}, and has {sorted(up)}")

    def answering(self, root: SimulatedSite, answer: Answer) -> None:
        for request in answer.requests:
            self._look_at(root, answer.query, request)

    def _look_at(self, root: SimulatedSite, query_id: str, request: WindowAnswer) -> None:
        for missing in request.envelope.missing:
            if missing.reason == ABSENT:
                self._transcript.count("a site was missing: absent")
                if not is_behind(root):
                    self._check(root, query_id, request, self._ordinals[missing.site])
        if request.envelope.trigger == "hopeless" and not request.envelope.fidelity.demanded:
            self._transcript.count("an answer did not wait for the absent")

    def _check(
        self, root: SimulatedSite, query_id: str, request: WindowAnswer, ordinal: int
    ) -> None:
        """What the root says of its own links it tells nobody. A window ends by the sites' clocks
        in the middle, which a root that has just begun does not know; that is not looked at here.
        """
        assert root.node is not None, "it is about to answer"
        parents = root.node.peer.parents_of(query_id, ordinal)
        where = f"{query_id} window {request.window}, which ends at {request.envelope.end_us}"
        own = root.truth.ordinal
        for parent in (one for one in parents if one != own):
            said_s = self._said_s.get((parent, ordinal), 0.0)
            if said_s < self._now_s() - OLD_S:
                text = f"{where}: {parent} has said of {ordinal} at {said_s}, and it is called so"
                raise Violation(RULE, f"{text} at {self._now_s()}")


def is_behind(site: SimulatedSite) -> bool:
    """Whether what it does now was wanted some time ago."""
    return site.life is not None and site.life.is_behind
