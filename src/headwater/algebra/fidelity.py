"""C²: how much of a window is in an answer, over its panes and over its sites (iMR, section 3.1).

A completeness that counts sites alone can't tell a site that lacks one pane of twenty from one that
lacks them all, and a share of all data can't tell half of the sites from half of the time. So the
mark is the pair (site, pane)::

    sites    in all panes: half of them        in half of the panes: all of them
      A      #  #  #  #                        #  #  .  .
      B      #  #  #  #                        #  #  .  .
      C      .  .  .  .                        #  #  .  .
      D      .  .  .  .                        #  #  .  .
             area 50 %, time 100, space 50     area 50 %, time 50, space 100

*Area* is the share of pairs that are in wholly, *time* that of panes with any site, *space* that of
sites with any pane; the *bins* say of each pane how many sites are in it, in runs, since panes
beside each other are mostly alike. It is worked out from one bitset for each pane: ten thousand
sites are some operations on integers of a kilobyte, and never an object for each pair.

Laws: ``at_least`` is associative, commutative and idempotent, ``Fidelity()`` is neutral, and what
comes out has no bin, and so no area, below those of either. A revision states ``at_least`` what the
former one did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from headwater.algebra.sets import bitset

Bins = tuple[tuple[int, int], ...]
"""Runs of panes that have as many sites: (panes, sites)."""


class Fidelity(msgspec.Struct, frozen=True):
    """Of one window."""

    sites: int = 0
    """That are expected, in each pane."""
    bins: Bins = ()
    """In the order of the panes; no two runs beside each other have as many sites."""
    seen: int = 0
    """Sites that are in at least one pane."""
    regular: int = 0
    """Sites that are in as many panes as was asked; if nothing was, in all of them."""
    undrawn: int = 0
    """(site, pane) that a random demand has not drawn: they are expected of nobody, and not in."""

    @property
    def panes(self) -> int:
        return sum(panes for panes, _ in self.bins)

    @property
    def pairs(self) -> int:
        """(site, pane) that are in."""
        return sum(panes * sites for panes, sites in self.bins)

    @property
    def pairs_expected(self) -> int:
        return self.panes * self.sites

    @property
    def pairs_drawn(self) -> int:
        """All of them, where nothing is left to chance."""
        return self.pairs_expected - self.undrawn

    @property
    def area(self) -> float:
        """Of all."""
        return _share(self.pairs, self.pairs_expected)

    @property
    def area_drawn(self) -> float:
        """Of what was drawn."""
        return _share(self.pairs, self.pairs_drawn)

    @property
    def time(self) -> float:
        return _share(self.panes_with(1), self.panes)

    @property
    def space(self) -> float:
        return _share(self.seen, self.sites)

    def panes_with(self, sites: int) -> int:
        """How many panes have at least so many sites."""
        return sum(panes for panes, found in self.bins if found >= sites)

    def at_least(self, other: Fidelity) -> Fidelity:
        """Of the same window: each bin as the fuller one has it."""
        if not self.bins or not other.bins:
            return self if self.bins else other
        fuller = map(max, _each(self.bins), _each(other.bins))
        return Fidelity(
            sites=max(self.sites, other.sites),
            bins=runs(list(fuller)),
            seen=max(self.seen, other.seen),
            regular=max(self.regular, other.regular),
            undrawn=max(self.undrawn, other.undrawn),
        )


def measure(
    panes: Sequence[int],
    expected: int,
    *,
    panes_asked: int | None = None,
    undrawn: Sequence[int] = (),
) -> Fidelity:
    """``panes`` has of each pane the sites that are in it wholly, as a bitset; ``panes_asked``: of
    how many panes a site is asked, if not of all; ``undrawn``: of each pane the sites that were not
    drawn, where it is left to chance.

    >>> found = measure([0b111, 0b011, 0b011, 0b000], 0b111)
    >>> found.bins, found.seen, found.regular
    (((1, 3), (2, 2), (1, 0)), 3, 0)
    >>> round(found.area, 3), found.time, found.space
    (0.583, 0.75, 1.0)
    """
    left_out = [sites & expected for sites in undrawn] or [bitset.EMPTY] * len(panes)
    within = [sites & expected & ~out for sites, out in zip(panes, left_out, strict=True)]
    asked = len(within) if panes_asked is None else panes_asked
    return Fidelity(
        sites=expected.bit_count(),
        bins=runs([sites.bit_count() for sites in within]),
        seen=in_at_least(within, 1).bit_count(),
        regular=in_at_least(within, asked).bit_count() if asked else expected.bit_count(),
        undrawn=sum(out.bit_count() for out in left_out),
    )


def in_at_least(sets: Sequence[int], count: int) -> int:
    """The members of so many of the sets.

    Counts stand upright: one integer has the lowest bit of every member's count, the next one the
    next bit. A set is added to all counts at once, as one adds by hand, and compared at once.

    >>> bin(in_at_least([0b111, 0b110, 0b100], 2))
    '0b110'
    """
    digits: list[int] = []
    for one in sets:
        carry = one
        for place, digit in enumerate(digits):
            digits[place], carry = digit ^ carry, digit & carry
        if carry:
            digits.append(carry)
    more, equal = bitset.EMPTY, -1
    if count >> len(digits):
        return bitset.EMPTY
    for place in reversed(range(len(digits))):
        if count >> place & 1:
            equal &= digits[place]
        else:
            more |= equal & digits[place]
            equal &= ~digits[place]
    return more | equal


def runs(counts: Sequence[int]) -> Bins:
    """
    >>> runs([5, 5, 4])
    ((2, 5), (1, 4))
    """
    return tuple((len(list(panes)), sites) for sites, panes in groupby(counts))


def _each(bins: Bins) -> Iterator[int]:
    """The count of each pane."""
    return (sites for panes, sites in bins for _ in range(panes))


def _share(part: int, whole: int) -> float:
    """Of nothing all is in."""
    return part / whole if whole else 1.0
