"""What it costs to keep a key back: for each kind of column, and exactly.

A site has sent some of a key's value in a pane and keeps the rest for now. How far the root is then
off is the *error of withholding*, w. It must hold whatever other sites and other panes bring, which
is where it is more than a difference of two numbers:

*Added* (sums, counts, distinct counts; and the number of records, for averages and percentiles).
The root lacks exactly the rest: w = |rest|, sent or not.

*Extremes*. Let a be what the root has of the key (over all sites and panes) and t the truth. What
this site has sent is in a, so for a maximum a ≥ sent, and t - a ≤ max(rest - sent, 0) as far as
this site is to blame. That needs something sent: of a key that this site has never sent, a may be
any value of another site, however low. Only where values are known to have a *floor* (such as 0
for sizes) a ≥ floor, and w = rest - floor; and since a key that is in no answer has an error
equal to its value, w is at least |rest|. Without a floor w is infinite: the key is sent once,
then withheld. A minimum is the maximum of the negated values, and its floor the negated
*ceiling*: that a latency is at least 0 does not help its minimum, since another site may have
sent an hour.

*Averages.* Let θ be the share of a key's records that is withheld. Then true = (1-θ) sent_mean + θ
rest_mean, so the answer is off by θ |sent_mean - rest_mean| ≤ θ (largest - smallest value). A bound
on θ is a bound of the form VALUE on the number of records: an added column like any other. The same
records move a percentile by at most θ in rank.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.errors import ConfigurationError

Floats: TypeAlias = NDArray[np.float64]


class Withholding(Protocol):
    """One column. Aggregates of users bring their own."""

    @property
    def adds(self) -> bool:
        """Whether errors of several sites and panes add up; otherwise the worst of them counts."""
        ...

    @property
    def nothing(self) -> float:
        """The value of no records."""
        ...

    def merge(self, one: Floats, other: Floats) -> Floats: ...

    def error(self, sent: Floats, rest: Floats) -> Floats:
        """w, for each key."""
        ...


class Added(msgspec.Struct, frozen=True):
    """Sums, counts, distinct counts, numbers of records."""

    adds: bool = True
    nothing: float = 0.0

    def merge(self, one: Floats, other: Floats) -> Floats:
        return one + other

    def error(self, sent: Floats, rest: Floats) -> Floats:
        return np.abs(rest)


class Largest(msgspec.Struct, frozen=True):
    """Maxima; of a minimum hand in the values negated, and the ceiling negated as floor."""

    floor: float = -np.inf
    """Below which no value of the column is, at any site."""
    adds: bool = False
    nothing: float = -np.inf

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.maximum(one, other)

    def error(self, sent: Floats, rest: Floats) -> Floats:
        """
        >>> Largest(floor=0.0).error(np.array([-np.inf, 5.0, 5.0]), np.array([3.0, 7.0, 2.0]))
        array([3., 2., 0.])
        >>> Largest().error(np.array([-np.inf, -np.inf]), np.array([3.0, -np.inf]))
        array([inf,  0.])
        """
        is_sent, has_rest = np.isfinite(sent), np.isfinite(rest)
        known = np.where(has_rest, rest, 0.0)
        never = np.maximum(known - self.floor, np.abs(known))
        after = np.maximum(known - np.where(is_sent, sent, 0.0), 0.0)
        return np.where(has_rest, np.where(is_sent, after, never), 0.0)


def allowed(
    bound: ErrorBound, rule: Withholding, *, share: float, total: float, values: Floats
) -> Floats | float:
    """How much of each key a site may keep back in a pane.

    ``share`` is the site's share of an absolute bound (of extremes: the whole bound, everywhere),
    ``total`` the site's own total of the column in the pane so far, ``values`` each key's own value
    so far, sent and unsent together. Sums under a relative bound must be of values ≥ 0.
    """
    if bound.form is ErrorForm.ABSOLUTE:
        return share if rule.adds else bound.size
    if bound.form is ErrorForm.VALUE:
        return bound.size * np.abs(values)
    if not rule.adds:
        raise ConfigurationError(
            f"error: wanted a share of each value or a number, got {bound.text()!r}: "
            "a minimum or maximum has no total"
        )
    return bound.size * max(total, 0.0)
