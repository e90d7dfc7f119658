"""The levels of a query: what a site sends in the place of its panes when these don't fit.

Each level is a *companion*, an ordinary query of its own with an id, trees, a cube series and a
ledger, which names the query that it stands for (its *full* query). So the level is part of what an
update is: coverage, merging, acknowledgement, overlap and repair treat it as a series of its own,
and a relay that has never heard of levels merges it like any other.

A site *takes* a pane of a companion before it begins, or never, and then leaves the panes of the
full query that lie in it for later. What nobody takes costs nobody anything: a companion has no
rows of its own, only those that the site part of its full query makes, under coarser panes::

    full query    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 |    panes of 1 s
    companion     |         0         |         1         |    panes of 5 s
                            ▲ taken: 0 to 4 of the full query are deferred here
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name
from headwater.algebra.remainders.tolerance import Finally
from headwater.plan.durations import duration_us

if TYPE_CHECKING:
    from headwater.plan.query import Query

LEVELS_MAX = 8
"""Companions of one query: each is a query at every site, if an idle one."""
COARSEN_TIME = "coarsen(time)"


class Companion(msgspec.Struct, frozen=True):
    """What makes a query a companion of another one."""

    of: Name
    """The id of the full query."""
    step: Annotated[int, Meta(ge=1, le=LEVELS_MAX)]
    """From 1, the finest."""
    count: Annotated[int, Meta(ge=1, le=LEVELS_MAX)] = 1
    """How many levels there are."""
    operator: Name = COARSEN_TIME
    text: Name = ""
    """How coarse it is, for people: ``5 s``."""
    finally_: Finally = Finally.EXACT
    """What becomes of the deferred panes: they follow, or are declined."""

    @property
    def stream(self) -> str:
        """What people call the full query.

        >>> Companion("hits@fra#7", 1).stream
        'hits'
        """
        return self.of.partition("@")[0]

    @property
    def stays(self) -> bool:
        """The panes that it stands for never follow."""
        return self.finally_ is Finally.BOUNDED

    def __str__(self) -> str:
        """
        >>> str(Companion("hits@fra#7", 1, text="5 s"))
        'coarsen(time) to 5 s'
        """
        return f"{self.operator} to {self.text}"


def level_name(stream: str, text: str) -> str:
    """
    >>> level_name("hits", "5 seconds")
    'hits_5_seconds'
    """
    return f"{stream}_{text.replace(' ', '_')}"


def is_level_name(name: str, stream: str) -> bool:
    """
    >>> is_level_name("hits_5_seconds", "hits"), is_level_name("hits_of_shops", "hits")
    (True, False)
    """
    length, named = name.removeprefix(f"{stream}_"), name.startswith(f"{stream}_")
    return named and duration_us(length.replace("_", " ")) is not None


def fine_panes(full: Query, companion: Query, pane: int) -> range:
    """The panes of the full query that lie in this one of the companion."""
    spec, coarse = full.window, companion.window
    first = spec.pane_at(coarse.pane_start_us(pane))
    return range(first, first + coarse.pane_us // spec.pane_us)


def coarse_pane(full: Query, companion: Query, pane: int) -> int:
    """The pane of the companion in which this one of the full query lies."""
    return companion.window.pane_at(full.window.pane_start_us(pane))


def level_fault(full: Query, companion: Query) -> str | None:
    """Why the one can't be a level of the other, whoever says so; None: it can."""
    level = companion.stands_for
    if level is None or level.of != str(full.id):
        return f"{companion.id} is no level of {full.id}"
    if level.operator != COARSEN_TIME:
        return f"{companion.id}: {level.operator} is not known here, only {COARSEN_TIME}"
    if (fault := plain_fault(full)) is not None:
        return f"{full.id} has {fault}"
    fine, coarse = full.window, companion.window
    apart_us = coarse.start_us - fine.start_us
    if coarse.pane_us <= fine.pane_us or coarse.pane_us % fine.pane_us or apart_us % fine.pane_us:
        return f"{companion.id}: its panes are no whole number of those of {full.id}"
    if (full.root, full.sites, full.node_set) != (
        companion.root,
        companion.sites,
        companion.node_set,
    ):
        return f"{companion.id} and {full.id} have other sites, or another root"
    made, of = companion.program, full.program
    if (made.keys, made.partials, made.source) != (of.keys, of.partials, of.source):
        return f"{companion.id} and {full.id} have other columns, or another source"
    return None


def plain_fault(query: Query) -> str | None:
    """Why a query has no coarser panes: what it asks for goes by more than the records of a pane.
    None: it may have some.
    """
    if query.window.panes_per_window != 1:
        return "windows that slide: coarse windows stand beside tumbling ones"
    if query.window.start_us:
        return "windows that start apart from the hour"
    if query.holds_states or query.sessions is not msgspec.UNSET:
        return "states and sessions, which are no sums of panes"
    if query.numbers is not None or query.time != "event":
        return "windows of numbers, and records by age"
    if query.ends or query.wants_past or query.begin_pane is None or query.ends_at is not None:
        return "inputs that end, an extent, or a begin in the past"
    if query.tolerates is not None:
        return "an error or a threshold beside it"
    if isinstance(query.rounds, int):
        return "groups that leave early, as under a staleness (a deadline does without)"
    if query.demanded is not None:
        return "a demand (fidelity) beside it"
    return None
