"""Chance that is the same everywhere: a seed gives the same draws on every machine and version.

Trees planned from one seed must be equal wherever they are planned. Libraries change how they
turn random bits into choices from one version to the next; these dozen lines don't.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import TypeVar

Value = TypeVar("Value")

BITS = (1 << 64) - 1
KEY_STEP = 0xD1342543DE82EF95
"""Odd, so that no two keys of 64 bits meet."""


class Draws:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).

    >>> Draws(1).below(100) == Draws(1).below(100)
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = self._state = seed & BITS

    def bits(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & BITS
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & BITS
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & BITS
        return mixed ^ (mixed >> 31)

    def below(self, limit: int) -> int:
        """0 <= drawn < limit."""
        return (self.bits() * limit) >> 64

    def random(self) -> float:
        """0 <= drawn < 1."""
        return (self.bits() >> 11) * 2.0**-53

    def shuffle(self, values: MutableSequence[Value]) -> None:
        for last in range(len(values) - 1, 0, -1):
            other = self.below(last + 1)
            values[last], values[other] = values[other], values[last]

    def fork(self) -> Draws:
        """Draws that are independent of how many more are taken here."""
        return Draws(self.bits())

    def of(self, key: int) -> Draws:
        """Draws of its own for each key, whatever was taken here and for other keys."""
        return Draws(Draws(self._seed ^ ((key + 1) * KEY_STEP & BITS)).bits())
