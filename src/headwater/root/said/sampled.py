"""What an answer of a sample says of all groups: estimates, never bounds.

A sample at share p has each value of a key with probability p, with all of its records. The values
that are there are exact; of a total over all of them the sample has p of it on average. So a total
is estimated as that of the sample, divided by p, with the standard error √(1−p)/p · √(Σv²), where v
is what each sampled value of the key has (the rules "Samples are nested").
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headwater.plan.degrading.companion import Companion


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


class Sample(msgspec.Struct, frozen=True):
    """Of whose values an answer is."""

    key: str
    share: float
    estimates: tuple[Estimate, ...] = ()
    """Filled in by who publishes the answer."""

    def lines(self) -> Iterator[str]:
        yield f"a sample: 1 in {round(1 / self.share)} of all {self.key}, each with all it has"
        if self.estimates:
            texts = ", ".join(one.text() for one in self.estimates)
            yield f"totals of all are estimated, with their standard errors: {texts}"


def sample_of(level: Companion) -> Sample | None:
    """None: it takes none."""
    return Sample(level.sampled, share_of(level)) if level.coarsening.halvings else None


def share_of(level: Companion) -> float:
    """
    >>> from headwater.algebra.windows.coarsening import Coarsening
    >>> share_of(Companion("hits@a#1", 1, coarsening=Coarsening(survives="s", halvings=2)))
    0.25
    """
    return 2.0**-level.coarsening.halvings
