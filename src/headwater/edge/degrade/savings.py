"""What each step of a degradation saves: an estimate, learned from what it did save.

Of a threshold, and of the largest groups alone, it is known at every close how many rows would have
left at each level, since all of them are at hand. Of other operators it is seen when a step comes
in or goes: what the query needs before and after. Until then it is guessed."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import msgspec

from headwater.plan.degrading.degradation import Degradation, Level, OperatorKind

WEIGHT = 1 / 4
"""Of what was seen last."""
LEFT_MIN = 0.01
"""Nothing saves more, as far as anybody relies on it."""
SEEN_MAX = 0.95
"""A step that was seen to come in or go leaves at most so much."""
SAME_MIN = 0.99
"""Whoever leaves more is no step."""
GUESSES: Mapping[OperatorKind, float] = {
    OperatorKind.COARSEN_TIME: 0.6,
    OperatorKind.COARSEN_KEY: 0.3,
    OperatorKind.THRESHOLD: 0.7,
    OperatorKind.SAMPLE: 0.5,
    OperatorKind.TOP: 0.5,
    OperatorKind.SHRINK: 0.6,
}
"""What is left of the finer step's bytes, where nobody has seen it."""
SEEN_IN_ROWS = (OperatorKind.THRESHOLD, OperatorKind.TOP)
"""What they leave is counted at each close."""


class Savings(msgspec.Struct, frozen=True):
    """Of one query at one site."""

    seen: Mapping[int, float] = {}
    """By step: what it leaves of the bytes of the step before."""

    def left(self, degradation: Degradation, step: int) -> float:
        """What a step leaves of the bytes of the one before."""
        newest = degradation.newest_at(step)
        guess = 1.0 if newest is None else GUESSES.get(newest.operator.kind, 1.0)
        return max(LEFT_MIN, min(1.0, self.seen.get(step, guess)))

    def left_of_all(self, degradation: Degradation, step: int) -> float:
        """What a step leaves of the bytes at full fidelity."""
        found = 1.0
        for one in range(1, step + 1):
            found *= self.left(degradation, one)
        return found

    def same(self) -> set[int]:
        """Steps that were seen to change next to nothing."""
        return {step for step, left in self.seen.items() if left > SAME_MIN}

    def saw(self, step: int, left: float) -> Savings:
        former = self.seen.get(step)
        now = left if former is None else former + WEIGHT * (left - former)
        return Savings({**self.seen, step: now})

    def saw_step(self, degradation: Degradation, step: int, left: float) -> Savings:
        """When it came in or went: what was needed with it, of that without. Of a threshold that is
        known better. What is needed may have grown meanwhile, so nothing is called no step by
        it."""
        newest = degradation.newest_at(step)
        if newest is None or newest.operator.kind is OperatorKind.THRESHOLD:
            return self
        return self.saw(step, max(LEFT_MIN, min(left, SEEN_MAX)))

    def saw_rows(self, degradation: Degradation, counts: Sequence[int]) -> Savings:
        """``counts``: rows that would have left with a threshold not raised, and at each level; or
        all, and the largest alone. A stream has one of the two."""
        found, first = self, _first_step(degradation, *SEEN_IN_ROWS)
        if first is None:
            return self
        for level, (finer, coarser) in enumerate(itertools.pairwise(counts)):
            if finer > 0:
                found = found.saw(first + level, coarser / finer)
        return found


def _first_step(degradation: Degradation, *kinds: OperatorKind) -> int | None:
    """At which one of these operators is at its first level; None: it has none of them."""
    steps = range(1, degradation.last_step + 1)
    return next((step for step in steps if _is(degradation.newest_at(step), kinds)), None)


def _is(level: Level | None, kinds: Collection[OperatorKind]) -> bool:
    return level is not None and level.operator.kind in kinds
