"""One pane in a simulated cube, and what a simulated batch has yet to tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headwater.algebra.sets.ranges import Ranges
from headwater.edge.record import Withheld
from headwater.edge.report import QueryBatch

Records = Any
"""``Bag`` or ``CountedBag``: all of a world are of one kind."""


@dataclass
class PaneDisk:
    """One pane of one query in a cube."""

    waiting: Records
    updates: list[Records] = field(default_factory=list)
    sent: Ranges = ()
    is_acked: bool = False
    is_same: bool = False
    """Of a state query: its updates are those of the pane before it."""
    is_whole: bool = True
    """Of a state query: nothing is missing from it."""
    written_s: float = 0.0
    rest: Records = None
    """What was kept back."""
    owes_rest: bool = False
    withheld: Withheld | None = None
    is_closed: bool = False
    """Its updates so far did not all leave before its close."""


@dataclass
class Untold:
    """Something that happened to a batch and must reach the edge's records, whatever crashes.

    It is written in the transaction that commits the batch. It goes when each query that it
    concerns has written a record after it was told; until then a restart tells it again.
    """

    queries: set[str]
    failed: QueryBatch | None
    damaged_us: tuple[int, int] | None
    is_told: bool = False
