"""The fence: what becomes of records from the future, by the clock of the site that reads them.

::

    ──────────── site clock ──── tolerance ──────────────────── keep ─────────────► record time
     counts as any other record             fenced: kept, and    refused: dropped
                                            counts when its      and counted
                                            window comes

A clock that runs ahead by an hour must not make its site close panes an hour early, so a fenced
record does not count towards how far the site has read. One that says 2106 must not fill the cube
with panes that are kept for eighty years, so what lies too far ahead is not kept at all.

Sites that share a batch may have different clocks, so a bound is an expression over the site.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.algebra.panes import MICROS

NO_BOUND_US = (1 << 63) - 1
"""After every time that Spark can tell."""


class Fence(msgspec.Struct, frozen=True):
    """In microseconds since 1970. Without arguments: no fence, as for a finite input."""

    tolerated_us: int = NO_BOUND_US
    """Records beyond are fenced."""
    refused_us: int = NO_BOUND_US
    """Records from here on are refused."""

    @classmethod
    def at(cls, now_s: float, *, tolerance_s: float, keep_s: float) -> Fence:
        tolerated_us = round((now_s + tolerance_s) * MICROS)
        return cls(tolerated_us, max(tolerated_us + 1, round((now_s + keep_s) * MICROS)))


def tolerated_sql(fences: Sequence[Fence], *, site: str) -> str:
    """The bound of each record's site, as SQL over ``site``, the column with its number."""
    return _of_site([fence.tolerated_us for fence in fences], site)


def refused_sql(fences: Sequence[Fence], *, site: str) -> str:
    return _of_site([fence.refused_us for fence in fences], site)


def _of_site(bounds_us: Sequence[int], site: str) -> str:
    if len(set(bounds_us)) == 1:
        return f"{bounds_us[0]}L"
    return f"element_at(array({', '.join(f'{bound}L' for bound in bounds_us)}), {site} + 1)"
