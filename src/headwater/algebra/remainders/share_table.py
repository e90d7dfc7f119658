"""How an absolute bound on a sum is dealt out to sites, and how their shares move.

Errors of sites and panes add up, so what all sites together may keep back in a pane is the bound
divided by the panes of a window. Divided evenly that is nearly worthless: with many sites each
share is below most keys. A site with room on its link needs no share at all, so shares move to
where flushes are slow.

Shares are told as parts of the whole, so that one table serves every column, and every bound that
settings bring. They begin even; from ``Dealing.first`` on they are as the root's tables say::

    panes   ··· even ···|— table 1 —|———— table 2 ————|— table 3 —|   no share
                  Dealing.first     ^                 named so far^

**The bound holds, whatever a site has heard.** (1) *A pane is named by one table at most.* The root
names panes once, in order: a further table begins where the last one ends, which is on the root's
disk before anybody is told (``KeepShares``), so restarts of the root go on from there. A life of
the ledger that knows of no former table begins a stretch beyond what such a one may have named
(``first_named``). A table that goes on is the same one, with a later last pane. (2) *For a pane of
a table a site uses that table, or nothing.* It has its share of a pane from a table that names the
pane; who has not heard of it, or has forgotten, or is not in it, keeps nothing back. A share of
former panes is no share of these. (3) A table gives away at most the whole (``problem``). So of any
pane, whichever tables any site has heard, and in whatever order, all shares that are used are some
of those of one table, and come to at most the whole. Before ``Dealing.first`` the same is true of
the even shares, which everybody knows from the install. Sites that join are in no former table,
those that leave use nothing. A site's share is looked up when it first closes a pane, once, in the
transaction that keeps the rest back; what it has kept back is what its remainder says, in any case.

What is left is a root that lost its disk while the sites' clocks, in the middle, went back by a
stretch or more: it may name panes that its former life has named. Bounds may then be missed, and
the remainders say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log2

import msgspec

from headwater.algebra.sets import bitset

MOVED_STEP = 0.5
"""Of the way to the shares that the newest flushes speak for: one slow flush moves half."""
UNITS = 1 << 30
"""All of a bound."""
SHARE_LEVELS_MAX = 8
"""Different shares in a table: each is half of the one above, or less is given. So a table is as
long as some bitmaps of sites, whatever flushes look like."""
TABLES_TOLD_MAX = 3
"""That an acknowledgement has room for: of panes that are closed, of those that are open, and the
next."""
OWN_SHARES_MAX = 16
"""Stretches of panes of which a site remembers its share: the newest."""
MOVED_MIN = 0.1
"""Of the whole: where less would move, everything stays where it is, and the table goes on."""

Levels = tuple[tuple[int, int], ...]
"""(units, the sites that have so many each, as a bitset)."""


class Dealing(msgspec.Struct, frozen=True, array_like=True):
    """From which pane on tables say what a site's share is, and how many panes one names at least:
    so long before they begin, everybody is told."""

    first: int
    panes: int

    def fault(self) -> str | None:
        return None if self.panes > 0 else f"wanted stretches of panes, got {self.panes}"

    def first_named(self, pane: int) -> int:
        """Where a root begins to name panes that knows of no former table, while ``pane`` is open.
        A former life has named none beyond the third stretch from there."""
        return max(self.first, pane + 4 * self.panes)

    def is_due(self, named_through: int, pane: int) -> bool:
        """Whether further panes are to be named; ``named_through`` is the first that is not."""
        return named_through <= pane + 2 * self.panes

    def named_with(self, pane: int) -> int:
        """The last pane of a table that is made while ``pane`` is open."""
        return pane + 3 * self.panes


class ShareTable(msgspec.Struct, frozen=True, array_like=True):
    number: int
    first: int
    """The first pane that it names."""
    last: int
    levels: Levels
    """Who is in none has no share."""

    def share(self, site: int) -> float:
        """As a part of the whole."""
        return next((units for units, sites in self.levels if sites >> site & 1), 0) / UNITS

    def shares(self) -> dict[int, float]:
        return {
            site: units / UNITS for units, sites in self.levels for site in bitset.members(sites)
        }


class OwnShare(msgspec.Struct, frozen=True, array_like=True):
    """Of one site, in panes first … last: as a part of the whole."""

    first: int
    last: int
    share: float


def own_share(known: Iterable[OwnShare], pane: int) -> float:
    """What a site may keep back of a pane that tables name, by those that it has heard of.

    >>> own_share((OwnShare(10, 19, 0.5),), 12), own_share((OwnShare(10, 19, 0.5),), 20)
    (0.5, 0.0)
    """
    return next((one.share for one in known if one.first <= pane <= one.last), 0.0)


def known_after(
    known: tuple[OwnShare, ...], tables: Iterable[ShareTable], site: int
) -> tuple[OwnShare, ...]:
    """What a site knows after these tables. Of a pane that it knows a share of it takes no other,
    and of none that lies before."""
    found = list(known)
    for table in sorted(tables, key=lambda one: one.first):
        through = found[-1].last if found else table.first - 1
        if table.last <= through:
            continue
        new = OwnShare(max(table.first, through + 1), table.last, table.share(site))
        if found and found[-1].share == new.share and found[-1].last + 1 == new.first:
            new = msgspec.structs.replace(found.pop(), last=new.last)
        found.append(new)
    return tuple(found[-OWN_SHARES_MAX:])


def problem(table: ShareTable) -> str | None:
    """What is wrong with it, whoever has made it; None: nothing."""
    seen = given = 0
    for units, sites in table.levels:
        if units < 0 or sites < 0 or seen & sites:
            return f"shares {table.number}: wanted each site once, with a share of at least 0"
        seen, given = seen | sites, given + units * sites.bit_count()
    if given > UNITS:
        return f"shares {table.number}: wanted at most the whole, got {given / UNITS:g} of it"
    if table.first > table.last or table.number < 1 or len(table.levels) > SHARE_LEVELS_MAX:
        return (
            f"shares {table.number}: wanted panes and at most {SHARE_LEVELS_MAX} levels, got panes "
            f"{table.first} to {table.last}, {len(table.levels)} levels"
        )
    return None


# How they move


def even_shares(sites: Iterable[int], *, bound: float, panes: int) -> dict[int, float]:
    """With which a query begins."""
    members = sorted(set(sites))
    return {site: bound / panes / len(members) for site in members}


def moved_shares(
    shares: Mapping[int, float], flush_s: Mapping[int, float], *, worth_s: float
) -> dict[int, float]:
    """Nearer to where flushes are slow: their sum is what it was.

    ``flush_s`` is how long each site's flush after the close would last, were nothing kept back:
    otherwise who has got a share would lose it by that. One that would last no longer than
    ``worth_s`` needs no share. Where none does, nothing moves.
    """
    slow = {site: max(0.0, flush_s.get(site, 0.0) - worth_s) for site in shares}
    total_s, given = sum(slow.values()), sum(shares.values())
    if total_s <= 0.0:
        return dict(shares)
    return {
        site: share + MOVED_STEP * (given * slow[site] / total_s - share)
        for site, share in shares.items()
    }


def moved_levels(
    former: Levels, sites: Iterable[int], flush_s: Mapping[int, float], *, worth_s: float
) -> Levels:
    """The next table's, for the sites that are asked now; the same as before where next to nothing
    would move."""
    members = sorted(set(sites))
    known = ShareTable(1, 0, 0, former).shares()
    given = sum(known.get(site, 0.0) for site in members)
    if given <= 0.0:
        shares = even_shares(members, bound=1.0, panes=1) if members else {}
    else:
        shares = {site: known.get(site, 0.0) / given for site in members}
    moved = moved_shares(shares, flush_s, worth_s=worth_s)
    levels = levels_of(moved)
    later = ShareTable(1, 0, 0, levels).shares()
    change = sum(
        abs(known.get(site, 0.0) - later.get(site, 0.0)) for site in known.keys() | later.keys()
    )
    return levels if change >= MOVED_MIN or not former else former


def levels_of(shares: Mapping[int, float]) -> Levels:
    """At most ``SHARE_LEVELS_MAX`` different shares, which come to the whole or a little less.

    >>> [(round(units / UNITS, 3), bin(sites)) for units, sites in levels_of({0: 0.5, 1: 0.5})]
    [(0.5, '0b11')]
    """
    largest = max(shares.values(), default=0.0)
    least = largest * 0.5**SHARE_LEVELS_MAX
    by_weight: dict[int, int] = {}
    for site, share in shares.items():
        halves = -floor(log2(share / largest)) if share > least else SHARE_LEVELS_MAX
        if halves < SHARE_LEVELS_MAX:
            weight = 1 << SHARE_LEVELS_MAX - 1 - halves
            by_weight[weight] = by_weight.get(weight, 0) | 1 << site
    whole = sum(weight * sites.bit_count() for weight, sites in by_weight.items())
    return tuple(
        (UNITS * weight // whole, sites)
        for weight, sites in sorted(by_weight.items(), reverse=True)
    )
