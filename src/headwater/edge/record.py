"""What a site knows of a query: the one state, as it is held, written and told.

It is a value: whoever changes something makes a new one (``QueryState.change``). The cube writes it
in the same transaction as the updates it belongs to, as one msgpack blob: it never looks inside.
Rows, updates and their marks are the cube's own tables; a restart brings both back together as
``QueryKept``. What of it the root is told (``SiteFacts``) is the same in its ``SiteState``.

A pane at or above ``first_pane`` and below ``closed_through`` is closed. If it has no update and
is neither declined nor unwanted, it is closed empty: an empty close leaves no other trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Range, Ranges
from headwater.algebra.words.degraded import still_said
from headwater.algebra.words.site_state import FOREVER, RUNNING, Declined, Reason, SiteFacts
from headwater.edge.report import QueryBatch

FLAWED_RANGES_MAX = 64
UNDECIDED = "?"
"""For a past that the site has not begun to read: whether it is to be read is not known yet."""


class SetAside(msgspec.Struct, frozen=True):
    """A stretch of input that was skipped for the query, as a reading of its own."""

    reading: str
    first: int
    last: int
    """The panes that it may touch."""
    bytes: int = 0
    through_cut: int = 0
    """Live cuts up to this one are its, or an earlier one's."""
    loss_heard: int = 0
    """The newest loss of it that is known here, by its number in the cube."""


class EdgeRecord(SiteFacts, frozen=True):
    """One query at one site: what is told of it, and what the site alone must know. Replaced as a
    whole; the newest one written counts."""

    closed_through: int = -FOREVER
    """Panes below this number are closed; ``FOREVER`` when the input has ended."""
    failures: int = 0
    """Failed batches in a row."""
    state_number: int = 0
    """The number of the newest state that was told."""
    done_through: int = -FOREVER
    """What the root no longer wants, as far as it has said so."""
    reopened: Ranges = ()
    """Panes that were closed empty before their first update came."""
    failure_heard: int = 0
    """The newest failed batch that this record knows of, by its number in the cube."""
    source: str = ""
    awaits_greeting: bool = False
    """The cube was new when the query began here, and the root has not said yet whether the site
    had another one before: nothing is closed."""
    sure_through: int | None = None
    """Panes below were closed by reads that reached the end of the input, those from there on by
    the times of records alone; None: not known, as of records that did not tell."""
    loss_heard: int = 0
    """The newest loss of ``source`` that this record knows of, by its number in the cube."""
    past: str = ""
    """The reading of the past that this query awaits, or ``UNDECIDED``; empty: none, any more."""
    past_loss_heard: int = 0
    """As ``loss_heard``, of ``past``."""
    end_pane: int | None = None
    """The first pane that is none of the query's any more; None: it goes on."""
    begins_after: Reason | None = None
    """Of numbers: the first that is read says which pane is the first to be read wholly, and those
    before are declined for this reason; None: that is known."""
    lost_from: int | None = None
    """Of numbers: some are gone, from this pane up to the one of the next number that is read."""
    lost_reason: Reason | None = None
    """And for what these panes are declined; None: bytes were lost, and they are damaged."""
    counted: int = 0
    """Of the site's own count: how many records, or bytes, were read for the query. The cube moves
    it with the committed cut, and what an edge writes leaves it where it is."""
    taken: Ranges = ()
    """Of a level: the panes that leave at it. Written before they begin, so that every batch that
    has records of them gives their rows to it."""
    flawed: Ranges = ()
    """Panes below ``done_through`` that were declined or damaged, or open when the root was done
    with them: rows that came later were not taken. The root wants nothing of them, and whoever asks
    the cube about them must not take what is there for all."""
    unwanted: Ranges = ()
    """Panes that no window wants any more, as the root has said: they are not made, not sent, and
    nothing is said of them. What they have stays until its retention."""

    set_aside: tuple[SetAside, ...] = ()
    """What was skipped and is still to be read."""
    aside_heard: int = 0
    """The highest number of a stretch that was set aside, and that this record knows of."""
    aside_cut: int = 0
    """And how far that reached: one that is over and has grown since is news."""

    @property
    def is_running(self) -> bool:
        """Whether its site part belongs in batches."""
        return self.status == RUNNING and not self.ended

    def lowest(self) -> int:
        """The lowest pane that this site still answers for."""
        return max(FOREVER if self.first_pane is None else self.first_pane, self.done_through)

    def lowest_unclosed(self) -> int:
        return max(self.closed_through, self.lowest())

    @property
    def surely_through(self) -> int:
        """``sure_through``; where it isn't known, what was closed counts as surely read."""
        return self.closed_through if self.sure_through is None else self.sure_through

    def decline(self, first: int, last: int, reason: Reason, *, ranges_max: int) -> EdgeRecord:
        """Never taken back. Of more ranges than that the two nearest are joined: what lies between
        them is given up. The same record where nothing is new."""
        known = ranges.normal(
            (one.first, one.last) for one in self.declined if one.reason is reason
        )
        if ranges.covers(known, first, last):
            return self
        gone = [Declined(first=first, last=last, reason=reason)]
        known = ranges.union(known, ((first, last),))
        if len(known) > ranges_max:
            before, after = min(pairwise(known), key=lambda two: two[1][0] - two[0][1])
            gone.append(Declined(first=before[1] + 1, last=after[0] - 1, reason=reason))
        return msgspec.structs.replace(self, declined=joined([*self.declined, *gone]))

    def damage(self, first: int, last: int) -> EdgeRecord:
        """The same record where nothing is new."""
        if ranges.covers(self.damaged, first, last):
            return self
        damaged = ranges.union(self.damaged, ((first, last),))
        return msgspec.structs.replace(self, damaged=damaged)

    def drop_below(self, done_through: int) -> EdgeRecord:
        """Without what it says of panes that the root no longer wants."""
        gone: Ranges = ((-FOREVER, done_through - 1),)
        return msgspec.structs.replace(
            self,
            done_through=done_through,
            flawed=self._flawed_below(done_through),
            empty=ranges.difference(self.empty, gone),
            damaged=ranges.difference(self.damaged, gone),
            reopened=ranges.difference(self.reopened, gone),
            deferred=ranges.difference(self.deferred, gone),
            taken=ranges.difference(self.taken, gone),
            settings=_still_used(self.settings, done_through),
            degraded=still_said(self.degraded, done_through),
            unwanted=ranges.difference(self.unwanted, gone),
            declined=joined(
                Declined(first=max(one.first, done_through), last=one.last, reason=one.reason)
                for one in self.declined
            ),
        )

    def _flawed_below(self, done_through: int) -> Ranges:
        first = self.lowest_unclosed()
        open_: Ranges = ((first, done_through - 1),) if first < done_through else ()
        if not (self.declined or self.damaged or self.deferred or open_):
            return self.flawed
        declined = ranges.normal((one.first, one.last) for one in self.declined)
        found = ranges.union(ranges.union(declined, self.damaged), self.deferred)
        flaws = ranges.difference(found, ((done_through, FOREVER),))
        return _few(ranges.union(ranges.union(self.flawed, flaws), open_))


def _few(flawed: Ranges) -> Ranges:
    """The oldest are joined where there are many: what lies between them counts as flawed, too."""
    if len(flawed) <= FLAWED_RANGES_MAX:
        return flawed
    joined_through = len(flawed) - FLAWED_RANGES_MAX
    return ((flawed[0][0], flawed[joined_through][1]), *flawed[joined_through + 1 :])


def _still_used(
    settings: tuple[tuple[int, int], ...], done_through: int
) -> tuple[tuple[int, int], ...]:
    """Without those that hold for no pane that is left."""
    holding = max((number for number, pane in settings if pane <= done_through), default=0)
    return tuple(one for one in settings if one[0] >= holding)


def joined(declined: Iterable[Declined]) -> tuple[Declined, ...]:
    """The same panes, with those that touch as one, each reason for itself."""
    panes: dict[Reason, list[Range]] = {}
    for one in declined:
        panes.setdefault(one.reason, []).append((one.first, one.last))
    found = (Declined(*two, why) for why, those in panes.items() for two in ranges.normal(those))
    return tuple(sorted(found, key=lambda one: (one.first, one.reason)))


Withheld = tuple[int, Remainders]
"""The last update of a pane's close, and what is told with it of what was kept back."""


class PaneKept(msgspec.Struct, frozen=True):
    """One pane of one query as the cube has it: updates, their marks, and rows in none of them."""

    pane: int
    updates: int
    """How many were made: 1 … updates; 0: none yet."""
    sent: Ranges = ()
    """Updates that were marked as sent."""
    is_acked: bool = False
    """The root holds all of ``updates`` (marked, and nothing was made since)."""
    waiting_rows: int = 0
    """Rows of committed batches that are in no update yet."""
    row_bytes: int = 0
    """About what its largest update takes when sent; 0 is allowed where it isn't known."""
    written_s: float = 0.0
    """When it was last written, on the clock of the process that did it. How long ago that is can't
    be told after a restart, so retention counts from then."""
    is_same: bool = False
    """As in ``UpdatesMade``."""
    is_whole: bool = True
    """As in ``UpdatesMade``: a crash may have come before a record knew of it."""
    withheld: Withheld | None = None
    """What was kept back of it, as ``PaneBook.withheld`` has it."""
    owes_rest: bool = False
    """And that is still to follow."""


class QueryKept(msgspec.Struct, frozen=True):
    """All that the cube has of one query; ``Edge.restore`` takes one for each."""

    query: str
    record: EdgeRecord
    panes: tuple[PaneKept, ...] = ()
    """Every pane at or above ``record.done_through`` that has waiting rows, or ever had an update
    and was not dropped by ``Expire``: one that is not listed counts as closed empty."""
    failures: tuple[QueryBatch, ...] = ()
    """Failed batches that are committed and that ``record`` does not know of yet."""
