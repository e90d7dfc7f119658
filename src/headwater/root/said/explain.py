"""The answer to ``headwater why``: what a window waits for, as a value and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.rows.bounded import NOT_BOUNDED, Bounded
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.windows.sequence_grid import number_text
from headwater.algebra.words.remark import SiteRemark
from headwater.algebra.words.site_state import Unread
from headwater.plan.part import Part
from headwater.plan.timestamps import timestamp_text
from headwater.root.said.degraded import DegradedSite
from headwater.root.said.envelope import (
    DisputedSite,
    Envelope,
    LeftOut,
    MissingSite,
    Trigger,
    WindowAlarm,
)
from headwater.root.said.reached import Reached
from headwater.root.said.sampled import Sample
from headwater.root.said.withheld import NONE_STATED, StatedErrors
from headwater.root.unwanted import UnwantedPanes

SITES_SHOWN_MAX = 50
SITES_NAMED_MAX = 8
"""In one line, of those that miss the same."""
ALARMS_SHOWN_MAX = 8
UNCONFIRMED_NAMED_MAX = 3
BEFORE_BEGIN = "before the begin"
OVER = "over"
NO_ANSWER_KEPT = (
    "Nothing is awaited of it, and no answer of it is kept: it had no records, all sites have "
    "declined it, or its answer was among the oldest, which are removed."
)


class SiteAhead(msgspec.Struct, frozen=True):
    """Records of one site that were beyond the fence, since the query began."""

    site: str
    fenced: int
    refused: int

    def text(self) -> str:
        return (
            f"{self.site}: a clock there is ahead: {self.fenced} records count when their window "
            f"comes, {self.refused} were refused"
        )


class SiteUnread(msgspec.Struct, frozen=True):
    """Input that one site does not read at present, as it last told."""

    site: str
    unread: Unread

    def text(self) -> str:
        return f"{self.site}: {self.unread.text()}"


def missing_lines(missing: Sequence[MissingSite]) -> list[str]:
    """Sites of which the same is missing for the same reason are one line.

    >>> one = MissingSite("fra", "open", "1 of 3 updates is awaited: 3", ((7, 7),))
    >>> two = msgspec.structs.replace(one, site="lhr")
    >>> missing_lines([one, two])
    ['fra, lhr: open (1 of 3 updates is awaited: 3), panes 7']
    """
    alike: dict[tuple[object, ...], list[MissingSite]] = {}
    for one in missing:
        alike.setdefault((one.state, one.reason, one.panes), []).append(one)
    lines = []
    for sites in alike.values():
        first, more = sites[0], len(sites) - SITES_NAMED_MAX
        names = ", ".join(one.site for one in sites[:SITES_NAMED_MAX])
        names += f" and {more} more" if more > 0 else ""
        lines.append(f"{names}: {first.state} ({first.reason}), {_panes_text(first.panes)}")
    return lines


def unconfirmed_text(sites: Sequence[str]) -> str:
    """
    >>> unconfirmed_text(["fra", "lhr", "muc", "ord"])
    "the root's clock is unconfirmed at 4 sites (fra, lhr, muc, …): fewer than three agree on it"
    """
    count = "1 site" if len(sites) == 1 else f"{len(sites)} sites"
    more = ["…"] if len(sites) > UNCONFIRMED_NAMED_MAX else []
    named = ", ".join((*sites[:UNCONFIRMED_NAMED_MAX], *more))
    return f"the root's clock is unconfirmed at {count} ({named}): fewer than three agree on it"


class Explanation(msgspec.Struct, frozen=True):
    """What the root knows of one window at this moment."""

    stream: str
    query: str
    window: int
    start_us: int
    end_us: int
    panes: tuple[int, int]
    """The first and the last."""
    status: str
    """before the begin, unknown, over, open, answered, exact (or bounded), final."""
    revision: int
    """The newest that is published; 0: none."""
    expected: int
    """0: of this window the root knows of no sites, because it is none of its own (any more)."""
    covered: int
    """Sites of which nothing is missing: with those that are missing they are all."""
    behind: int = 0
    """Missing sites that were in whole once, and lack what they have told of since."""
    missing: tuple[MissingSite, ...] = ()
    missing_count: int = 0
    damaged: int = 0
    awaited: tuple[str, ...] = ()
    """What happens next, in sentences."""
    ahead: tuple[SiteAhead, ...] = ()
    """Sites that read records from the future, whatever window they are for."""
    unread: tuple[SiteUnread, ...] = ()
    """Sites that do not read some of their input, whatever window it is for."""
    unconfirmed: tuple[str, ...] = ()
    """By age: sites that go by a clock on which fewer than three neighbours agree."""
    unparsed: int = 0
    """Lines that this query can't use, over all sites, since it began."""
    remarks: tuple[SiteRemark, ...] = ()
    """What sites remark about their input, whatever window it is for."""
    part: Part | None = None
    """Of a stream with several roots: which one."""
    left_out: LeftOut = LeftOut()
    """Groups that the newest published revision lacks."""
    alarms: tuple[WindowAlarm, ...] = ()
    """What was found to be wrong with it, also after it was final."""
    bounded: Bounded = NOT_BOUNDED
    """Columns that are near the truth, and how near."""
    withheld: StatedErrors = NONE_STATED
    """What sites have kept back of it, and how far columns may be off by that."""
    disputed: tuple[DisputedSite, ...] = ()
    """Sites that have signed other closes than those that relays brought of them."""
    settings: tuple[int, ...] = (0,)
    """As in ``Envelope``."""
    altered: tuple[str, ...] = ()
    """What was altered of its settings, and what is going to be, a sentence each."""
    counted: str = ""
    """The column whose numbers the window's start and end are; empty: they are times."""
    fidelity: Reached = Reached()
    """How much of it is in now, by panes and sites, and what is demanded."""
    degraded: tuple[DegradedSite, ...] = ()
    """As in ``Envelope``."""
    degraded_count: int = 0
    sampled: Sample | None = None
    """As in ``Envelope``."""
    unwanted: UnwantedPanes = UnwantedPanes()
    """Of all windows."""
    first_trigger: Trigger | None = None
    """By what it was first answered; None: it was not, or by an older version."""

    def _degraded_lines(self) -> Iterator[str]:
        shown = self.degraded[:SITES_SHOWN_MAX]
        yield from (one.text() for one in shown)
        if self.degraded_count > len(shown):
            yield f"and more: {self.degraded_count} stretches of panes are degraded"

    def _settings_lines(self) -> list[str]:
        if len(self.settings) < 2:
            return list(self.altered)
        named = " and ".join(map(str, self.settings))
        return [f"made by settings {named}: the weakest of their bounds is stated", *self.altered]

    def text(self) -> str:
        """For a person, at three in the morning."""
        name = self.stream if self.part is None else f"{self.stream}, {self.part},"
        known = ""
        if self.expected:
            known = f", revision {self.revision}, {self.covered} of {self.expected} sites covered"
            if self.behind:
                known += f" ({self.behind} more were, and lack what came since)"
        lines = [
            f"{name} window {self.window}, {self._span_text()} "
            f"(panes {self.panes[0]} to {self.panes[1]}): {self.status}{known}"
        ]
        missing = missing_lines(self.missing)
        lines += [f"  {line}" for line in missing[:SITES_SHOWN_MAX]]
        is_all = self.missing_count <= len({one.site for one in self.missing})
        if not is_all or len(missing) > SITES_SHOWN_MAX:
            lines.append(f"  and more: {self.missing_count} sites are missing")
        if self.first_trigger is not None:
            lines.append(f"  {self.first_trigger.sentence()}")
        lines += [f"  {line}" for line in self.fidelity.lines()]
        if self.damaged:
            what = "input bytes of this window were lost, or may have been read twice,"
            lines.append(f"  {what} at {self.damaged} sites")
        for doubt in self.disputed[:SITES_SHOWN_MAX]:
            panes = _panes_text(doubt.panes)
            lines.append(f"  {doubt.site}: disputed: it has signed other closes of {panes}")
        if self.left_out:
            lines.append(f"  {self.left_out.text()}")
        lines += [f"  {line}" for line in self.bounded.lines()]
        lines += [f"  {line}" for line in self.withheld.all_lines()]
        lines += [f"  {line}" for line in self._degraded_lines()]
        lines += [] if self.sampled is None else [f"  {line}" for line in self.sampled.lines()]
        lines += [f"  {line}" for line in self._settings_lines()]
        lines += [f"  {alarm.line()}" for alarm in self.alarms[:ALARMS_SHOWN_MAX]]
        if len(self.alarms) > ALARMS_SHOWN_MAX:
            lines.append(f"  and more: {len(self.alarms)} alarms, see headwater alarms")
        lines += [f"  {site.text()}" for site in self.ahead[:SITES_SHOWN_MAX]]
        lines += [f"  {site.text()}" for site in self.unread[:SITES_SHOWN_MAX]]
        if self.unparsed:
            count = "1 line" if self.unparsed == 1 else f"{self.unparsed:,} lines"
            lines.append(f"  since the query began {count} could not be parsed for it")
        lines += [f"  {remark.line()}" for remark in self.remarks[:SITES_SHOWN_MAX]]
        if len(self.remarks) > SITES_SHOWN_MAX:
            lines.append(f"  and more: {len(self.remarks)} remarks of sites about their input")
        if self.unwanted.count:
            lines.append(f"  since the root was started {self.unwanted.text()}")
        if self.unconfirmed:
            lines.append(f"  {unconfirmed_text(self.unconfirmed)}")
        lines += [f"  {sentence}" for sentence in self.awaited]
        return "\n".join(lines)

    def _span_text(self) -> str:
        if self.counted:
            return f"{number_text(self.counted, self.start_us)} to {self.end_us}"
        return span_text(self.start_us, self.end_us)

    def with_published(self, envelope: Envelope | None) -> Explanation:
        """Of a window that is over, so that the root keeps nothing of it: what its newest published
        answer says, which is the last one; None: there is none."""
        if self.status != OVER:
            return self
        if envelope is None:
            return msgspec.structs.replace(self, awaited=(NO_ANSWER_KEPT,))
        at = timestamp_text(round(envelope.answered_at_s * MICROS))
        last = f"It is over, and not final: nothing more was awaited of it; last answered at {at}."
        if envelope.final:
            last = f"It is final since {at}: nothing can change any more."
        return msgspec.structs.replace(
            self,
            status="final" if envelope.final else OVER,
            revision=envelope.revision,
            expected=envelope.expected,
            covered=min(envelope.covered, envelope.expected - envelope.missing_count),
            behind=max(0, envelope.covered - envelope.expected + envelope.missing_count),
            missing=envelope.missing,
            missing_count=envelope.missing_count,
            damaged=envelope.damaged,
            left_out=envelope.left_out,
            bounded=envelope.bounded,
            withheld=envelope.withheld,
            degraded=envelope.degraded,
            degraded_count=envelope.degraded_count,
            sampled=envelope.sampled,
            settings=envelope.settings,
            alarms=self.alarms or envelope.alarms,
            disputed=envelope.disputed,
            fidelity=envelope.fidelity,
            first_trigger=envelope.first_trigger,
            awaited=(f"{last} The root no longer keeps it; its results stay.",),
        )


class RootProgress(msgspec.Struct, frozen=True):
    """One query at its root, for people."""

    query: str
    stream: str
    open_windows: int
    newest_answered: int | None
    """The newest window that has an answer."""
    sites_refused: tuple[str, ...]
    sites_suspended: tuple[str, ...]
    parked: int
    counters: dict[str, int]
    failure: str | None
    """Why the last answer could not be made; None: it could."""
    alarms: int = 0
    """That stand in its book."""
    alarms_raised: dict[str, int] = {}
    """By kind, since this process began."""


def span_text(start_us: int, end_us: int) -> str:
    """
    >>> span_text(0, 10_000_000)
    'from 1970-01-01 00:00:00 to 1970-01-01 00:00:10 UTC'
    """
    start = timestamp_text(start_us).removesuffix(" UTC")
    return f"from {start} to {timestamp_text(end_us)}"


def _panes_text(panes: Ranges) -> str:
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in panes[:8]]
    more = " …" if len(panes) > 8 else ""
    return f"panes {', '.join(parts)}{more}"
