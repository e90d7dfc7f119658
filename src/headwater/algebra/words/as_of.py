"""As of when a site's part of a question's answer holds: of one site, and of many in few words.

A question is answered once, from what each site's cube had closed just then. Sites that had closed
alike are one group, so that two hundred of them take a line, and none of them is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name, Number

AS_OF_GROUPS_MAX = 16
"""Groups that an envelope lists. Beyond, neighbours in time are one group, which says from when to
when."""
Moment = Annotated[int, Meta(ge=-(2**62), le=2**62)]
"""Microseconds since 1970."""


class SiteAsOf(msgspec.Struct, frozen=True, array_like=True):
    """What a site's cube had of a stream when it answered; it travels in the site's state."""

    stream: Name
    """Its full id."""
    through_us: Moment | None
    """Panes that begin before were closed; None: all, since the stream's input had ended."""
    updates: Number = 0
    """That its rows were in, those among them that had not been cut yet."""
    rows: Number = 0
    panes: Number = 0
    """That had rows."""
    open_from_us: Moment | None = None
    """Where open panes were added: from when on they were; None: none were."""
    open_rows: Number = 0


class AsOf(msgspec.Struct, frozen=True):
    """Sites that answered as of one close, or of closes that are neighbours in time."""

    sites: tuple[str, ...]
    stream: str
    through_us: tuple[int, int] | None
    """Of the site that had closed least, and of the one that had closed most; None: all that there
    ever is."""
    updates: int
    rows: int
    """Of all of them together."""
    open_from_us: int | None = None
    """The earliest of them."""
    open_rows: int = 0


Told = list[tuple[str, SiteAsOf]]
"""By site."""


def grouped(told: Iterable[tuple[str, SiteAsOf]]) -> tuple[AsOf, ...]:
    """Of (site, what it told), in the order of their closes. All are of one stream.

    >>> one, other = SiteAsOf("s@a#1", 10), SiteAsOf("s@a#1", 20, rows=5)
    >>> [(len(g.sites), g.through_us, g.rows) for g in grouped([("a", other), ("b", one),
    ...     ("c", other)])]
    [(1, (10, 10), 0), (2, (20, 20), 10)]
    """
    alike = defaultdict[int | None, Told](list)
    for site, one in told:
        alike[one.through_us].append((site, one))
    whole = [alike.pop(None)] if None in alike else []
    timed = [alike[through_us] for through_us in sorted(one for one in alike if one is not None)]
    size = -(-len(timed) // (AS_OF_GROUPS_MAX - 1))
    runs = [timed[first : first + size] for first in range(0, len(timed), max(1, size))]
    joined = [[one for group in run for one in group] for run in runs]
    return tuple(map(_joined, [*joined, *whole]))


def _joined(group: Told) -> AsOf:
    told = [one for _, one in group]
    closes = [one.through_us for one in told if one.through_us is not None]
    opens = [one.open_from_us for one in told if one.open_from_us is not None]
    return AsOf(
        sites=tuple(sorted(site for site, _ in group)),
        stream=told[0].stream,
        through_us=(min(closes), max(closes)) if closes else None,
        updates=sum(one.updates for one in told),
        rows=sum(one.rows for one in told),
        open_from_us=min(opens, default=None),
        open_rows=sum(one.open_rows for one in told),
    )
