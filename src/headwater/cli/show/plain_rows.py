"""Rows of answers as values that JSON, CSV and tables can have, whatever Spark's types are.

=====================================  ===============================================
a number that JSON lacks               a text: "NaN", "Infinity", "-Infinity", as Spark
a map's key that is no text            its text; a nested one as JSON
bytes                                  base64
a date or time beyond Python's years   a text, as Arrow writes it
=====================================  ===============================================
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

ENCODER = msgspec.json.Encoder(decimal_format="number")

if TYPE_CHECKING:
    import pyarrow as pa


def plain_rows(table: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    names = table.schema.names
    columns = [plain_values(column) for column in table.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def plain_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    import pyarrow as pa

    from headwater.algebra.rows.python_values import python_values

    is_whole = not (pa.types.is_nested(column.type) or pa.types.is_floating(column.type))
    values = python_values(column)
    if is_whole and not pa.types.is_binary(column.type):
        return values
    return [_plain(value, column.type) for value in values]


def _plain(value: Any, type_: pa.DataType) -> Any:
    import pyarrow as pa

    if value is None:
        return None
    if isinstance(value, float):
        return value if isfinite(value) else _spelled(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if pa.types.is_struct(type_):
        return {field.name: _plain(value[field.name], field.type) for field in type_}
    if pa.types.is_map(type_):
        return {
            _key(_plain(key, type_.key_type)): _plain(one, type_.item_type) for key, one in value
        }
    if pa.types.is_list(type_):
        return [_plain(one, type_.value_type) for one in value]
    return value


def _spelled(value: float) -> str:
    if value != value:
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, date | datetime | Decimal | int) and not isinstance(value, bool):
        return value.isoformat() if isinstance(value, date) else str(value)
    return ENCODER.encode(value).decode()
