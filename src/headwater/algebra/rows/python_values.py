"""Columns as Python's values, also where Python has none: it knows the years 1 to 9999.

>>> python_values(pa.chunked_array([pa.array([1, 5_000_000], pa.int32()).cast(pa.date32())]))
['1970-01-02', '15659-07-15']
"""

from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

Maps = Literal["lossy", "strict"]
DAYS_MAX = 10_000_000
"""Since 1970: to about the year 29000. Arrow counts years in 16 bits, and writes others wrong."""
DAY_US = 86_400_000_000


def python_values(column: pa.ChunkedArray | pa.Array, *, maps: Maps | None = None) -> list[Any]:
    """A column with a date or time beyond Python's years has texts instead, as Arrow writes them;
    what is beyond Arrow's years, too, is the number of days or microseconds since 1970. ``maps``:
    as Python's own, of which only the last of equal keys is kept, or none may be."""
    try:
        found: list[Any] = column.to_pylist(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        is_temporal = pa.types.is_temporal(column.type)
        texts = _texts(column) if is_temporal else column.cast(_textual(column.type), safe=False)
        found = texts.to_pylist(maps_as_pydicts=maps)
    return found


def _texts(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    is_date = pa.types.is_date32(column.type)
    numbers = column.cast(pa.int32() if is_date else pa.int64()).cast(pa.int64())
    most = DAYS_MAX if is_date else DAYS_MAX * DAY_US
    is_near = pc.and_(pc.less(numbers, most), pc.greater(numbers, -most))
    return pc.if_else(is_near, column.cast(pa.string()), numbers.cast(pa.string()))


def _textual(type_: pa.DataType) -> pa.DataType:
    """The type with texts in place of dates and times."""
    if pa.types.is_temporal(type_):
        return pa.string()
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _textual(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_textual(type_.key_type), _textual(type_.item_type))
    return pa.list_(_textual(type_.value_type)) if pa.types.is_list(type_) else type_
