"""What the root wants done: the shell does it in order, and durably where it says so.

``Keep``, ``KeepState``, ``KeepAlarm``, ``KeepShares`` and ``Trim`` are writes to the root's ledger.
They are executed before anything that follows them in the list; so an ``Acknowledge`` never says
more than the disk holds.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.summary import Rows
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.close_digest import Close
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.plan.notice import Notice
from headwater.root.carriers.alarm_book import StandingAlarm
from headwater.root.said.envelope import Envelope


class KeptSummary(msgspec.Struct, frozen=True):
    """An accepted summary. Numbers rise; the rows of a pane are those of all its summaries."""

    number: int
    pane: int
    coverage: Coverage
    rows: Rows = None
    """None when it only closes panes. On restoring, rows stay in the ledger: None as well."""
    has_rows: bool = False
    """Whether ``rows`` was given; kept, so that restoring need not read them."""


class Keep(msgspec.Struct, frozen=True):
    """Write it; it is never changed."""

    query: str
    kept: KeptSummary


class KeepState(msgspec.Struct, frozen=True):
    """Write it in the place of an earlier one with the same (query, ordinal, incarnation).

    States of a site's earlier incarnations stay: ``since`` says from which number of kept
    summaries on the incarnation counts, and restoring needs all of them.
    """

    query: str
    state: SiteState
    since: int
    agreed_through: int = -FOREVER
    """On restoring: as the newest ``KeepAgreement`` of the life says, as the next two."""
    disputed: tuple[Close, ...] = ()
    sure_number: int = 0


class KeepAgreement(msgspec.Struct, frozen=True):
    """Write beside the kept state of this life how far it is compared, and where its word differs
    from what is held; in the place of what was written before."""

    query: str
    ordinal: int
    incarnation: int
    through: int
    disputed: tuple[Close, ...]
    sure_number: int
    """What carriers brought for compared panes in summaries above this number is in doubt."""


class Replace(msgspec.Struct, frozen=True):
    """Take the kept summaries with these numbers out and write others of the same pane, in one
    transaction. No answer is under way."""

    query: str
    pane: int
    numbers: tuple[int, ...]
    kept: tuple[KeptSummary, ...]


class KeepAlarm(msgspec.Struct, frozen=True):
    """Write it in the place of an earlier one with the same (query, number)."""

    query: str
    standing: StandingAlarm


class KeepShares(msgspec.Struct, frozen=True):
    """Write these tables in the place of those before: no other may ever name their panes."""

    query: str
    tables: tuple[ShareTable, ...]


class Trim(msgspec.Struct, frozen=True):
    """Panes below are done: remember ``done_through``, then their summaries may be dropped."""

    query: str
    done_through: int


class Pieces(msgspec.Struct, frozen=True):
    """Of a query that is answered here, too: panes with rows, up to this summary."""

    query: str
    panes: tuple[int, ...]
    kept_through: int


class WindowAnswer(msgspec.Struct, frozen=True):
    """One window to be answered. ``panes`` are those of its panes that have rows."""

    window: int
    revision: int
    panes: tuple[int, ...]
    envelope: Envelope
    pieces: tuple[Pieces, ...] = ()
    """Of a level's window: what it is made of, in the place of ``panes``."""


class Answer(msgspec.Struct, frozen=True):
    """Collect the rows, finish them on Spark in one job, publish, then call ``Root.answered``.

    Only summaries numbered up to ``kept_through`` belong to it: the envelopes were made then, and
    more may be kept while Spark runs. Publishing stores ``WindowAnswered`` for each window in the
    ledger, in one step with the results. One ``Answer`` of a query is under way at a time.
    """

    query: str
    requests: tuple[WindowAnswer, ...]
    kept_through: int


class WindowAnswered(msgspec.Struct, frozen=True):
    """The newest answer of a window as the ledger has it; ``Root.restore`` takes them."""

    window: int
    revision: int
    kept_through: int
    envelope: Envelope


class RootKept(msgspec.Struct, frozen=True):
    """All that the ledger has of one query; ``Root.restore`` takes it."""

    query: str
    summaries: tuple[KeptSummary, ...] = ()
    """In order of their numbers, without rows."""
    states: tuple[KeepState, ...] = ()
    """One for each (ordinal, incarnation)."""
    answers: tuple[WindowAnswered, ...] = ()
    """The newest of each window that is not done."""
    done_through: int | None = None
    """Of the last ``Trim``; None: there was none."""
    last_number: int = 0
    """The newest number that a kept summary ever had, also one that is gone: none is used again."""
    lost: tuple[KeptSummary, ...] = ()
    """What was set aside as damaged and has not come again: answers may have had it in them."""
    alarms: tuple[StandingAlarm, ...] = ()
    shares: tuple[ShareTable, ...] = ()
    """Of the last ``KeepShares``."""


class Acknowledge(msgspec.Struct, frozen=True):
    """Multicast this down the query's tree."""

    ack: Acknowledgement


class Outdated(msgspec.Struct, frozen=True):
    """A site has heard of a higher life of this root's ledger: it was lost, and made again under an
    early clock. Take one above it, durably, then call ``Root.rise``."""

    incarnation: int


class Ended(msgspec.Struct, frozen=True):
    """The inputs have ended and every window is final and published."""

    query: str


class Overdone(msgspec.Struct, frozen=True):
    """Its root part took more than its share too often in a row: it is not to be run any more."""

    query: str
    message: str


Output = (
    Keep
    | KeepState
    | KeepAgreement
    | KeepAlarm
    | KeepShares
    | Replace
    | Trim
    | Answer
    | Acknowledge
    | Outdated
    | Ended
    | Notice
    | Overdone
)
