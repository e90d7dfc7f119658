"""A query with panes of ten seconds, and a level of it with three of them in one."""

from __future__ import annotations

import msgspec
from pane_kit import PROGRAM, make_query

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.tolerance import Finally
from headwater.algebra.rows.columns import Partial
from headwater.plan.degrading.companion import Companion
from headwater.plan.query import Query, QueryId

COUNTED = msgspec.structs.replace(PROGRAM, partials=(Partial("n", "bigint", "sum"),))
FULL = msgspec.structs.replace(make_query(begin_pane=0), program=COUNTED)


def level_of(full: Query, *, step: int = 1, times: int = 3, stays: bool = False) -> Query:
    length_us = times * full.window.range_us
    window = WindowSpec(length_us, length_us)
    assert full.begin_pane is not None
    begin_us = full.window.pane_start_us(full.begin_pane)
    return msgspec.structs.replace(
        full,
        id=QueryId(f"{full.id.name}_{step}", full.id.installer, full.id.counter + step),
        window=window,
        begin_pane=window.first_window_from(begin_us),
        companion=Companion(
            str(full.id),
            step,
            text=f"{length_us // MICROS} s",
            finally_=Finally.BOUNDED if stays else Finally.EXACT,
        ),
    )


LEVEL = level_of(FULL)
