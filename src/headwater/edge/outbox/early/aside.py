"""Keys that are too many to be followed one by one: the smallest, of which a bound is known.

Of a column that adds, no key that is aside has more unsent than all of them together, however often
it came and went; of an extreme, no more than the worst of them. So one number for each column is
enough to keep the promise: the bound of an answer holds for keys that nobody has followed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.withholding import allowed
from headwater.edge.outbox.early.key_columns import Hand, KeyColumns, Slots
from headwater.edge.outbox.early.look import Measure

ASIDE_SHARE = 0.5
"""Of what may be withheld, that what is aside may take up; beyond, it goes at the close."""


class Aside:
    """Of one pane."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._measures = measures
        self.errors = np.zeros(len(measures))
        """What none of the keys exceeds, by column."""
        self.totals = np.zeros(len(measures))
        """Of all values of theirs, sent or not."""
        self.count = 0
        """Keys with something unsent; one that came again counts again."""

    def __bool__(self) -> bool:
        return self.count > 0

    def put(self, columns: KeyColumns, hand: Hand, slots: Slots) -> None:
        has_rest = np.zeros(len(slots), dtype=bool)
        for n, measure in enumerate(self._measures):
            never = np.full(len(slots), measure.rule.nothing)
            errors = measure.rule.error(never, hand.unsent[n, slots])
            has_rest |= errors > 0.0
            worst = errors.sum() if measure.rule.adds else errors.max(initial=0.0)
            self.errors[n] = (
                self.errors[n] + worst if measure.rule.adds else max(self.errors[n], worst)
            )
            self.totals[n] += columns.sums[n, slots].sum()
        self.count += int(has_rest.sum())

    def must_go(self, totals: Sequence[float]) -> bool:
        """Whether it has become too much to be withheld; ``totals`` are the site's own."""
        return bool(self) and any(
            self._exceeds(n, measure, totals[n]) for n, measure in enumerate(self._measures)
        )

    def _exceeds(self, column: int, measure: Measure, total: float) -> bool:
        if measure.bound is None:
            return False
        if measure.bound.form is ErrorForm.VALUE:
            return True  # a key that was never sent is off by all of its value
        none = np.zeros(0)
        limit = allowed(measure.bound, measure.rule, share=measure.share, total=total, values=none)
        return bool(self.errors[column] > ASIDE_SHARE * float(limit))
