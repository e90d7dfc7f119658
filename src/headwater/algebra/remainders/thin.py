"""Which groups of a merged piece a relay drops, with a share of the bound of its own.

A bound that is divided over many sites is nearly worthless: each one's part of it is below most
groups. Where the same groups come together it is worth most, and the narrowest link is often the
one into the root. So a query may leave a part r of its bounds to relays (``Tolerance.relays``):
sites keep back by the other part, 1 - r, and the last relay before the root drops what is below r
of a piece that it has merged. What it drops it adds up as sites do, one *remainder* for each
column, and the piece is marked: it is *thinned*. Nobody can take that back but the sites, so a
thinned piece is only ever replaced, by the own updates of all its sites.

**The bound holds, whatever relays do with it.** Pieces of a query's pane that the root lets in are
disjoint by record: only it decides on overlap. Each piece is thinned once at most. Let ε be what
was asked.

*Of total, of what adds and is never negative*: of a piece with the total T(q) of its rows each
dropped group is at most r ε T(q). Pieces are disjoint, so Σ T(q) ≤ T, the window's total, and of
one group all pieces together lack at most r ε T. Sites lack at most (1 - r) ε T of it
(``remainder``). Both together: ε T, with no agreement on anything, however many relays there are,
whichever ways summaries take, and whoever of them thins.

*Maxima*: the truth is attained in some row that some site has made. If it was kept back there, or
dropped with its group by a relay, the root is off by at most its value, which is at most the whole
bound in either case. So the worst counts, and nothing is divided.

*Of each value, of 100 %, which is what a threshold leaves to other columns*: a group may lack all
of it. Of less no group may be dropped; nor by a number, which is dealt out among sites, for nobody
counts the pieces that relays make. (``fault``.)

**What is stated is true.** Errors of both add up (the worst counts of maxima). The share of a total
is stated of what is known of it: W, the totals at sites that keep something back, or P, those of
pieces that were thinned. Each is at most T, but they are about the same records, so that it is the
larger of the two that counts and never their sum (``joined``). Where sites keep to theirs and
relays to theirs, (1 - r) ε W + r ε P ≤ ε max(W, P): what was asked is not only kept but seen to be.

**Totals over all groups stay exact**: what is in, and the totals of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import zip_longest
from typing import Any, Protocol, runtime_checkable

import msgspec
import pyarrow as pa

from headwater.algebra.remainders.remainder import NOTHING_WITHHELD, Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.remainders.withhold import Allowance, withhold
from headwater.algebra.summary import Merger

NOTHING: Remainders = ()


@runtime_checkable
class Thinner(Protocol):
    """A merger that knows by itself what its rows are worth, which are no tables."""

    def thinned(
        self, rows: Any, tolerance: Tolerance, keys: tuple[str, ...]
    ) -> tuple[Any, Remainders] | None:
        """The rows that are left, and what was dropped of each column; None: nothing may be.
        ``tolerance`` is that of relays (``Tolerance.at_relays``), ``keys`` tell groups apart."""


def thinned(
    rows: Any, merger: Merger, tolerance: Tolerance, keys: tuple[str, ...]
) -> tuple[Any, Remainders] | None:
    """Of tables without a merger's help; None: nothing may be dropped."""
    if isinstance(merger, Thinner):
        return merger.thinned(rows, tolerance, keys)
    return thinned_table(rows, tolerance, keys) if isinstance(rows, pa.Table) else None


def thinned_table(
    rows: pa.Table, tolerance: Tolerance, keys: tuple[str, ...]
) -> tuple[pa.Table, Remainders] | None:
    """Without the groups that a relay may drop, and what they came to. A group may have several
    rows: of a state that grows, and where they are apart since their sum overflows."""
    found = withhold(rows, Allowance(tolerance, 1, keys=keys, is_growing=True))
    return None if found is None else (found.sent, found.remainders)


def joined(withheld: Remainders, thinned: Iterable[Remainders]) -> Remainders:
    """What is lacking of one pane: kept back by its sites, and dropped of its pieces.

    >>> from headwater.algebra.remainders.remainder import Remainder
    >>> kept = Remainder(largest=2.0, total=9.0, keys=5, of=400.0)
    >>> found = joined((kept,), [(Remainder(largest=1.0, total=3.0, keys=2, of=100.0),)])
    >>> found[0].largest, found[0].total, found[0].keys, found[0].of
    (3.0, 12.0, 7, 400.0)
    """
    dropped = reduce(merge_remainders, thinned, NOTHING)
    if not withheld or not dropped:
        return withheld or dropped
    pairs = zip_longest(withheld, dropped, fillvalue=NOTHING_WITHHELD)
    return tuple(
        msgspec.structs.replace(one.merged(other), of=max(one.of, other.of)) for one, other in pairs
    )
