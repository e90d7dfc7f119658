"""A query that is installed here, with all that moving its summaries needs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.algebra.summary import Merger
from headwater.overlay.roster_index import RosterIndex
from headwater.overlay.tree_place import TreePlace, find_place
from headwater.plan.command import Install
from headwater.plan.query import Query


class LiveQuery(msgspec.Struct, frozen=True):
    id: str
    places: tuple[TreePlace | None, ...]
    """This peer's place in each tree of the set; None where it is no member."""
    node_set: int
    merger: Merger | None
    """None where the query's rows can't be merged here: they are then forwarded apart."""

    @property
    def place(self) -> TreePlace | None:
        """In the primary tree."""
        return self.places[0]


def open_query(
    install: Install,
    *,
    ordinal: int,
    roster: RosterIndex,
    merger_of: Callable[[Query], Merger],
) -> tuple[LiveQuery, str | None]:
    """The query, ready for use, and what went wrong with its merger, if anything.

    A query whose merger can't be made here still travels: its summaries pass unmerged.
    """
    node_set = roster.node_set(install.query)
    places = tuple(
        find_place(tree, ordinal, roster=roster, node_set=node_set) for tree in install.trees
    )
    merger: Merger | None = None
    problem: str | None = None
    try:
        merger = merger_of(install.query)
    except Exception as error:  # the query comes from the wire; whatever it breaks, we go on
        problem = f"{type(error).__name__}: {error}"
    return LiveQuery(str(install.query.id), places, node_set, merger), problem
