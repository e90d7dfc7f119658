"""Two live queries with one name: which of them the name means."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.plan.query import QueryId


def losers(ids: Iterable[QueryId]) -> set[str]:
    """The ids whose name belongs to another one: the higher (counter, site) wins.

    >>> losers([QueryId("hits", "oslo", 3), QueryId("hits", "rome", 2)])
    {'hits@rome#2'}
    """
    winners: dict[str, QueryId] = {}
    beaten: set[str] = set()
    for one in ids:
        known = winners.get(one.name)
        if known is None:
            winners[one.name] = one
            continue
        winner, loser = sorted((known, one), key=lambda i: (i.counter, i.installer), reverse=True)
        winners[one.name] = winner
        beaten.add(str(loser))
    return beaten
