"""When records were truly born: in true time, as the clock of a query's root shows it.

No site knows this. It is what Mortar's *true completeness* is measured by (section 5): of the
records that were born in a window, the share that an answer has in that window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from headwater.algebra.panes import MICROS
from headwater.plan.query import Query
from headwater.sim.records.admits import admits
from headwater.sim.world.event_queue import Clock
from headwater.sim.world.log import Log


class Births:
    def __init__(self, logs: Sequence[Log], clocks: Mapping[str, Clock]) -> None:
        """``logs`` by slot, ``clocks`` by site; both are filled while the world is made."""
        self._logs = logs
        self._clocks = clocks

    def pane_of(self, query: Query, number: int) -> int:
        """The pane in which the record with this number was born."""
        position, slot = divmod(number, len(self._logs))
        return self._pane_at(query, self._logs[slot].true_s[position])

    def by_pane(self, query: Query) -> Counter[int]:
        """How many were born in each pane, at all sites, as far as logs have grown."""
        return Counter(
            self._pane_at(query, born_s)
            for log in self._logs
            for number, born_s in zip(log.numbers, log.true_s, strict=True)
            if admits(query, number)
        )

    def _pane_at(self, query: Query, true_s: float) -> int:
        root_s = self._clocks[query.root].at_s(true_s)
        return query.window.pane_at(int(root_s * MICROS))
