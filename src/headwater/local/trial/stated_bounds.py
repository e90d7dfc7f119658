"""Answers of which sites kept something back, against the truth: is what they state of it true?

Of counts and sums. A row of theirs may lack as much as the answer says and no more, a group that is
not in the answer counts as 0, and what all rows lack together is what was stated as kept back, to
the last record.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.root.said.withheld import StatedError, StatedErrors

ROUNDING = 1e-9
"""Of sums of doubles."""
TRUE = "__true"


def broken_bound(stated: StatedErrors, mine: pa.Table | None, truth: pa.Table | None) -> str | None:
    """What an answer states wrongly of its columns; None: all of it is true."""
    if mine is None or truth is None:
        found = mine if truth is None else truth
        if found is None or not found.num_rows:
            return None
        mine, truth = (found.slice(0, 0) if one is None else one for one in (mine, truth))
    names = [one.column for one in stated.columns]
    keys = [name for name in mine.column_names if name not in names]
    both = mine.join(truth, keys, join_type="full outer", right_suffix=TRUE)
    faults = (_fault(one, both) for one in stated.columns)
    return next(filter(None, faults), None)


def _fault(one: StatedError, both: pa.Table) -> str | None:
    mine, truth = (pc.fill_null(both[name], 0) for name in (one.column, one.column + TRUE))
    lacks = pc.subtract(truth, mine)
    most, all_of_it = (pc.max(pc.abs(lacks)).as_py() or 0), (pc.sum(lacks).as_py() or 0)
    slack = ROUNDING * abs(float(pc.sum(truth).as_py() or 0))
    if float(most) > one.largest + slack:
        return f"{one.column} is off by {most:g}, where at most {one.largest:g} is stated"
    if abs(float(all_of_it) - one.total) > slack:
        return f"{one.column}: all rows lack {all_of_it:g}, where {one.total:g} is stated"
    return None if one.is_kept else f"the bound was not kept: {one.text()}"
