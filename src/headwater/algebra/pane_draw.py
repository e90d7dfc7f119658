"""Which panes a random demand takes: a fair sample of them that everybody computes alike.

A function of the query's id, the block of panes and, drawn *apart*, the site's ordinal: neither
clock, nor load, nor a life of a site enters. So nobody tells which panes a site leaves out, those
that are taken meet on the way, and a restart takes the same ones; a site that drew anew would fill
a second half of the sample. *Alike*, the same panes are drawn at all sites: what happened at one
moment on several of them stays together.

A block is as many panes as a window has, and exactly ``count`` of each are drawn, each pane as
probably as any other. They are drawn in order (the ordered pivotal method: Deville and Tillé,
Biometrika 1998): two panes beside each other contend for what both have of a place, the winner goes
on to the next. So of the first k panes of a block nearly k · count / panes are drawn, never a whole
one more or less; and a window that lies over two blocks has at most one pane more or less than
``count``. Drawn each for itself it might have none.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from headwater.algebra.draws import Draws
from headwater.algebra.sets import bitset

BLOCKS_KEPT = 64
"""Of which it is remembered what was drawn; of others it is drawn anew."""


class PaneDraw:
    def __init__(self, query: str, *, panes: int, count: int, is_apart: bool) -> None:
        """``count`` of each ``panes`` in a row."""
        self.panes = panes
        self.count = count
        self.is_apart = is_apart
        digest = blake2b(query.encode(), digest_size=8).digest()
        self._draws = Draws(int.from_bytes(digest))
        self._of_block = lru_cache(maxsize=BLOCKS_KEPT)(self._draw)
        self._sites_of_block = lru_cache(maxsize=BLOCKS_KEPT)(self._draw_sites)

    def has(self, pane: int, ordinal: int) -> bool:
        """Whether the site takes the pane."""
        block, at = divmod(pane, self.panes)
        return bool(self._of_block(block, ordinal if self.is_apart else None) >> at & 1)

    def sites(self, pane: int, expected: int) -> int:
        """Those of the expected ones that take the pane, as a bitset."""
        if not self.is_apart:
            return expected if self.has(pane, 0) else bitset.EMPTY
        block, at = divmod(pane, self.panes)
        return self._sites_of_block(block, expected)[at]

    def _draw(self, block: int, ordinal: int | None) -> int:
        draws = self._draws.of(block)
        return drawn(self.panes, self.count, draws if ordinal is None else draws.of(ordinal))

    def _draw_sites(self, block: int, expected: int) -> list[int]:
        """Of each pane of the block."""
        found = [bitset.EMPTY] * self.panes
        for ordinal in bitset.members(expected):
            for at in bitset.members(self._draw(block, ordinal)):
                found[at] |= 1 << ordinal
        return found


def drawn(panes: int, count: int, draws: Draws) -> int:
    """``count`` of so many panes, as a bitset.

    >>> drawn(10, 5, Draws(7)).bit_count()
    5
    """
    taken = bitset.EMPTY
    first, has = 0, count  # of ``panes``, the first contender has so much of a place
    for second in range(1, panes):
        both = has + count
        if both < panes:
            first = first if draws.below(both) < has else second
            has = both
            continue
        second_stays = draws.below(2 * panes - both) < panes - count
        winner, first = (first, second) if second_stays else (second, first)
        taken |= 1 << winner
        has = both - panes
    return taken | (1 << first if has == panes else 0)


@lru_cache(maxsize=256)
def pane_draw(query: str, *, panes: int, count: int, is_apart: bool) -> PaneDraw:
    """The same one for the same query: it remembers what was drawn."""
    return PaneDraw(query, panes=panes, count=count, is_apart=is_apart)
