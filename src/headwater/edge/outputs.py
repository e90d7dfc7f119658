"""What the edge wants done: the shell does it in order, and durably where it says so.

``MakeUpdates``, ``MakeEarly``, ``RollUp``, ``Remember``, ``MarkSent``, ``MarkAcked``, ``Expire``
and ``Forget`` are writes to the cube. They are executed before anything that follows them in the
list, so that what is said on the wire is on the disk. ``Send`` and ``Report`` go to the overlay.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import Lane
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.site_state import SiteState
from headwater.edge.record import EdgeRecord
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.notice import Notice

PIECES_MAX = 8
"""Of a pane's flush (``MakeUpdates.piece_bytes``): members and relays pay for each update."""


class Raised(msgspec.Struct, frozen=True):
    """How far the bound of a query's threshold is raised, for panes that are closed now."""

    at: int
    """0: not at all; else which of its levels, from 1 on."""
    parts: tuple[float, ...]
    """Of the limit, by level."""

    @property
    def part(self) -> float:
        return self.parts[self.at - 1] if self.at else 0.0


class TopAnswer(msgspec.Struct, frozen=True):
    """What the root wants of what was kept back of a pane, and what each column came to there."""

    asked: TopRequest
    of: tuple[float, ...] = ()


class MakeUpdates(msgspec.Struct, frozen=True):
    """Make updates of all waiting rows of these panes, with ``record``, in one transaction.

    Updates are numbered on from those that the pane has; more than ``summary_bytes_max`` makes
    several. Under a query that tolerates an error, the first ones of a pane leave out what does not
    matter; where that is to follow, the next ones have it. Answer with one ``UpdatesMade`` for each
    pane, all in one ``Edge.updates_made``.

    Of a state query the rows are those of the state at the pane's end, of all that is committed
    now. Panes of one write that have the same state still have an update each, so that one of them
    can be repaired alone; their rows may be stored once.
    """

    query: str
    panes: tuple[int, ...]
    record: EdgeRecord
    sent: bool
    """Mark the new updates as sent: they go to the overlay as soon as this is done."""
    is_measured: bool = False
    """Whether somebody wants to know what the pane takes on the wire."""
    raised: Raised | None = None
    """Of a query with a threshold."""
    sends_largest: bool = False
    """Of a query whose sites may send the largest groups alone: they do, of panes that are closed
    now. What they keep back lies where what is owed lies, whatever becomes of it."""
    answers: tuple[TopAnswer, ...] = ()
    """Of these panes what the root asks for is sent, and the rest stays; where they have late rows,
    all of it goes with them."""

    piece_bytes: int = 0
    """Where a deadline may cut the flush off: what matters most goes first, in pieces of about so
    many bytes of rows; 0: in updates as large as they may be."""

    def answer_of(self, pane: int) -> TopAnswer | None:
        return next((one for one in self.answers if one.asked.pane == pane), None)


class MakeEarly(msgspec.Struct, frozen=True, eq=False):
    """Make one update of what is unsent of these keys of a pane that is open, marked as sent.

    At least one group is left for the close, which tells with it how many updates there are; and
    what is beyond ``summary_bytes_max`` waits. Where the pane is being closed in the same
    transaction, nothing is made: an early update holds up no close. Answer with one
    ``UpdatesMade``.
    """

    query: str
    pane: int
    keys: NDArray[np.uint64]


class RollUp(msgspec.Struct, frozen=True):
    """Give a level all rows that there are of these panes of its full query, under its own pane,
    with both records, in one transaction. None of them has left, and they stay as they are. Answer
    with one ``UpdatesMade``."""

    query: str
    """The full one."""
    level: str
    pane: int
    """Of the level."""
    panes: tuple[int, ...]
    """Of the full query."""
    record: EdgeRecord
    level_record: EdgeRecord


class UpdatesMade(msgspec.Struct, frozen=True):
    """The updates that a ``MakeUpdates`` made for one pane; ``last_update < first_update``:
    none."""

    query: str
    pane: int
    first_update: int
    last_update: int
    row_bytes: int = 0
    """About what the largest of them takes when sent."""
    is_same: bool = False
    """Of a state query: these are the rows that the pane before it has, update by update."""
    is_whole: bool = True
    """False where rows of the pane were damaged on the disk: the updates have the others, and the
    rest is declined (lost), which the cube has written in the same transaction. Of a state query:
    False where a record may be missing from the state, because bytes were lost, a batch failed, or
    this site began late and has not read enough records since."""
    over: str = ""
    """In words: the pane has more rows than the query may send, so none of them is in an update. It
    is declined (limit), which the cube has written in the same transaction."""
    withheld: Remainders = ()
    """What was kept back of the pane; told with the last of them."""
    is_early: bool = False
    """The answer to ``MakeEarly``: the pane is open."""
    is_rolled_up: bool = False
    """The answer to ``RollUp``: the pane has rows, and no update yet."""
    wire_bytes: int = 0
    """About what all of them take on the wire, where that was asked."""
    beside_bytes: int = 0
    """Of that, what does not depend on how many rows there are."""
    row_counts: tuple[int, ...] = ()
    """Of a query with a threshold: how many rows would have left with it not raised, and at each of
    its levels; of one that may send the largest alone, all and these. Nothing where the pane was
    merged in portions."""


class Remember(msgspec.Struct, frozen=True):
    """Write the record."""

    query: str
    record: EdgeRecord


class MarkSent(msgspec.Struct, frozen=True):
    """Mark updates as sent: (pane, first update, last update)."""

    query: str
    updates: tuple[tuple[int, int, int], ...]


class MarkAcked(msgspec.Struct, frozen=True):
    """The root holds all updates of these panes; those below ``done_through`` it never asks for.

    ``record`` is written in the same transaction: it says ``done_through`` too, and a pane that
    the cube has dropped below it must never look like one that was closed empty.
    """

    query: str
    panes: Ranges
    done_through: int
    record: EdgeRecord


class MarkUnacked(msgspec.Struct, frozen=True):
    """The root began anew: what an older one acknowledged is needed again."""

    query: str


class Expire(msgspec.Struct, frozen=True):
    """Drop these panes, whose retention has passed before they were acknowledged, and write
    ``record``, which declines them, in one transaction."""

    query: str
    panes: tuple[int, ...]
    record: EdgeRecord


class Forget(msgspec.Struct, frozen=True):
    """The query was removed: drop its record, rows and updates."""

    query: str


class Withdrawn(msgspec.Struct, frozen=True):
    """The query was removed, refused or suspended, or its extent is over here, and sealed: its site
    part is not to be run any more."""

    query: str


class Send(msgspec.Struct, frozen=True):
    """Load the rows of these updates and hand them to the overlay, once."""

    query: str
    pane: int
    updates: Ranges
    """``()``: there are no rows, only a close."""
    coverage: Coverage
    lane: Lane
    row_bytes: int = 0
    more: int = 0
    """Of a state query: in how many further panes the same updates hold. They have the same rows,
    so those of ``pane`` are loaded."""

    @property
    def panes(self) -> range:
        return range(self.pane, self.pane + self.more + 1)


class Report(msgspec.Struct, frozen=True):
    """Hand these states to the overlay, towards their roots."""

    states: tuple[SiteState, ...]


class Altered(msgspec.Struct, frozen=True):
    """By which settings and shares this site goes, pane by pane: what it makes after this goes by
    them."""

    query: str
    settings: SettingsBook


class Outlived(msgspec.Struct, frozen=True):
    """A root knows this site under a higher incarnation than its own: the cube was lost, and made
    again under an early clock. Take one above it, durably, then call ``Edge.live_anew``."""

    incarnation: int


Output = (
    MakeUpdates
    | MakeEarly
    | RollUp
    | Remember
    | MarkSent
    | MarkAcked
    | MarkUnacked
    | Expire
    | Forget
    | Withdrawn
    | Send
    | Report
    | Altered
    | Outlived
    | Notice
)
