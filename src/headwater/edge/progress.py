"""What an edge shows of a query at its site, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headwater.algebra.sets import ranges
from headwater.edge.degrade.answering import Requests
from headwater.edge.degrade.degrading import DegradeProgress, progress_of
from headwater.edge.degrade.roll_up import oldest_waited_s, waiting_bytes
from headwater.edge.outbox.hold_back import held_panes
from headwater.edge.record import EdgeRecord

if TYPE_CHECKING:
    from headwater.edge.query_edge import QueryEdge


class Backlog(msgspec.Struct, frozen=True):
    """What waits at the site to leave it."""

    panes: int = 0
    bytes: int = 0
    """Of rows, as they lie in memory."""
    waited_s: float = 0.0
    """The oldest of them."""
    deferred: int = 0
    """Panes that a level stands for."""
    follow: bool = True
    """These do, when all else is through; else they are declined when the level has been made."""
    rolled_up: int = 0
    """Panes of levels that were made of it, in this life."""
    paused: int = 0
    """Of ``panes``: held back, for the root or a relay is short of memory."""


class EdgeProgress(msgspec.Struct, frozen=True):
    """One query at this site, for people."""

    query: str
    record: EdgeRecord
    unacked_panes: int
    repairs: int
    early_keys: int = 0
    """That left before the close of their pane, in this life; each time counted."""
    early_again: int = 0
    """Of those, keys of closed panes that had left before in the same pane."""
    withheld_keys: int = 0
    """Kept back at closes, in this life; each time counted."""
    flush_s: float = 0.0
    """As in ``EarlyRounds``."""
    degrading: DegradeProgress | None = None
    """None: it gives up nothing, whatever comes."""
    backlog: Backlog = Backlog()
    requests: Requests | None = None
    """None: the root has asked for none."""


def progress_of_query(edge: QueryEdge, *, now_s: float | None = None) -> EdgeProgress:
    """``now_s`` None: nobody wants to know how long something has waited."""
    state = edge.state
    return EdgeProgress(
        state.id,
        state.record,
        len(state.book.flights),
        len(state.book.repairs),
        edge.early.keys_sent,
        edge.early.keys_again,
        state.book.withheld_keys,
        edge.early.flush_s,
        progress_of(edge.degrading) if edge.degrading else None,
        Backlog(
            len(state.book.unsent()),
            waiting_bytes(state),
            0.0 if now_s is None else oldest_waited_s(state, now_s),
            ranges.count(state.record.deferred),
            not edge.levels.stay,
            edge.levels.roll_ups.count,
            held_panes(state),
        ),
        None if edge.answering is None else edge.answering.requests,
    )
