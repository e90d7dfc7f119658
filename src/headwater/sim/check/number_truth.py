"""A site's log by the panes of a query, and what is true of it where numbers close the panes.

In the simulator the times that records say stand for numbers: they rise as far as a site's clock
does, and fall where it is set back.
"""

from __future__ import annotations

from bisect import bisect_left

from headwater.plan.query import Query
from headwater.sim.records.admits import admits
from headwater.sim.world.log import Log

NOT_YET = 1 << 60
"""A position that no log reaches."""


class PaneIndex:
    """A log's records by pane of one query; grows with the log."""

    def __init__(self, query: Query, log: Log) -> None:
        self._query = query
        self._log = log
        self._next = 0
        self.panes: dict[int, list[tuple[int, int]]] = {}
        self._lost: dict[int, list[int]] = {}
        """Pane -> positions of its records whose bytes vanished."""

    def records(self, pane: int) -> list[tuple[int, int]]:
        if self._next < len(self._log):
            self._read_on()
        return self.panes.get(pane, [])

    def lost_in(self, pane: int) -> list[int]:
        return self._lost.get(pane, [])

    def _read_on(self) -> None:
        log, window = self._log, self._query.window
        for position in range(self._next, len(log)):
            number, pane = log.numbers[position], window.pane_at(log.times_us[position])
            if position in log.lost:
                self._lost.setdefault(pane, []).append(position)
            elif admits(self._query, number):
                self.panes.setdefault(pane, []).append((position, number))
        self._next = len(log)


class NumberTruth:
    """All queries with windows of numbers at one site, over all its lives."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._first_read: dict[tuple[str, int], tuple[int, int]] = {}
        """By query and life: from which position on it was read, and its first pane."""

    def first_read(self, query: Query, incarnation: int, position: int, pane: int) -> None:
        """A batch of this life has read records of the query, from this position on. The first such
        batch says that the life begins with this pane."""
        self._first_read.setdefault((str(query.id), incarnation), (position, pane))

    def begins_after(self, query: Query, pane: int) -> bool:
        """Whether some life of the site may have begun with a later pane than this."""
        found = [first for _, first in self._lives(query)]
        return any(pane < first for first in found) or not found

    def read_from(self, query: Query) -> int:
        """Records below this position were there before the query, which begins now."""
        return min((position for position, _ in self._lives(query)), default=0)

    def _lives(self, query: Query) -> list[tuple[int, int]]:
        return [one for (query_id, _), one in self._first_read.items() if query_id == str(query.id)]

    def reaching(self, query: Query, pane: int, beyond: int) -> int:
        """The position of the first record that is so far beyond the pane's end."""
        position = bisect_left(self._log.highs_us, query.window.pane_end_us(pane) + beyond)
        return position if position < len(self._log.highs_us) else NOT_YET

    def has_reached(self, query: Query, pane: int, *, true_s: float) -> bool:
        """Whether records that were there by then have sealed the pane, if all of them were read
        that some life of the site reads of the query: with a clock that was set back, those before
        it have the higher numbers. Of a number its pane alone is known, so one pane more is
        wanted."""
        grid, window, log = query.numbers, query.window, self._log
        assert grid is not None, "only of numbers"
        bound_us = window.pane_end_us(pane) + grid.disorder + grid.lateness + window.pane_us
        return any(
            log.times_us[at] >= bound_us and log.true_s[at] <= true_s
            for at in range(self.read_from(query), len(log))
            if at not in log.lost and admits(query, log.numbers[at])
        )
