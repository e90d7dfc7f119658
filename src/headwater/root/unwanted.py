"""Panes that no window wants any more, and how many were so without which sites, for people."""

from __future__ import annotations

from collections import Counter

import msgspec

from headwater.algebra.sets import bitset
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.root.pane_board import PaneBoard

SITES_NAMED_MAX = 8


class UnwantedPanes(msgspec.Struct, frozen=True):
    """Of one query, since its root was started."""

    count: int = 0
    without: tuple[tuple[str, int], ...] = ()
    """(site, panes that windows had enough without), those with the most first."""

    def text(self) -> str:
        """
        >>> UnwantedPanes(3, (("oslo", 2), ("rome", 1))).text()
        '3 panes are wanted no more: their windows had enough without oslo (2), rome (1)'
        >>> UnwantedPanes(1).text(), UnwantedPanes().text()
        ('1 pane is wanted no more', '')
        """
        if not self.count:
            return ""
        panes = "1 pane is" if self.count == 1 else f"{self.count} panes are"
        sites = ", ".join(f"{site} ({count})" for site, count in self.without[:SITES_NAMED_MAX])
        rest = len(self.without) - SITES_NAMED_MAX
        more = f" and {rest} more" if rest > 0 else ""
        without = f": their windows had enough without {sites}{more}" if sites else ""
        return f"{panes} wanted no more{without}"


class UnwantedBook:
    """For one query, at its root."""

    def __init__(self) -> None:
        self.panes = IntervalSet()
        """As far as answers that are out say, and the root still keeps boards of them."""
        self._count = 0
        self._without = Counter[int]()

    def add(self, board: PaneBoard, *, expected: int) -> None:
        """No window wants it from now on, unless that was known."""
        if board.pane in self.panes:
            return
        self.panes.add(board.pane, board.pane)
        self._count += 1
        without = expected & ~(board.covered | board.declined | board.undrawn)
        self._without.update(bitset.members(without))

    def add_former(self, pane: int) -> None:
        """As a former process had said."""
        self.panes.add(pane, pane)

    def told(self, names: dict[int, str]) -> UnwantedPanes:
        found = self._without.most_common()
        return UnwantedPanes(self._count, tuple((names[n], c) for n, c in found if n in names))
