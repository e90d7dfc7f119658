"""From which pane on the shares of a query's absolute bounds move: one rule for installs and for
settings that are altered, so that all who know the query know the same pane."""

from __future__ import annotations

import msgspec

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.share_table import Dealing
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.plan.query import Query

TABLE_S = 30.0
"""A table of shares names panes for so long, and is told so long before they begin: as long as a
summary lives, so who has not heard of it by then is cut off."""


def with_dealing(query: Query, *, now_us: int, table_s: float = TABLE_S) -> Query:
    """The query as it is installed now, with shares that move, where it has a bound that is dealt
    out. Of a finite input and of numbers nobody knows when panes are open, and shares stay even."""
    begin = query.begin_pane
    if begin is None or query.ends or query.numbers is not None:
        return query
    panes = max(1, -(-round(table_s * MICROS) // query.window.pane_us))
    open_ = max(begin, query.window.pane_at(now_us))
    return _dealing(query, Dealing(open_ + 4 * panes, panes))


def dealing_as(query: Query, installed: Query) -> Query:
    """Other settings of an installed query: its tables go on. Where it had none, shares of a bound
    that comes later stay even."""
    former = installed.tolerates
    return query if former is None else _dealing(query, former.dealing)


def undealt(tolerance: Tolerance | None) -> Tolerance | None:
    """But for the pane, which goes by the clock of who prepares it."""
    return None if tolerance is None else msgspec.structs.replace(tolerance, dealing=msgspec.UNSET)


def _dealing(query: Query, dealing: Dealing | msgspec.UnsetType) -> Query:
    tolerance = query.tolerates
    if tolerance is None or not tolerance.can_move:
        return query
    dealt = msgspec.structs.replace(tolerance, dealing=dealing)
    return msgspec.structs.replace(query, tolerance=dealt)
