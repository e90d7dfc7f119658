"""How the rows of one group become a value: the fold of a growing state, at the root.

::

    site    user  | hidden x            one row for each value of x
            a     | 17
            a     | 18
    root    a: count(DISTINCT x) = 2

Rows come with each combination of keys and hidden keys once, merged from all sites and panes. A
fold says what each row adds to its group, as a partial column that one of the merge rules puts
together by the user's keys alone; or it *reduces* all rows of all groups at once. A row whose
hidden keys are null belongs to another state, or to none, and adds nothing.
"""

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.aggregates.merge_rule import Bits, Columns, MergeRule, Types

Values = Sequence[float]


class OwnedRows(msgspec.Struct, frozen=True):
    """The rows of a growing state, each with the place of its group."""

    owners: Bits
    columns: Sequence[pa.Array]
    """Hidden keys, and then partial columns; none is null, but where the rule takes nulls."""
    groups: int
    values: Values = ()
    """Those of the fold."""


Reduced = tuple[pa.Array, Bits | None]
"""A value for each group, and which groups have one within limits; None: all of them."""


class FoldRule(msgspec.Struct, frozen=True):
    name: str
    """In a plan, and for people."""
    fault: Callable[[Types, pa.DataType, Values], str | None]
    """What it wants of columns of these types, of the type to make of them, and of its values;
    None: it can be done."""
    instead: str
    """What to write where there are more rows than a site sends: ``write …``."""
    merge: MergeRule | None = None
    """Over what rows add."""
    add: Callable[[Columns, pa.DataType], pa.ChunkedArray] | None = None
    """What each row adds, of its hidden keys and then its partial columns."""
    reduce: Callable[[OwnedRows, pa.DataType], Reduced] | None = None
    """Instead of adding."""
    nulls_from: int | None = None
    """From this of its columns on they may be null; None: in a row of its own none is."""


def are_there(columns: Columns) -> pa.ChunkedArray:
    """Of each row, whether none of these is null."""
    found = pc.is_valid(columns[0])
    for column in columns[1:]:
        found = pc.and_(found, pc.is_valid(column))
    return found
