"""What an edge shows of a query at its site, for people."""

from __future__ import annotations

import msgspec

from headwater.edge.degrade.degrading import DegradeProgress
from headwater.edge.record import EdgeRecord


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
