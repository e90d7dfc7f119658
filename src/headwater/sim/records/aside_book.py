"""What a simulated cube keeps of input that was set aside: stretches of positions, and for whom.

::

    log        0 1 2 3 4 5 6 7 8 9 …
    aside 1          [-----)            of the queries that have skipped them
    live       [-----)     [---------   of these; others read on
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headwater.edge.shedding.choose_skip import Skip
from headwater.plan.readings import aside_reading
from headwater.sim.records.admits import SOURCE


@dataclass
class AsideDisk:
    """One stretch."""

    end: int
    committed: int
    """Positions from its begin up to here were read."""
    panes: dict[str, tuple[int, int]]
    """By query: those that it may touch."""

    @property
    def is_read(self) -> bool:
        return self.committed == self.end


@dataclass
class AsideBook:
    """Of all queries of one cube."""

    stretches: dict[str, AsideDisk] = field(default_factory=dict)
    """By the name of the reading, in the order of their numbers."""
    last: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    """By query: live positions below are none of its to read now."""

    def skip(self, skips: Mapping[str, Skip], *, committed: int, found: int) -> list[str]:
        """The names of new ones."""
        by_span: dict[tuple[int, int], dict[str, tuple[int, int]]] = {}
        for query, one in sorted(skips.items()):
            first = max(committed, self.skipped.get(query, 0))
            end = min(one.through_cut, found)
            if end > first:
                by_span.setdefault((first, end), {})[query] = (one.first, one.last)
        made = []
        for (first, end), panes in by_span.items():
            self.last += 1
            reading = aside_reading(SOURCE.name, self.last)
            self.stretches[reading] = AsideDisk(end, first, panes)
            self.skipped |= dict.fromkeys(panes, end)
            made.append(reading)
        return made

    def read_by_nobody(self, readers: Collection[str]) -> int:
        """Live positions below this one are none of any reader's."""
        return min((self.skipped.get(one, 0) for one in readers), default=0)

    def forget(self, query_id: str) -> None:
        self.skipped.pop(query_id, None)
        for one in self.stretches.values():
            one.panes.pop(query_id, None)
