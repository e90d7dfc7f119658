"""The roster, prepared for being asked: names, ordinals and sets without a walk over all sites."""

from __future__ import annotations

from headwater.algebra.sets import bitset
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.plan.tree import Tree

_LAST: list[tuple[Roster, RosterIndex]] = []
"""The roster that was asked for last, with its index."""


def index_of(roster: Roster) -> RosterIndex:
    """The index of this roster; peers in one process (a simulator's thousands) share it."""
    for known, index in _LAST:
        if known is roster:
            return index
    index = RosterIndex(roster)
    _LAST[:] = [(roster, index)]
    return index


class RosterIndex:
    """Made once for a roster; every lookup is one step."""

    def __init__(self, roster: Roster) -> None:
        self.ordinal_of = {site.name: site.ordinal for site in roster.sites}
        self.name_of = {site.ordinal: site.name for site in roster.sites}
        self.dialable = frozenset(site.name for site in roster.sites if site.dialable)
        self.ordinal_max = max(self.name_of)
        self.data_sites = bitset.of(site.ordinal for site in roster.sites if site.has_data)
        self._sites = roster.sites
        self._by_place: dict[str, dict[str | None, int]] = {}
        """By what is asked of places, the sites of each value as a bitset."""
        self._is_gapless = set(self.name_of) == set(range(self.ordinal_max + 1))

    def sites_of(self, what: str, value: str | None) -> int:
        """The sites for which ``site()``, ``region()`` or ``label('…')`` has this value."""
        if what not in self._by_place:
            found: dict[str | None, int] = {}
            for site in self._sites:
                found[site.place(what)] = found.get(site.place(what), 0) | 1 << site.ordinal
            self._by_place[what] = found
        return self._by_place[what].get(value, 0)

    def has_all_of(self, tree: Tree) -> bool:
        """Whether all members of the tree are sites of the roster. Every peer asks that of every
        tree, so where no ordinal is missing it does not walk over them."""
        if self._is_gapless:
            return tree.ordinals.start >= 0 and tree.ordinals.stop <= self.ordinal_max + 1
        return tree.members() <= self.name_of.keys()

    def node_set(self, query: Query) -> int:
        """The sites whose panes the query is about, as a bitset; unknown names are left out."""
        if isinstance(query.node_set, str):
            return bitset.of(site.ordinal for site in self._sites if is_asked(query, site))
        if not query.sites:
            return self.data_sites
        return bitset.of(self.ordinal_of[name] for name in query.sites if name in self.ordinal_of)
