"""One acknowledgement as one site sees it.

What is said of a single site stands in a leaf; where that was not handed on, nothing is lacking by
it.
"""

from __future__ import annotations

from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.words.acknowledgement import LEAF_SITES, AckLeaf, Acknowledgement


class AckView:
    """``leaf`` is None where it is not at hand."""

    def __init__(
        self, ack: Acknowledgement, leaf: AckLeaf | None, *, ordinal: int, incarnation: int
    ) -> None:
        self._held = IntervalSet(ack.held)
        self._listed = IntervalSet(() if leaf is None else ack.listed)
        said = AckLeaf(0) if leaf is None else leaf
        place = ordinal % LEAF_SITES
        self.panes = {held.pane for held in said.panes if held.sites >> place & 1}
        self.extras = {
            extra.pane: IntervalSet(extra.updates)
            for extra in said.extra
            if extra.ordinal == ordinal and extra.incarnation == incarnation
        }
        self.held = ack.held

    def has_first(self, pane: int) -> bool:
        return pane in self.panes or pane in self._held

    def has_update(self, pane: int, update: int) -> bool:
        extra = self.extras.get(pane)
        return extra is not None and update in extra

    def lists(self, pane: int) -> bool:
        return pane in self._listed

    def split_empty(self, doubtful: IntervalSet) -> tuple[IntervalSet, IntervalSet]:
        """Of the panes in doubt, those that are held and those that are lacking."""
        held, lacking = IntervalSet(), IntervalSet()
        for first, last in doubtful.ranges():
            for a, b in self._held.within(first, last):
                held.add(a, b)
            for a, b in self._listed.within(first, last):
                lacking.add(a, b)
        for pane in self.panes:
            if pane in doubtful:
                held.add(pane, pane)
        for a, b in held.ranges():
            lacking.remove(a, b)
        return held, lacking
