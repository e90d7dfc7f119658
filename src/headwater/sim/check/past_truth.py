"""What is true of late queries at a site: which panes its logs can't answer for, and until when.

The records of a late query are all that the log has, whichever reading brings them: the truth is
that of any other query, but for its beginning. The pane of the first record is declined with those
before it, as others of it may be gone; and where there is no record yet, or a former life of the
site has read the past, all is until the site knows that.
"""

from __future__ import annotations

from headwater.algebra.panes import MICROS
from headwater.plan.query import Query

WHOLE_SLACK_S = 30.0
"""A site that gives up the past begins at most this long after that, by whole panes."""


class PastTruth:
    """All late queries at one site, over all its lives."""

    def __init__(self) -> None:
        self._lows_us: dict[str, list[int]] = {}
        """By query: the earliest time in the first batch, for each reading that had records."""
        self._over_s: dict[str, list[float]] = {}
        """By query: when the site wrote that it awaits the past no more, by its wall clock."""
        self._ends: dict[str, int] = {}
        """By query: positions below were read as its past, in the newest life that did."""

    def begun(self, query: Query, end: int) -> None:
        """Positions below the end are read as the past of this query."""
        self._ends[str(query.id)] = end

    def has(self, query: Query, position: int) -> bool:
        return position < self._ends.get(str(query.id), 0)

    def read(self, query: Query, low_us: int | None) -> None:
        known = self._lows_us.setdefault(str(query.id), [])
        if low_us is not None and low_us not in known:
            known.append(low_us)

    def is_over(self, query_id: str, *, wall_s: float) -> None:
        self._over_s.setdefault(query_id, []).append(wall_s)

    def is_not_retained(self, query: Query, pane: int) -> bool:
        """Whether the pane may be declined because of what files no longer hold."""
        lows_us = self._lows_us.get(str(query.id), ())
        return any(pane <= query.window.pane_at(low_us) for low_us in lows_us) or (
            not lows_us and self.is_given_up(query, pane)
        )

    def is_given_up(self, query: Query, pane: int) -> bool:
        """Whether it began before the site knew that it reads the past no more."""
        start_s = query.window.pane_start_us(pane) / MICROS
        over_s = self._over_s.get(str(query.id), ())
        return any(start_s < at_s + WHOLE_SLACK_S for at_s in over_s)
