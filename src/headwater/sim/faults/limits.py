"""What the network allows: which sites could be in an answer at all while troubles last.

A site that is down, or has no live path to the root, can't be in a first answer whatever the
protocol does. Three limits: upwards over the links of the trees; over these links in either
direction, which only steps down could use; and, with the last resort, over any pair of sites that
is not cut apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.plan.roster import Roster
from headwater.plan.tree import Tree
from headwater.sim.faults.faults import Fault, Kind
from headwater.sim.faults.named_faults import GONE

Interval = tuple[float, float]


class Reach:
    """One simulation's faults, asked for a stretch of its time."""

    def __init__(
        self, roster: Roster, trees: Sequence[Tree], faults: Sequence[Fault], *, root: str
    ) -> None:
        names = {site.ordinal: site.name for site in roster.sites}
        self._names = frozenset(names.values())
        self._root = root
        self._links: dict[str, set[str]] = {name: set() for name in self._names}
        self._below: dict[str, set[str]] = {name: set() for name in self._names}
        for tree in trees:
            for child, parent in tree.parents:
                self._links[names[child]].add(names[parent])
                self._links[names[parent]].add(names[child])
                self._below[names[parent]].add(names[child])
        self._faults = [
            fault
            for fault in faults
            if fault.kind in GONE or fault.kind in (Kind.CUT, Kind.ONE_WAY, Kind.PARTITION)
        ]
        self._known: dict[tuple[int, ...], tuple[frozenset[str], ...]] = {}

    def during(self, from_s: float, until_s: float) -> tuple[frozenset[str], ...]:
        """(live, reachable upwards, over trees' links, at all), throughout this stretch."""
        active = tuple(
            number
            for number, fault in enumerate(self._faults)
            if fault.at_s < until_s and fault.at_s + fault.for_s > from_s
        )
        found = self._known.get(active)
        if found is None:
            found = self._known[active] = self._reach([self._faults[one] for one in active])
        return found

    def _reach(self, active: Sequence[Fault]) -> tuple[frozenset[str], ...]:
        gone = {site for fault in active if fault.kind in GONE for site in fault.sites}
        live = self._names - gone
        sides = [set(fault.sites) for fault in active if fault.kind is Kind.PARTITION]
        cut = {frozenset(fault.sites) for fault in active if fault.kind in (Kind.CUT, Kind.ONE_WAY)}
        together = frozenset(
            site for site in live if all((site in side) == (self._root in side) for side in sides)
        )
        up = self._walk(together, cut, self._below)
        return live, up, self._walk(together, cut, self._links), together

    def _walk(
        self, among: frozenset[str], cut: set[frozenset[str]], links: dict[str, set[str]]
    ) -> frozenset[str]:
        reached, open_ = {self._root}, [self._root]
        while open_:
            here = open_.pop()
            for there in links[here]:
                if there in among and there not in reached and frozenset((here, there)) not in cut:
                    reached.add(there)
                    open_.append(there)
        return frozenset(reached)
