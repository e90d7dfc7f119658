"""*Rounding is no change*: a revision takes over the doubles of the former that are nearly its own.

Rows are matched by all that is neither a double nor nested. Where that occurs twice they are left
as they are: which of the two it was can't be told. So is a double in a nested value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.rows.nested_keys import nested_key

RELATIVE = 1e-12
"""Sums of doubles in another order differ by less, unless they cancel."""

Numbers = npt.NDArray[np.int64]


def taken_over(former: pa.Table, rows: pa.Table) -> pa.Table:
    """These rows in their order, with the values of the former where the difference is rounding.

    >>> sums = [pa.table({"k": ["a", "b"], "s": [0.3, two]}) for two in (1.0, 2.0)]
    >>> taken_over(sums[0], sums[1].set_column(1, "s", [[0.1 + 0.2, 2.0]]))["s"].to_pylist()
    [0.3, 2.0]
    """
    doubles = [n for n, type_ in enumerate(rows.schema.types) if pa.types.is_float64(type_)]
    if not doubles or former.schema.types != rows.schema.types or not former.num_rows:
        return rows
    exact = [
        n
        for n, type_ in enumerate(rows.schema.types)
        if n not in doubles and not pa.types.is_nested(type_)
    ]
    mine, theirs = _matched(former, rows, exact)
    for place in doubles:
        values = _values(rows.column(place))
        old = _values(former.column(place))[theirs]
        with np.errstate(invalid="ignore"):
            is_near = np.abs(values[mine] - old) <= RELATIVE * np.abs(old)
        if not is_near.any():
            continue
        values = values.copy()
        values[mine[is_near]] = old[is_near]
        column = pa.array(values, mask=rows.column(place).is_null().to_numpy())
        rows = rows.set_column(place, rows.schema.field(place), column)
    return rows


def _values(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """NULL as NaN, which is near nothing."""
    found: npt.NDArray[np.float64] = pc.fill_null(column, float("nan")).to_numpy()
    return found


def _matched(former: pa.Table, rows: pa.Table, places: list[int]) -> tuple[Numbers, Numbers]:
    """Where rows are that both have, in these columns and once."""
    codes = np.zeros(rows.num_rows + former.num_rows, np.int64)
    for place in places:
        both = pa.chunked_array(
            [*rows.column(place).chunks, *former.column(place).chunks],
            type=rows.schema.types[place],
        )
        numbers = nested_key(both).to_numpy() + 1
        mixed = codes * (int(numbers.max(initial=0)) + 1) + numbers
        codes = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
    mine, theirs = _once(codes[: rows.num_rows]), _once(codes[rows.num_rows :])
    _, at, former_at = np.intersect1d(mine[0], theirs[0], return_indices=True)
    return mine[1][at], theirs[1][former_at]


def _once(codes: Numbers) -> tuple[Numbers, Numbers]:
    """The codes that occur once, and where."""
    found, at, counts = np.unique(codes, return_index=True, return_counts=True)
    return found[counts == 1], at[counts == 1]
