"""Where a site has put the records of a query that goes by age, and that it did so once.

Such a record belongs where its site placed it, by its clock and the offset to the root's that it
held for the batch; no other place is true. So the truth is told in the moment of the commit. It
holds the site to two things: nothing is placed twice, and nothing that was read is passed over.
"""

from __future__ import annotations

from headwater.plan.query import Query
from headwater.sim.outcome import Violation
from headwater.sim.records.admits import admits
from headwater.sim.world.log import Log


class Placements:
    """Of one age query at one site, over all lives of the site. Grows with every commit."""

    def __init__(self, query: Query, log: Log) -> None:
        self._query = query
        self._log = log
        self.panes: dict[int, list[tuple[int, int]]] = {}
        """Pane -> (position, number) of what was put there."""
        self._through: dict[int, int] = {}
        """By incarnation: records below this position are placed."""
        self._lost: dict[int, int] = {}
        """Position -> pane of a record whose bytes vanished, as the site last took it."""

    def records(self, pane: int) -> list[tuple[int, int]]:
        return self.panes.get(pane, [])

    def place(self, first: int, end: int, *, offset_us: int, incarnation: int) -> None:
        """A batch with the positions from ``first`` to before ``end`` is committed."""
        before = self._through.get(incarnation, first)
        if first != before:
            raise Violation(
                "placed once",
                f"{self._query.id}: positions {first} to {end - 1} are committed after {before - 1}"
                f"{', again' if first < before else ', with a gap'}",
            )
        self._through[incarnation] = end
        log, window = self._log, self._query.window
        for position in range(first, end):
            number = log.numbers[position]
            if position not in log.lost and admits(self._query, number):
                pane = window.pane_at(log.times_us[position] + offset_us)
                self.panes.setdefault(pane, []).append((position, number))

    def lives_anew(self, former: int, incarnation: int) -> None:
        if former in self._through:
            self._through[incarnation] = self._through[former]

    def lose(self, times_us: tuple[int, int], *, offset_us: int) -> None:
        """The site hears that what lay between these times is lost. After a restart it hears it
        again, perhaps with another offset, and that one counts."""
        first_us, last_us = times_us
        for position in self._log.lost:
            if position < len(self._log) and first_us <= self._log.times_us[position] <= last_us:
                time_us = self._log.times_us[position] + offset_us
                self._lost[position] = self._query.window.pane_at(time_us)

    def lost_in(self, pane: int) -> list[int]:
        return [position for position, at in self._lost.items() if at == pane]
