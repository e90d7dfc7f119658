"""What an answer of a sample says of all groups: estimates, never bounds.

A sample at share p has each value of a key with probability p, with all of its records. The values
that are there are exact; of a total over all of them the sample has p of it on average. So a total
is estimated as that of the sample, divided by p, with the standard error √(1−p)/p · √(Σv²), where v
is what each sampled value of the key has (the rules "Samples are nested").

What a threshold keeps back belongs to it: it is T of all, and at most L of any group. So T ÷ p is
added to a total. Its values are not known here one by one, but √(Σ(s+w)²) ≤ √(Σs²) + √(Σw²) and
Σw² ≤ L T, so the standard error is stated as if they were as uneven as they can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import NamedTuple

import msgspec

from headwater.plan.degrading.companion import Companion, has_only_key
from headwater.plan.query import Query


class Estimate(msgspec.Struct, frozen=True, array_like=True):
    """Of the total of a column over all groups, those that are not in the sample among them."""

    column: str
    total: float
    error: float
    """The standard error."""

    def text(self) -> str:
        """
        >>> Estimate("hits", 14_000.0, 707.1).text()
        'hits 1.4e+04 ± 707'
        """
        return f"{self.column} {self.total:.4g} ± {self.error:.3g}"


class SampleRest(NamedTuple):
    """Of one column, in the sample."""

    total: float
    largest: float
    """Of one value of the key."""


class Sample(msgspec.Struct, frozen=True):
    """Of whose values an answer is."""

    key: str
    share: float
    estimates: tuple[Estimate, ...] = ()
    """Filled in by who publishes the answer."""
    is_only_key: bool = False
    """A group is a value of the key."""

    def estimating(
        self, estimates: tuple[Estimate, ...], rests: Mapping[str, SampleRest]
    ) -> Sample:
        """``estimates``: of what is in."""
        found = tuple(self._with_rest(one, rests.get(one.column)) for one in estimates)
        return msgspec.structs.replace(self, estimates=found)

    def _with_rest(self, found: Estimate, rest: SampleRest | None) -> Estimate:
        if rest is None or not rest.total:
            return found
        most = rest.largest if self.is_only_key else rest.total
        error = sqrt(1.0 - self.share) / self.share * sqrt(most * rest.total)
        return Estimate(found.column, found.total + rest.total / self.share, found.error + error)

    def lines(self) -> Iterator[str]:
        yield f"a sample: 1 in {round(1 / self.share)} of all {self.key}, each with all it has"
        if self.estimates:
            texts = ", ".join(one.text() for one in self.estimates)
            yield f"totals of all are estimated, with their standard errors: {texts}"


def sample_of(query: Query) -> Sample | None:
    """None: it takes none."""
    level = query.stands_for
    if level is None or not level.coarsening.halvings:
        return None
    return Sample(level.sampled, share_of(level), is_only_key=has_only_key(query, level.sampled))


def share_of(level: Companion) -> float:
    """
    >>> from headwater.algebra.windows.coarsening import Coarsening
    >>> share_of(Companion("hits@a#1", 1, coarsening=Coarsening(survives="s", halvings=2)))
    0.25
    """
    return 2.0**-level.coarsening.halvings
