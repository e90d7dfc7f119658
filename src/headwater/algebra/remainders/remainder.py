"""What a site says it has kept back of one column of a pane, and how such words add up.

A close with something withheld carries a remainder: the *largest* error of any key, the *total*
that was withheld, and of how many *keys*. Relays merge remainders as they merge rows. The root
states of them how far its answer may be off, which is often less than what was asked.

**The answer is never off by more than it states.** Let w(s, p, k) be the error of withholding of
key k at site s in pane p (``withholding``), L(s, p) the largest of a site's pane, and take a
window's covered sites and panes. *Adds up*: the root lacks Σ rest(s, p, k) of key k, which is at
most Σ w(s, p, k) ≤ Σ L(s, p): largest errors are added. *Extremes*: the truth is attained at some
(s, p); the root is off by at most w there, so the worst L counts. *Of each value*: beside L there
is R(s, p), the largest w(s, p, k) ÷ v(s, p, k), with values ≥ 0. Σ w ≤ Σ R v ≤ max R × Σ v, and
Σ v is the key's true value, so of shares the worst counts; of an extreme, w ÷ v at the (s, p) of
the truth is what the root is off by, relative to the truth.

*Averages and percentiles* go by the number of a key's records, a column like any other, of each
value: so at most the worst R of a key's records are missing at the root. Be θ ≤ R that share. The
true average is (1-θ) × that of the records that are in + θ × that of those that are not, so the
answer is off by at most θ × (largest - smallest value). Of n records at most θ n are missing; each
of them moves the rank of any value by at most 1/n, so a percentile is off by at most θ in rank,
beside what its sketch is off by. *Distinct counts*: what the root has is a part of the true set,
and a member that it lacks is withheld at every (s, p) that has it, so the number of those is at
most Σ w(s, p, k), w being how many members of k a site withholds, or more (the records that have
them). So errors are added, and a share of sites' own counts would say nothing: N sites that each
withhold ε of m different members lack N ε m of what may be m in all.

**And what was asked is kept**, if each site keeps to what it is allowed. *Of total*: L(s, p) ≤ ε ×
total(s, p); both sides add up, so the error is at most ε × the window's total, with no agreement
on anything. *Absolute*: Σ over sites of δ(s) ≤ E ÷ panes (``share_table``), so Σ L ≤ E. *Of each
value*: each R is within the bound, so the worst is; *extremes*: so is each L.

**Late records and repairs.** A late update brings all of its records, so what is withheld stays
what it was, and totals and values that the bound is relative to only grow. Once a site has sent
its rest, what it withheld is in. A merged piece can't be taken apart: its remainder counts until
every site of the piece has sent its rest, or has sealed the pane with nothing left to send
(``PaneBoard.kept_back``). It is then too large for a while, never too small.

**Totals over all keys are exact** where columns add: what is in plus the total withheld. (Not of
maxima and distinct counts, which have no total.)

Laws: merge is associative and commutative, ``NOTHING_WITHHELD`` is neutral.
"""

from __future__ import annotations

from itertools import zip_longest
from math import isfinite
from operator import add
from sys import float_info

import msgspec

from headwater.algebra.bounds import NUMBER_MAX, Number
from headwater.errors import WireError

SHARE_MAX = 1.0 + 1e-6
"""Of a group's value; what was added up in doubles is stated a little larger."""
MOST = float_info.max
"""What is added up stays below, so that no merge of what each of two members may say is what none
may say: who carries it would be taken for the liar."""


class Remainder(msgspec.Struct, frozen=True, array_like=True):
    """Of one column."""

    largest: float = 0.0
    """In the column's unit, or in records of a group."""
    total: float = 0.0
    """What all withheld keys come to, where the column adds; with its sign."""
    keys: int = 0
    """Merged, a key that several sites withhold counts for each of them."""
    of: float = 0.0
    """What the column comes to over all keys of the panes in which something is withheld, at the
    sites that do; so a share of it is never smaller than that of the window's total."""
    is_worst: bool = False
    """Of several, the largest error counts; otherwise errors add up."""
    share: float = 0.0
    """Under a bound of each value, the largest share of a group's own value, or of its records; of
    several the largest counts."""
    asked: Number = 0
    """The newest request of the root for the largest groups that had been answered when this was
    kept back (``algebra/top``); of several the earliest counts."""

    def __bool__(self) -> bool:
        return self.keys > 0

    def merged(self, other: Remainder) -> Remainder:
        """
        >>> Remainder(largest=3.0, total=7.0, keys=4).merged(Remainder(largest=2.0, keys=1))
        Remainder(largest=5.0, total=7.0, keys=5, of=0.0, is_worst=False, share=0.0, asked=0)
        """
        is_worst = self.is_worst or other.is_worst
        largest = (max if is_worst else add)(self.largest, other.largest)
        return Remainder(
            largest=min(largest, MOST),
            total=max(-MOST, min(self.total + other.total, MOST)),
            keys=min(self.keys + other.keys, NUMBER_MAX),
            of=min(self.of + other.of, MOST),
            is_worst=is_worst,
            share=max(self.share, other.share),
            asked=min((one.asked for one in (self, other) if one), default=0),
        )

    def checked(self) -> Remainder:
        """As it came from outside. Raises ``WireError`` for what no site can mean."""
        numbers = (self.largest, self.total, self.of, self.share)
        least = min(self.largest, self.of, self.keys, self.share)
        most = max(self.share - SHARE_MAX, self.keys - NUMBER_MAX)
        if not all(map(isfinite, numbers)) or least < 0 or most > 0:
            raise WireError(
                "remainder: wanted a largest error, a sum, a number of keys and a share up to all, "
                f"each at least 0, got largest {self.largest}, total {self.total} of {self.of}, "
                f"{self.keys} keys, share {self.share}"
            )
        return self


NOTHING_WITHHELD = Remainder()

Remainders = tuple[Remainder, ...]
"""One for each column that a query bounds, in its order; ``()``: nothing is withheld."""


def merge_remainders(one: Remainders, other: Remainders) -> Remainders:
    """What two disjoint summaries have withheld together."""
    if not one or not other:
        return one or other
    pairs = zip_longest(one, other, fillvalue=NOTHING_WITHHELD)
    return tuple(mine.merged(yours) for mine, yours in pairs)
