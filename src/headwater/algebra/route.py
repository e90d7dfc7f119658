"""The way of a summary so far: what it needs to know to go on without going round in circles.

A query has several trees, and a summary may change from one to another wherever it is. It
remembers the last level that it had on each tree, and may enter a tree again only nearer to the
root than that, so every step brings it nearer to the root on some tree (Mortar, section 3.3)::

    tree 0          tree 1            at b: the parent on tree 0 is silent; b is on level 1 of
      r               r               tree 1, where the summary has not been, so it goes on there.
      a ✗             b  ──► r        Its route then says: tree 1, level 1.
    ► b               c a
"""

from __future__ import annotations

from itertools import zip_longest

import msgspec

NEVER = 1 << 20
"""The level on a tree that was never visited: farther from the root than any."""
TREES_MAX = 16
"""Trees of one query. Four are enough (Mortar, figure 12: five add little); more than this is a
mistake."""


class Route(msgspec.Struct, frozen=True, array_like=True):
    tree: int = 0
    """The tree it travels on now."""
    levels: tuple[int, ...] = ()
    """On each tree, the level from which it last went on; what is left out was never visited."""
    downs: int = 0
    """How often it went away from the root; there is a limit."""

    def level_on(self, tree: int) -> int:
        return self.levels[tree] if tree < len(self.levels) else NEVER

    def moved(self, tree: int, level: int, *, is_down: bool = False) -> Route:
        """As it leaves a peer that is on this level of the tree it is to travel on."""
        levels = [*self.levels, *([NEVER] * (tree + 1 - len(self.levels)))]
        levels[tree] = level
        return Route(tree=tree, levels=tuple(levels), downs=self.downs + is_down)

    def merge(self, other: Route) -> Route:
        """Of two that become one: for each tree the level nearest to the root, and the larger
        count of steps down. What neither of them may do, both together may not."""
        if self == other:
            return self
        levels = zip_longest(self.levels, other.levels, fillvalue=NEVER)
        return Route(
            tree=self.tree, levels=tuple(map(min, levels)), downs=max(self.downs, other.downs)
        )


START = Route()


def problem_with_route(route: Route) -> str | None:
    """For routes from the wire."""
    if not 0 <= route.tree < TREES_MAX or len(route.levels) > TREES_MAX:
        return f"route: wanted at most {TREES_MAX} trees"
    if not 0 <= route.downs <= NEVER or any(not 0 <= level <= NEVER for level in route.levels):
        return "route: a level or a count that no tree has"
    return None
