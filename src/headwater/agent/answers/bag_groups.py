"""Rows that travel as a bag: a few groups may be more rows than any memory holds.

Beside a row stands how often it occurs, and the root part unfolds it, in one array for each row. So
a row of an answer that occurs more than ``COPIES_MAX`` times is left out and named, whoever said
that it does; and what an answer takes is told by its copies.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.plan.query import Query
from headwater.sql.admit.needs import copies_column

COPIES_MAX = 10_000_000
"""Of one row in one answer."""


class BagGroups:
    """As a ``GroupMaker``, of a query that asks for rows."""

    def __init__(self, query: Query) -> None:
        self._maker = GroupMaker(query.program)
        self._copies = copies_column(query)
        self.merger: ArrowMerger = self._maker.merger
        self.key_names = self._maker.key_names

    def groups(self, parts: Sequence[pa.Table]) -> Groups:
        return self._unfoldable(self._maker.groups(parts))

    def folded(self, found: Groups) -> Groups:
        return self._unfoldable(self._maker.folded(found))

    def _unfoldable(self, found: Groups) -> Groups:
        if self._copies is None:
            return found
        fits = _copies(found.merged, self._copies) <= COPIES_MAX
        if fits.all():
            return found
        out = found.merged.select(found.overflowing.column_names).filter(pa.array(~fits))
        return msgspec.structs.replace(
            found,
            merged=found.merged.filter(pa.array(fits)),
            overflowing=pa.concat_tables([found.overflowing, out]),
            overflowing_count=found.overflowing_count + out.num_rows,
            columns=(*found.columns, self._copies),
            reason=f"a row occurs more than {COPIES_MAX} times",
        )


def unfolded_bytes(query: Query, groups: pa.Table) -> int:
    """What groups take once each row is there as often as it occurs, about."""
    name = copies_column(query)
    if name is None or not groups.num_rows:
        return int(groups.nbytes)
    first = query.program.first
    most = COPIES_MAX if isinstance(first, msgspec.UnsetType) else first.limit
    rows = int(np.clip(_copies(groups, name), 1, most).sum())
    return int(groups.nbytes * rows // groups.num_rows)


def _copies(groups: pa.Table, name: str) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = pc.fill_null(groups.column(name), 0).to_numpy()
    return found
