"""What a site says about its panes beside the summaries themselves, as one small snapshot.

Summaries carry rows and the closes that belong to them. All that is true of whole stretches of
panes goes here instead: where the site began, what it will never send, what it closed empty in
bulk while catching up, up to where nothing can change any more. A snapshot replaces the former
one of the same site, incarnation and query if its number is higher, so copies, losses and
disorder do no harm: the site repeats it until the root has acknowledged that number.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from math import floor, log2
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import PANE_MAX, Name, Number, Pane, beginning_of
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.alarm import Alarm
from headwater.algebra.words.as_of import SiteAsOf
from headwater.algebra.words.close_digest import BlockDigest, Closes
from headwater.algebra.words.degraded import Degraded
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.remark import Remark

FOREVER = PANE_MAX
"""A pane number beyond all panes: what an input that has ended is sealed through."""


RUNNING = "running"
REFUSED = "refused"
SUSPENDED = "suspended"


class Reason(StrEnum):
    """Why a pane will never come (declined), or not now (deferred)."""

    SHED = "shed"
    FAILED = "failed"
    LIMIT = "limit"
    NOT_INSTALLED = "not installed"
    LOST = "lost"
    EXPIRED = "expired"
    SCHEMA = "schema"
    REFUSED = "refused"
    VERSION = "version"
    BACKLOG = "backlog"
    NOT_RETAINED = "not retained"
    CATCHING_UP = "catching up"
    COARSE = "coarse"
    """Its rows are in a coarser pane, of a level of the query."""
    STRADDLED = "straddled"
    """Of a level: something came between, and the finer panes are sent instead."""
    PAUSED = "paused"
    """Its site waits with sending it, for root or relays are short of memory."""
    NOT_CLOSED = "not closed"
    """Of a question: the stream's panes were open when it was answered."""

    @classmethod
    def _missing_(cls, _: object) -> Reason:
        """One that only a newer version knows is shown as the most general one."""
        return cls.FAILED


class PaneState(StrEnum):
    """What the root knows of one pane of one site: nothing, not now, never, or all; or that its
    window has enough without it."""

    UNKNOWN = "unknown"
    OPEN = "open"
    DEFERRED = "deferred"
    CLOSED = "closed"
    DECLINED = "declined"
    NOT_WANTED = "not wanted"


class Declined(msgspec.Struct, frozen=True, array_like=True):
    """Panes first … last (closed range) never come, or not beyond what was sent of them."""

    first: Pane
    last: Pane
    reason: Reason


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """What the site saw and could not count, or not yet, since the query began.

    ``too_late`` and ``before_begin`` are partial rows, one for each group and batch: by then the
    records are summed up.
    """

    unparsed: Number = 0
    """Lines that are no record."""
    too_late: Number = 0
    """Partial rows for panes that were sealed or given up."""
    fenced: Number = 0
    """Records from the future: kept, and counted when their window comes."""
    lost_bytes: Number = 0
    before_begin: Number = 0
    """Partial rows for panes before this site's first: they are none of the query's."""
    refused: Number = 0
    """Records from so far in the future that they were dropped."""
    twice_bytes: Number = 0
    """That may have been read twice, at most; the panes of their records are damaged."""
    not_drawn: Number = 0
    """Partial rows for panes that a random demand has not drawn: they are none of the query's."""


UNREAD_NAMED_MAX = 3
"""Files that a site names of those that it does not read; of all it tells the number."""
UNREAD_CHARACTERS_MAX = 200
"""Of a name and of a reason, what is told."""


class Unread(msgspec.Struct, frozen=True, array_like=True):
    """Input that the source's path names and the site leaves alone, or can't read, at present."""

    count: Number = 0
    named: Annotated[tuple[tuple[Name, Name], ...], Meta(max_length=UNREAD_NAMED_MAX)] = ()
    """(name, reason) of the first ones."""

    @classmethod
    def of(cls, count: int, found: Iterable[tuple[str, str]]) -> Unread:
        """Of as many; the first of those that were found are named, within bounds. Of a long name
        the end is kept, which tells it from others."""
        first, most = islice(found, UNREAD_NAMED_MAX), UNREAD_CHARACTERS_MAX
        return cls(count, tuple((_end_of(name), beginning_of(why, most)) for name, why in first))

    def __bool__(self) -> bool:
        return self.count > 0

    def text(self) -> str:
        """
        >>> Unread.of(5, [("a.zip", "can't be expanded here")]).text()
        "5 files are not read: a.zip (can't be expanded here); and 4 more"
        """
        files = "1 file is" if self.count == 1 else f"{self.count} files are"
        named = "; ".join(f"{name} ({reason})" for name, reason in self.named)
        rest = self.count - len(self.named)
        more = f"; and {rest} more" if rest > 0 else ""
        return f"{files} not read: {named}{more}"


def _end_of(text: str) -> str:
    most = UNREAD_CHARACTERS_MAX
    return text if len(text) <= most else f"…{text[1 - most :]}"


FLUSH_LEVEL_MAX = 32
_FLUSH_HALVES = 10


def flush_level(seconds: float) -> int:
    """To a power of two, so that it seldom changes; 0: next to nothing.

    >>> [flush_level(one) for one in (0.0, 0.001, 0.25, 0.5, 3.0, 1e12)]
    [0, 0, 8, 9, 11, 32]
    """
    halves = floor(log2(max(seconds, 1e-9))) + _FLUSH_HALVES
    return max(0, min(FLUSH_LEVEL_MAX, halves))


def flush_s(level: int) -> float:
    """
    >>> [flush_s(one) for one in (0, 8, 11)]
    [0.0, 0.25, 2.0]
    """
    return 2.0 ** (level - _FLUSH_HALVES) if level else 0.0


class SiteFacts(msgspec.Struct, frozen=True):
    """What a site knows of a query, and its root must know."""

    first_pane: int | None = None
    """The first pane it answers for; earlier ones are declined. ``-FOREVER``: from the earliest
    record on; None: not installed (refused)."""
    status: str = RUNNING
    """running, refused, suspended: with ``message`` for people."""
    message: str = ""
    catching_up: bool = False
    """While true the root sets no deadline for windows that were over when the query began."""
    ended: bool = False
    """The input is finite and has been read: no window beyond the newest data will come."""
    sealed_through: int = -FOREVER
    """Panes below this number are sealed: nothing more can come."""
    empty: Ranges = ()
    """Panes closed with no update, in bulk (runs too long to send one by one)."""
    declined: tuple[Declined, ...] = ()
    damaged: Ranges = ()
    """Panes whose input bytes were lost: they are never exact."""
    tally: Tally = Tally()
    offset_s: float | None = None
    """How far the root's steady clock was ahead of the site's wall clock when it last said
    something; None: not known. Only a large change of it is news."""
    root_incarnation: int = 0
    """The highest life of the root that the site has heard of. A root that is told of a higher one
    than its own has lost its ledger, and its clock: it takes one above."""
    alarms: tuple[Alarm, ...] = ()
    """What the site has found to be wrong with its panes; each until the root has greeted it."""
    settings: tuple[tuple[int, int], ...] = ()
    """By which settings of the query it goes: (number, from which pane on), by number. Before them,
    and where it says nothing, by those of the install."""
    deferred: Ranges = ()
    """Panes that it has closed at a coarser level: their own updates follow when there is room."""
    degraded: tuple[Degraded, ...] = ()
    """From which panes on it has given up how much, and why, by pane."""
    as_of: SiteAsOf | None = None
    """Of a question: as of when its panes are; None: it is none, or is not answered yet."""


class SiteState(SiteFacts, frozen=True, kw_only=True):
    """One site's word on one query. ``number`` rises with every change."""

    query: str
    ordinal: int
    incarnation: int
    number: int
    counts: tuple[tuple[int, int], ...] = ()
    """(pane, updates) of panes with updates beyond their first close, until the root has them, and
    of such as were closed empty or can't be exact, until it is done: what an acknowledgement's bit
    alone does not speak of."""
    unread: Unread = Unread()
    """As the newest look at the source found it; told as seldom as the tally."""
    is_clock_unconfirmed: bool = False
    """By age: fewer than three neighbours agree on the root's clock as the site takes it, and one
    who lies may have moved its records."""
    digests: tuple[BlockDigest, ...] = ()
    """Of what it has closed, in ranges that follow each other, but for what the root has agreed
    to."""
    closes: tuple[Closes, ...] = ()
    """What the root has asked for: where the digest of a range differs."""
    remarks: tuple[Remark, ...] = ()
    """About its input, as it is now; told as seldom as the tally."""
    flush_level: int = 0
    """How long the newest flushes after a close would have lasted, were nothing kept back
    (``flush_s``); told as seldom as the tally, and of an absolute bound alone: shares go by it."""
    paused_from: int | None = None
    """Panes from here on wait to be sent, as root or relays have asked; None: none do."""
    proof: Proof | None = None
    """That the site has said this; None: it has not been signed yet."""
