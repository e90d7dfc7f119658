"""That the past was really read: what happened to late queries in a run, for a sweep to have seen.

Looks on beside the other checkers, whose rules hold for late queries as for all others.
"""

from __future__ import annotations

from headwater.algebra.sets import bitset
from headwater.algebra.words.site_state import Reason
from headwater.edge.record import EdgeRecord
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.outputs import WindowAnswer
from headwater.sim.check.truth import Truth
from headwater.sim.records.bag import Bag
from headwater.sim.transcript import Transcript
from headwater.sim.world.site import SimulatedSite

PAST_SOMETIMES = (
    "a pane of the past was not retained",
    "a reading of the past was begun",
    "a reading of the past was over",
    "an answer of both readings was exact",
    "an answer of the past was exact",
    "panes were cut while the past was read",
    "sites waited for those that caught up",
)


class PastCheck:
    def __init__(self, roster: Roster, truth: Truth, transcript: Transcript) -> None:
        self._ordinals = [site.ordinal for site in roster.sites]
        self._truth = truth
        self._count = transcript.count

    def written(self, site: SimulatedSite, query: Query, record: EdgeRecord) -> None:
        """The site is about to write this record of a late query."""
        before = site.disk.cube.records.get(str(query.id))
        if before is None:
            self._count("a reading of the past was begun")
        elif before.past and not record.past:
            self._count("a reading of the past was over")
        elif before.past and record.closed_through > before.closed_through:
            self._count("panes were cut while the past was read")
        if any(one.reason is Reason.NOT_RETAINED for one in record.declined):
            self._count("a pane of the past was not retained")
        if record.catching_up and not record.past:
            self._count("sites waited for those that caught up")

    def crashed(self, site: SimulatedSite, *, loses_disk: bool) -> None:
        readings = site.disk.cube.pasts.readings.values()
        if any(not past.is_read for past in readings):
            self._count("a reading of the past was met by a crash")
            if loses_disk:
                self._count("a reading of the past went with its disk")

    def published(self, query: Query, request: WindowAnswer, bag: Bag) -> None:
        """Of a late query."""
        if not request.envelope.exact:
            return
        of_past = [self._is_of_past(query, number) for number in bitset.members(bag.once)]
        if any(of_past):
            self._count("an answer of the past was exact")
            if not all(of_past):
                self._count("an answer of both readings was exact")

    def _is_of_past(self, query: Query, number: int) -> bool:
        position, slot = divmod(number, len(self._ordinals))
        site = self._truth.sites[self._ordinals[slot]]
        return site.of_past.has(query, position)
