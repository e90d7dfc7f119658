"""What an answer says about itself: one envelope for each window and revision.

Coverage is stated by what is expected and what is missing. ``expected`` sites times the panes of
the window are in, but for ``missing``: there each site is named with the panes it is missing from
and why. A site whose late update is known but not yet in stands in ``missing`` and counts in
``covered``: what was covered stays covered, so revisions never lower coverage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from headwater.algebra.rows.bounded import NOT_BOUNDED, Bounded
from headwater.algebra.sets.ranges import Range, Ranges
from headwater.algebra.words.alarm import AlarmKind
from headwater.algebra.words.as_of import AsOf
from headwater.algebra.words.remark import SiteRemark
from headwater.algebra.words.site_state import PaneState, Tally
from headwater.plan.part import Part
from headwater.root.said.degraded import DegradedSite
from headwater.root.said.reached import Reached
from headwater.root.said.sampled import Estimate, Sample, SampleRest
from headwater.root.said.withheld import (
    NONE_STATED,
    StatedErrors,
    UncertainCondition,
    UncertainRows,
)


class Trigger(StrEnum):
    """Why this revision was made."""

    def sentence(self) -> str:
        """By what a window was first answered, for people."""
        return f"first answered by {self.value}: {_TRIGGERS[self]}"

    COMPLETE = "complete"
    """The first answer, and nothing more was awaited."""
    ENOUGH = "enough"
    """The first answer: what was demanded is in, and not all."""
    HOPELESS = "hopeless"
    """The first answer: what was demanded can't be any more, since what is missing was declined."""
    DEADLINE = "deadline"
    """The first answer, at its latest time."""
    REVISION = "revision"
    """A later one: more arrived, or less can still come."""


_TRIGGERS = {
    Trigger.COMPLETE: "nothing more was awaited",
    Trigger.ENOUGH: "what was demanded was in",
    Trigger.HOPELESS: "what was missing could not come in time, or not enough of it",
    Trigger.DEADLINE: "its time was over",
    Trigger.REVISION: "an older version did not write down by what",
}


class FinalBy(StrEnum):
    """Why an answer can't change any more."""

    SEALED = "sealed"
    """Every site has said that nothing more comes."""
    BOUNDED = "bounded"
    """So they have, and what they kept back stays with them."""
    ENOUGH = "enough"
    """It has what was demanded, and nothing more is taken."""
    DRAWN = "drawn"
    """Every site has said that nothing more comes of the panes that were drawn; of the others
    nothing is ever taken."""


class MissingSite(msgspec.Struct, frozen=True, array_like=True):
    """One site's absence from some panes of a window, for one reason."""

    site: str
    state: PaneState
    reason: str
    panes: Ranges


class DisputedSite(msgspec.Struct, frozen=True, array_like=True):
    """A site that has signed other closes of these panes than those that relays brought."""

    site: str
    panes: Ranges


REMARKS_LISTED_MAX = 8
"""Remarks that an envelope names; ``remark_count`` is the truth."""
ALARMS_LISTED_MAX = 8
"""Alarms that an envelope names; ``alarm_count`` is the truth."""


class WindowAlarm(msgspec.Struct, frozen=True):
    """What an alarm says of one window."""

    site: str
    """Whose panes they are; empty: of several."""
    kind: AlarmKind
    panes: Range
    """The first and the last of this window's that it is about."""
    text: str
    carriers: tuple[str, ...] = ()
    """Peers that may have carried what is wrong."""

    def line(self) -> str:
        """
        >>> WindowAlarm("fra", AlarmKind.NEVER_CUT, (7, 7), "never cut by it", ("hub",)).line()
        'alarm of fra (never cut): never cut by it; possible carriers: hub'
        """
        site = f" of {self.site}" if self.site else ""
        carriers = ", ".join(self.carriers) or "any member of the query's trees"
        return f"alarm{site} ({self.kind}): {self.text}; possible carriers: {carriers}"


LEFT_OUT_NAMED_MAX = 4
"""Groups that an envelope names of those that were left out."""


class LeftOutGroup(msgspec.Struct, frozen=True):
    """A group that has no row, because a value of it can't be computed."""

    keys: dict[str, str | None]
    """By name, as text, cut where it is long; {} for a query without keys."""
    reason: str
    """In Spark's words; empty where it was not asked for."""

    def text(self) -> str:
        """
        >>> LeftOutGroup({"domain": "a.org", "city": None}, "[DIVIDE_BY_ZERO] …").text()
        'domain = a.org, city = NULL: [DIVIDE_BY_ZERO] …'
        """
        keys = ", ".join(f"{k} = {'NULL' if v is None else v}" for k, v in self.keys.items())
        name = keys or "the only group"
        return f"{name}: {self.reason}" if self.reason else name


class LeftOut(msgspec.Struct, frozen=True):
    """Groups that the answer lacks. Overflow belongs to the group: the others stand."""

    count: int = 0
    unresolved: int = 0
    """How many of them were left out with others: who of them fails was not found within the limit
    of jobs, so some may have been good."""
    named: tuple[LeftOutGroup, ...] = ()
    """The first of them."""
    exact_otherwise: bool = False
    """But for them the answer would be exact."""

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(
            count=self.count + other.count,
            unresolved=self.unresolved + other.unresolved,
            named=(*self.named, *other.named)[:LEFT_OUT_NAMED_MAX],
        )

    def without_keys(self, names: Collection[str]) -> LeftOut:
        """The same, where these keys are shown to nobody."""
        named = tuple(
            msgspec.structs.replace(
                one, keys={name: key for name, key in one.keys.items() if name not in names}
            )
            for one in self.named
        )
        return msgspec.structs.replace(self, named=named)

    def text(self) -> str:
        """In one line, for people."""
        groups = "1 group was" if self.count == 1 else f"{self.count} groups were"
        named = "; ".join(group.text() for group in self.named)
        rest = self.count - len(self.named)
        more = f"; and {rest} more" if named and rest > 0 else ""
        unresolved = (
            f" ({self.unresolved} of them because the search for those that fail has a limit)"
            if self.unresolved
            else ""
        )
        return f"{groups} left out{unresolved}" + (f": {named}{more}" if named else "")


NONE_LEFT_OUT: Mapping[int, LeftOut] = MappingProxyType({})
"""By window: nothing."""


class Envelope(msgspec.Struct, frozen=True):
    stream: str
    query: str
    window: int
    start_us: int
    end_us: int
    revision: int
    """1 for the first answer; rises by one."""
    roster_version: int
    expected: int
    """Sites that the answer should cover."""
    covered: int
    """Sites of which every pane of the window is in."""
    missing: tuple[MissingSite, ...]
    """At most ``missing_listed_max``; ``missing_count`` is the truth."""
    missing_count: int
    """Sites that are missing from at least one pane."""
    exact: bool
    final: bool
    staleness_s: float
    """From the window's end to the decision to answer."""
    answered_at_s: float
    """The root's clock at that decision."""
    trigger: Trigger
    tally: Tally = Tally()
    """Over all sites, since the query began."""
    damaged: int = 0
    """Sites that lost input bytes of this window, or may have read some twice."""
    clocks_unconfirmed: int = 0
    """By age: sites that place records by a clock on which fewer than three neighbours agree."""
    rows: int | None = None
    """How many rows the answer has; filled in by who publishes it."""
    part: Part | None = None
    """Of a stream with several roots: which groups these are; None: all."""
    left_out: LeftOut = LeftOut()
    """Groups without a row, because a value of theirs can't be computed; filled in by who
    publishes it."""
    alarms: tuple[WindowAlarm, ...] = ()
    """What somebody has found to be wrong with this window: it is not exact."""
    alarm_count: int = 0

    remarks: tuple[SiteRemark, ...] = ()
    """What sites remark about their input, whatever window it is for: a path that matches no file,
    too many malformed lines. At most ``REMARKS_LISTED_MAX``."""
    remark_count: int = 0
    disputed: tuple[DisputedSite, ...] = ()
    """Sites whose own word contradicts what is in the answer of them; it is neither exact nor
    final. At most ``missing_listed_max``."""

    bounded: Bounded = NOT_BOUNDED
    """Columns that are near the truth, and how near: with any of them it is not exact."""
    withheld: StatedErrors = NONE_STATED
    """What sites have kept back, and how far columns may be off by that: with any it is not
    exact."""
    settings: tuple[int, ...] = (0,)
    """The numbers of the settings by which it was made; several where sites or panes differ, and
    then the weakest of their bounds is stated."""
    counted: str = ""
    """The column whose numbers the window's start and end are; empty: they are times."""
    fidelity: Reached = Reached()
    """How much of the window is in it, by panes and sites, and what was demanded."""
    final_by: FinalBy | None = None
    """None: it is not final, or an older version made it."""
    degraded: tuple[DegradedSite, ...] = ()
    """Sites that have given up some of it because of a narrow way: since which pane, how much, and
    why. At most ``DEGRADED_LISTED_MAX``."""
    degraded_count: int = 0
    """How many entries there would be."""
    levels: tuple[int, ...] = ()
    """Of a level's window: the steps that it is made of; 0 is full fidelity."""
    made_of: tuple[int, ...] = ()
    """And of each of their panes the number of the newest summary with rows."""
    sampled: Sample | None = None
    """Of whose values it is, and what all of them are estimated to have; None: it is of all."""
    first_trigger: Trigger | None = None
    """By what the window was first answered, also in revisions; None: an older version made it."""

    as_of: tuple[AsOf, ...] = ()
    """Of a question's answer: as of when the panes of each site are that has answered it. Sites
    that had closed alike are one group."""

    def near(self, bounded: Bounded) -> Envelope:
        """The same answer, with these columns near the truth alone: it is not exact."""
        if not bounded:
            return self
        bounded = msgspec.structs.replace(bounded, exact_otherwise=self.exact)
        return msgspec.structs.replace(self, exact=False, bounded=bounded)

    def without(self, left_out: LeftOut) -> Envelope:
        """The same answer, lacking these groups: it is not exact."""
        if not left_out:
            return self
        left_out = msgspec.structs.replace(left_out, exact_otherwise=self.exact)
        return msgspec.structs.replace(self, exact=False, left_out=left_out)

    def estimating(self, estimates: tuple[Estimate, ...]) -> Envelope:
        """The same answer of a sample, with what all are estimated to have."""
        if self.sampled is None:
            return self
        kept_back = {
            one.column: SampleRest(one.total, one.largest) for one in self.withheld.columns
        }
        sampled = self.sampled.estimating(estimates, kept_back)
        return msgspec.structs.replace(self, sampled=sampled)

    def unsure(
        self, uncertain: UncertainRows | None, by: tuple[UncertainCondition, ...] = ()
    ) -> Envelope:
        """The same answer, of which these rows may not belong into it."""
        if uncertain is None and not by:
            return self
        withheld = msgspec.structs.replace(self.withheld, uncertain=uncertain, uncertain_by=by)
        return msgspec.structs.replace(self, withheld=withheld)
