"""How far the numbers of a query were read at a site: what closes its panes instead of a clock.

The rule is "Sequence windows": a site closes a pane when it has read a number at or beyond its end
plus ``disorder``, and seals it ``lateness`` further on, once it is not behind with its input. What
is known of a number is the pane it lies in, and of records that WHERE drops not even that: so a
record that is kept closes panes. A quiet site closes nothing. Of a site's own count all is known:
its next record lies in the pane that is reached, and those before are closed and sealed.

While the past is read for the query, that reading decides: what is read live lies beyond it.
Where input is lost, or a batch fails, nobody knows which numbers are gone; they lie between the one
before and the next one that is read, so the panes up to that one are damaged.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.algebra.words.site_state import FOREVER
from headwater.edge.closing.closing import SourceClock
from headwater.plan.query import Query

READ_EVERY_S = 2.0
"""What was found waits at most so long for a batch: nobody knows which record closes a pane."""
SEAL_EVERY_S = 5.0
"""A seal is a word of the site's to the root, and there is one for each batch at most anyway."""


class Reached:
    """The highest panes of numbers that were read, of one query in this process."""

    def __init__(self) -> None:
        self.live: int | None = None
        self.past: int | None = None
        """Of the reading of the past."""

    def hear(self, panes: Iterable[int], *, is_past: bool = False) -> None:
        last = max(panes, default=None)
        if last is None:
            return
        if is_past:
            self.past = last if self.past is None else max(last, self.past)
        else:
            self.live = last if self.live is None else max(last, self.live)

    def pane(self, *, awaits_past: bool) -> int | None:
        """The highest that counts; None: nothing was read."""
        if awaits_past:
            return self.past
        found = [one for one in (self.live, self.past) if one is not None]
        return max(found, default=None)


def closable_by_number(
    query: Query, grid: SequenceGrid, clock: SourceClock, reached: int | None
) -> int:
    """As ``closable_through``."""
    if clock.ended or query.ends:
        return FOREVER if clock.ended else -FOREVER
    return -FOREVER if reached is None else grid.closed_through(query.window, reached)


def sealable_by_number(
    query: Query, grid: SequenceGrid, clock: SourceClock, reached: int | None
) -> int:
    """As ``sealable_through``."""
    if clock.ended or query.ends:
        return FOREVER if clock.ended else -FOREVER
    if clock.read_through_s is None or reached is None:
        return -FOREVER
    return grid.sealed_through(query.window, reached)
