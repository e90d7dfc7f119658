"""Keys of all streams of a site together: a limit over their books, and one over their pasts.

Each book has a limit of its own; a site with many streams, or with many open panes of one, needs
another over all of them. Beyond it the largest gives way, whoever made it too much: its smallest
keys are put aside as they are beyond its own limit, and bounds hold as before.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakKeyDictionary

GIVEN_SHARE = 0.125
"""Of the limit, what is let go of at once: not at every new key."""


class Follows(Protocol):
    @property
    def key_count(self) -> int: ...

    def let_go(self, keys_left: int) -> None:
        """Follow no more than so many, the largest."""


class KeysTogether:
    """Whoever is gone counts no more."""

    def __init__(self, keys_max: int) -> None:
        self._keys_max = keys_max
        self._following: WeakKeyDictionary[Follows, None] = WeakKeyDictionary()
        self._at_most = 0
        """There are no more; counted anew only where this is too many."""
        self.let_go = 0
        """Keys, so far."""

    def came(self, one: Follows, more: int) -> None:
        """So many more keys are followed by this one."""
        self._following[one] = None
        self._at_most += max(0, more)
        if self._at_most > self._keys_max:
            self._fit()

    def _fit(self) -> None:
        following = list(self._following)
        while (count := sum(one.key_count for one in following)) > self._keys_max:
            largest = max(following, key=lambda one: one.key_count)
            before = largest.key_count
            given = max(count - self._keys_max, int(self._keys_max * GIVEN_SHARE))
            largest.let_go(max(0, before - given))
            self.let_go += before - largest.key_count
        self._at_most = count


class SiteKeys:
    """Of one site."""

    def __init__(self, keys_max: int) -> None:
        self.books = KeysTogether(keys_max)
        self.pasts = KeysTogether(keys_max)
