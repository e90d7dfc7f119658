"""One acknowledgement as one site sees it.

What is said of a single site stands in a leaf; where that was not handed on, nothing is lacking by
it.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range, Ranges
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
        self._tells_several = ack.tells_several
        self._rounds: dict[int, list[Range]] = {}
        for told in said.rounds:
            if told.sites >> place & 1:
                self._rounds.setdefault(told.pane, []).append((told.first, told.last))
        self.extras = {
            extra.pane: extra.updates
            for extra in said.extra
            if extra.ordinal == ordinal and extra.incarnation == incarnation
        }

    def has_bit(self, pane: int) -> bool:
        """All is held that the root knows this site to have closed, or the root knows that it is
        declined."""
        return pane in self.panes or ranges.contains(self.held, pane)

    def bit_means(self, update: int) -> bool:
        """Whether a bit speaks of this update of a first close. That of a root of before speaks of
        the first one alone."""
        return update <= 1 or self._tells_several

    def has_update(self, pane: int, update: int, *, is_greeted: bool) -> bool:
        """``is_greeted``: the bitmaps of updates, which have no incarnation, speak of this life."""
        if ranges.contains(self.extras.get(pane, ()), update):
            return True
        return is_greeted and ranges.contains(tuple(self._rounds.get(pane, ())), update)

    def updates(self, *, is_greeted: bool) -> Iterator[tuple[int, Ranges]]:
        """What is told to be held of this site, update by update; by pane."""
        yield from self.extras.items()
        if is_greeted:
            yield from ((pane, tuple(told)) for pane, told in self._rounds.items())

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
