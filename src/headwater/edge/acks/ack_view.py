"""One acknowledgement as one site sees it.

What is said of a single site stands in a leaf; where that was not handed on, nothing is lacking by
it.
"""

from __future__ import annotations

from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import LEAF_SITES, AckLeaf, Acknowledgement


class AckView:
    """``leaf`` is None where it is not at hand."""

    def __init__(
        self, ack: Acknowledgement, leaf: AckLeaf | None, *, ordinal: int, incarnation: int
    ) -> None:
        self.held = ack.held
        self._listed = () if leaf is None else ack.listed
        said = AckLeaf(0) if leaf is None else leaf
        place = ordinal % LEAF_SITES
        self.panes = {held.pane for held in said.panes if held.sites >> place & 1}
        self.extras = {
            extra.pane: extra.updates
            for extra in said.extra
            if extra.ordinal == ordinal and extra.incarnation == incarnation
        }

    def has_first(self, pane: int) -> bool:
        return pane in self.panes or ranges.contains(self.held, pane)

    def has_update(self, pane: int, update: int) -> bool:
        return ranges.contains(self.extras.get(pane, ()), update)

    def lists(self, pane: int) -> bool:
        return ranges.contains(self._listed, pane)

    def split_empty(self, doubtful: IntervalSet) -> tuple[Ranges, Ranges]:
        """Of the panes in doubt, those that are held and those that are lacking."""
        bits = ((pane, pane) for pane in self.panes if pane in doubtful)
        within = (panes for held in self.held for panes in doubtful.within(*held))
        held = ranges.normal([*bits, *within])
        lacking = IntervalSet(panes for one in self._listed for panes in doubtful.within(*one))
        for first, last in held:
            lacking.remove(first, last)
        return held, lacking.ranges()
