"""Where a summary goes next: the one place that decides on the way.

With one tree for each query the way is the parent, and a summary of a query that nobody here
knows goes up the federation's own tree, where someone will know it. What is still to come, more
trees and last resort, are further candidates in ``_candidates``: the first that is open is taken,
and everything else in the overlay only ever asks ``next_hop``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headwater.overlay.live_query import LiveQuery
from headwater.overlay.tree_place import TreePlace


class Router:
    def __init__(self, federation: TreePlace | None, *, is_open: Callable[[str], bool]) -> None:
        """``is_open`` says whether a summary may be put on the link to a site now."""
        self.federation = federation
        self._is_open = is_open
        self._queries: dict[str, LiveQuery] = {}

    def add(self, query: LiveQuery) -> None:
        self._queries[query.id] = query

    def discard(self, query_id: str) -> None:
        self._queries.pop(query_id, None)

    def query(self, query_id: str) -> LiveQuery | None:
        return self._queries.get(query_id)

    def queries(self) -> Iterator[LiveQuery]:
        return iter(self._queries.values())

    def is_root_of(self, query_id: str) -> bool:
        query = self._queries.get(query_id)
        return query is not None and query.place is not None and query.place.is_root

    def next_hop(self, query_id: str) -> str | None:
        """The neighbour that takes the next summary of this query; None: there is no way now."""
        return next((site for site in self._candidates(query_id) if self._is_open(site)), None)

    def has_way(self, query_id: str) -> bool:
        """True where a way exists at all, open or not."""
        return next(self._candidates(query_id), None) is not None

    def _candidates(self, query_id: str) -> Iterator[str]:
        query = self._queries.get(query_id)
        place = query.place if query is not None and query.place is not None else self.federation
        if place is not None and place.parent is not None:
            yield place.parent

    def neighbours(self) -> tuple[set[str], set[str]]:
        """(parents, children) over the federation's tree and all trees of all queries."""
        parents: set[str] = set()
        children: set[str] = set()
        for place in self._all_places():
            children.update(place.children)
            if place.parent is not None:
                parents.add(place.parent)
        return parents, children

    def _all_places(self) -> Iterator[TreePlace]:
        if self.federation is not None:
            yield self.federation
        for query in self._queries.values():
            yield from (place for place in query.places if place is not None)
