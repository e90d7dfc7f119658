"""What a site must remember of a query across a restart.

The cube writes an ``EdgeRecord`` in the same transaction as the updates it belongs to, as one
msgpack blob: it never looks inside. Rows, updates and their marks are the cube's own tables; a
restart brings both back together as ``QueryKept``.

A pane at or above ``first_pane`` and below ``closed_through`` is closed. If it has no update and
is not declined, it is closed empty: an empty close leaves no other trace.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.alarm import Alarm
from headwater.algebra.words.site_state import FOREVER, Declined, Tally
from headwater.edge.report import QueryBatch

RUNNING = "running"
REFUSED = "refused"
SUSPENDED = "suspended"


class EdgeRecord(msgspec.Struct, frozen=True):
    """One query at one site. Replaced as a whole; the newest one written counts."""

    first_pane: int | None = None
    """The first pane that this site answers for (``-FOREVER``: from the earliest record on).
    None: it answers for none (refused)."""
    closed_through: int = -FOREVER
    """Panes below this number are closed; ``FOREVER`` when the input has ended."""
    sealed_through: int = -FOREVER
    """Panes below this number are sealed: records for them are too late and not stored."""
    ended: bool = False
    catching_up: bool = False
    status: str = RUNNING
    message: str = ""
    failures: int = 0
    """Failed batches in a row."""
    state_number: int = 0
    """The number of the newest state that was told."""
    done_through: int = -FOREVER
    """What the root no longer wants, as far as it has said so."""
    root_incarnation: int = 0
    """Whose acknowledgements these are; 0: none heard yet."""
    empty: Ranges = ()
    """Panes closed empty in bulk, which the state tells."""
    reopened: Ranges = ()
    """Panes that were closed empty before their first update came."""
    declined: tuple[Declined, ...] = ()
    damaged: Ranges = ()
    tally: Tally = Tally()
    failure_heard: int = 0
    """The newest failed batch that this record knows of, by its number in the cube."""
    source: str = ""
    offset_s: float | None = None
    """How far the root's clock is ahead of the site's wall clock, as last known."""
    awaits_greeting: bool = False
    """The cube was new when the query began here, and the root has not said yet whether the site
    had another one before: nothing is closed."""
    sure_through: int | None = None
    """Panes below were closed by reads that reached the end of the input, those from there on by
    the times of records alone; None: not known, as of records that did not tell."""
    loss_heard: int = 0
    """The newest loss of ``source`` that this record knows of, by its number in the cube."""
    alarms: tuple[Alarm, ...] = ()
    """Those that the root has not greeted yet."""


class PaneKept(msgspec.Struct, frozen=True):
    """One pane of one query as the cube has it: updates, their marks, and rows in none of them."""

    pane: int
    updates: int
    """How many were cut: 1 … updates; 0: none yet."""
    sent: Ranges = ()
    """Updates that were marked as sent."""
    is_acked: bool = False
    """The root holds all of ``updates`` (marked, and nothing was cut since)."""
    waiting_rows: int = 0
    """Rows of committed batches that are in no update yet."""
    row_bytes: int = 0
    """About what its largest update takes when sent; 0 is allowed where it isn't known."""
    written_s: float = 0.0
    """When it was last written, on the clock of the process that did it. How long ago that is can't
    be told after a restart, so retention counts from then."""
    is_same: bool = False
    """As in ``CutDone``."""
    is_whole: bool = True
    """As in ``CutDone``: a crash may have come before a record knew of it."""


class QueryKept(msgspec.Struct, frozen=True):
    """All that the cube has of one query; ``Edge.restore`` takes one for each."""

    query: str
    record: EdgeRecord
    panes: tuple[PaneKept, ...] = ()
    """Every pane at or above ``record.done_through`` that has waiting rows, or ever had an update
    and was not dropped by ``Expire``: one that is not listed counts as closed empty."""
    failures: tuple[QueryBatch, ...] = ()
    """Failed batches that are committed and that ``record`` does not know of yet."""
