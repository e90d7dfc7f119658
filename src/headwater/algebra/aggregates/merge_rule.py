"""How the rows of one group become one row: a rule over all columns of a state.

A *state* is what one aggregate knows of a group, in one column of a summary or in several. Arrow
groups the columns of all states in one go; a rule does before and after what Arrow can't::

    columns ──lift──► columns ──Arrow groups by ``function``──► columns ──lower──► columns

A rule over single columns (sum, min, max) has states of one column. Where columns belong together,
the rule has a ``width``, its columns stand side by side, and ``list`` is the function: ``lower`` is
then handed all values of each group in every column, to be reduced together.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy.typing as npt
import pyarrow as pa

Columns = Sequence[pa.ChunkedArray]
Types = Sequence[pa.DataType]
Bits = npt.NDArray[Any]


def all_fit(grouped: Columns, types: Types) -> Bits | None:
    return None


def never(columns: Columns, types: Types) -> Columns | None:
    return None


class MergeRule(msgspec.Struct, frozen=True):
    """Nulls are skipped, and all of nothing is null, as in Spark."""

    name: str
    """On the wire, and for people."""
    function: str
    """Of Arrow's grouping."""
    sql: str
    """The function of SQL that does the same to several rows: root parts of 0.3 and before called
    it. Empty: they had no such rule."""
    fault: Callable[[Types], str | None]
    """What it wants of columns of these types that it can't merge; None: it can."""
    lift: Callable[[Columns], Columns]
    lower: Callable[[Columns, Types], Columns]
    """Grouped columns in the types that the query declares."""
    fits: Callable[[Columns, Types], Bits | None] = all_fit
    """Which groups are within these types, before they are lowered; None: all of them."""
    width: int = 1
    """Columns of a state."""
    remove: Callable[[Columns, Types], Columns | None] = never
    """Columns whose merging undoes that of the given ones, *to the bit*; None: there are none of
    these types. Windows that slide are then built by taking out what has left them."""
    is_drawn: bool = False
    """Which of the values it keeps goes by chance or by the order of merging: the same records
    don't give the same state, but one within the bound."""
    take: Callable[[Columns, Types], Columns] | None = None
    """Columns from Spark or from the wire in the form in which they are merged and kept, once they
    are known to be sound; None: all that Arrow holds is. Raises ``ValueError``."""
