"""From which pane on the shares of a query's absolute bounds move: one rule for installs and for
settings that are altered, so that all who know the query know the same pane."""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.share_table import Dealing
from headwater.plan.query import Query

TABLE_S = 30.0
"""A table of shares names panes for so long, and is told so long before they begin: as long as a
summary lives, so who has not heard of it by then is cut off."""


def with_dealing(query: Query, *, begun: Query, table_s: float = TABLE_S) -> Query:
    """The query with shares that move, where it has a bound that is dealt out: from the begin on
    with which it was installed (``begun``). Where sites read a past, a finite input or numbers,
    nobody knows when panes are open, and shares stay even."""
    tolerance, begin = query.tolerates, begun.begin_pane
    if tolerance is None or not tolerance.can_move or begin is None:
        return query
    if begun.wants_past or begun.ends or begun.numbers is not None:
        return query
    panes = max(1, -(-round(table_s * MICROS) // begun.window.pane_us))
    dealing = Dealing(begin + 4 * panes, panes)
    return msgspec.structs.replace(
        query, tolerance=msgspec.structs.replace(tolerance, dealing=dealing)
    )
