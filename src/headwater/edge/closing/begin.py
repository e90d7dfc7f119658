"""Where a site begins with a query: its first pane, and what it declines before it.

::

    begin |----------|----------|----------|----------|      panes
             ^ born      ^ installed  (+ future_tolerance)
             declined:   declined:          first pane
             lost        not installed

A site that heard of the query before ``begin`` starts there. One that joined late starts at the
first pane that begins after its install and the tolerance for records from the future: an earlier
pane may have had records that were read before the query was there. What it missed it declines:
*lost* where its cube is younger than the pane (its former cube may have had it), *not installed*
otherwise.
"""

from __future__ import annotations

from headwater.algebra.panes import MICROS
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.plan.query import Query


def first_pane_of(query: Query, *, now_s: float, future_tolerance_s: float) -> int:
    """Times are those that panes are numbered by."""
    if query.begin_pane is None:
        return -FOREVER
    if query.window.pane_start_us(query.begin_pane) >= round(now_s * MICROS):
        return query.begin_pane
    return max(query.begin_pane, pane_from(query, now_s + future_tolerance_s))


def missed(query: Query, *, first_pane: int, born_s: float) -> tuple[Declined, ...]:
    """What a site that begins at ``first_pane`` declines; ``born_s`` is when its cube was made."""
    if query.begin_pane is None or first_pane <= query.begin_pane:
        return ()
    born_pane = min(first_pane, max(query.begin_pane, pane_from(query, born_s)))
    lost = Declined(query.begin_pane, born_pane - 1, Reason.LOST)
    not_installed = Declined(born_pane, first_pane - 1, Reason.NOT_INSTALLED)
    return tuple(part for part in (lost, not_installed) if part.first <= part.last)


def pane_from(query: Query, time_s: float) -> int:
    """The first pane that starts at or after this time."""
    pane = query.window.pane_at(round(time_s * MICROS))
    return pane if query.window.pane_start_us(pane) >= round(time_s * MICROS) else pane + 1
