"""How an absolute bound on a sum is dealt out to sites.

Errors of sites and panes add up, so what all sites together may keep back in a pane is the bound
divided by the panes of a window. Divided evenly that is nearly worthless: with many sites each
share is below most keys. A site with room on its link needs no share at all, so shares move to
where flushes are slow.

A table holds for a stretch of panes, and tables of a query do not overlap. For each pane a site
uses the table that names it, and has no share where it has heard of none: so at any pane all
sites that have a share have it from the same table, whatever they have missed, and the sum holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from headwater.errors import ConfigurationError

MOVED_STEP = 0.5
"""Of the way to the shares that the newest flushes speak for: one slow flush moves half."""


class ShareTable(msgspec.Struct, frozen=True):
    number: int
    first: int
    """The first pane that it names."""
    last: int
    shares: Mapping[int, float]
    """By site; who is not in it has none."""

    def share(self, site: int) -> float:
        return self.shares.get(site, 0.0)


def share_in(tables: Iterable[ShareTable], site: int, pane: int) -> float:
    """What a site may keep back of a key in a pane, by the tables that it has heard of."""
    for table in tables:
        if table.first <= pane <= table.last:
            return table.share(site)
    return 0.0


def checked_tables(
    tables: Iterable[ShareTable], *, bound: float, panes: int
) -> tuple[ShareTable, ...]:
    """In the order of their panes. Raises ``ConfigurationError`` where a bound would not hold."""
    in_order = sorted(tables, key=lambda table: table.first)
    for table in in_order:
        given = sum(table.shares.values())
        least = min(table.shares.values(), default=0.0)
        if least < 0.0 or table.first > table.last:
            raise ConfigurationError(
                f"shares {table.number}: wanted panes and shares of at least 0, "
                f"got panes {table.first} to {table.last}, the least share {least:g}"
            )
        if given * panes > bound * (1.0 + 1e-9):
            raise ConfigurationError(
                f"shares {table.number}: wanted at most {bound / panes:g} in all, got {given:g}"
            )
    for former, later in pairwise(in_order):
        if later.first <= former.last:
            raise ConfigurationError(
                f"shares {later.number}: wanted panes after {former.last}, got {later.first}: "
                f"table {former.number} names them"
            )
    return tuple(in_order)


def even_shares(sites: Iterable[int], *, bound: float, panes: int) -> dict[int, float]:
    """With which a query begins."""
    members = sorted(set(sites))
    return {site: bound / panes / len(members) for site in members}


def moved_shares(
    shares: Mapping[int, float], flush_s: Mapping[int, float], *, worth_s: float
) -> dict[int, float]:
    """Nearer to where flushes are slow: their sum is what it was.

    ``flush_s`` is how long each site's flush after the close lasts. One that lasts no longer than
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
