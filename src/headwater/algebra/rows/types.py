"""Spark's types and Arrow's, one for one, and the schemas that a query's rows have.

A type is written as Spark's ``simpleString`` writes it, because that is what travels and what a
reader of a plan knows. Only types that a summary can carry are here: whatever is not listed is
refused, so that nothing is converted on the way. (A timestamp without a zone is not: Spark makes
one with a zone of it whenever it takes an Arrow table in. Nor are intervals, which not every Arrow
has.) Arrays, maps and structs are, of all these.

>>> str(arrow_type("decimal(10,2)"))
'decimal128(10, 2)'
>>> spark_type(arrow_type("timestamp")), spark_type(arrow_type("array<struct<a:int,b:date>>"))
('timestamp', 'array<struct<a:int,b:date>>')
"""

import re
from functools import lru_cache
from itertools import accumulate

import pyarrow as pa

from headwater.algebra.rows.columns import GroupLayout, RowLayout, group_columns
from headwater.algebra.rows.nested_types import (
    element_type,
    field_types,
    is_nested,
    key_type,
    struct_type,
)

PANE_COLUMN = "pane"
"""The first column of what a site's Spark yields: the pane that a row belongs to."""

WINDOW_COLUMN = "window"
WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"
"""The first column of an answer; what Spark's ``window()`` yields."""
NUMBERS_TYPE = "struct<start:bigint,end:bigint>"
"""The same of windows of numbers."""

DECIMAL_DIGITS_MAX = 38
"""Spark's widest decimal, and Arrow's ``decimal128``."""

DEPTH_MAX = 9
"""Of types within types."""

BIGINT_MAX = (1 << 63) - 1
INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")

_TIMESTAMP = pa.timestamp("us", tz="UTC")
_SIMPLE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": _TIMESTAMP,
    WINDOW_TYPE: pa.struct([("start", _TIMESTAMP), ("end", _TIMESTAMP)]),
}
_NAMES = {arrow: name for name, arrow in _SIMPLE.items()}


@lru_cache(maxsize=1024)
def arrow_type(type_name: str) -> pa.DataType:
    """The Arrow type that Spark gives to columns of this type. Raises ``ValueError``."""
    digits = decimal_digits(type_name)
    if digits is not None:
        return pa.decimal128(*digits)
    if type_name in _SIMPLE:
        return _SIMPLE[type_name]
    if is_nested(type_name) and _depth(type_name) <= DEPTH_MAX:
        return _nested(type_name)
    known = ", ".join([*_SIMPLE, "decimal(p,s)", "array<…>", "map<…>", "struct<…>"])
    raise ValueError(f"type: no column has type {type_name[:80]!r}; types: {known}")


def _nested(type_name: str) -> pa.DataType:
    """With the names that Spark gives to what is within."""
    key, element = key_type(type_name), element_type(type_name)
    if key is not None and element is not None:
        return pa.map_(arrow_type(key), arrow_type(element))
    if element is not None:
        return pa.list_(pa.field("element", arrow_type(element)))
    fields = field_types(type_name)
    if not fields:
        raise ValueError(f"type: a struct has fields, {type_name[:80]!r} has none")
    return pa.struct([(name, arrow_type(one)) for name, one in fields.items()])


def _depth(type_name: str) -> int:
    depths = accumulate((symbol == "<") - (symbol == ">") for symbol in type_name)
    return max(depths, default=0)


def spark_type(arrow: pa.DataType) -> str:
    """The name that Spark has for this Arrow type. Raises ``ValueError``."""
    if pa.types.is_decimal128(arrow):
        return decimal_type(arrow.precision, arrow.scale)
    if arrow in _NAMES:
        return _NAMES[arrow]
    if pa.types.is_map(arrow):
        return f"map<{spark_type(arrow.key_type)},{spark_type(arrow.item_type)}>"
    if pa.types.is_list(arrow):
        return f"array<{spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return struct_type({field.name: spark_type(field.type) for field in arrow})
    raise ValueError(f"type: no column has Arrow type {arrow}; types: {sorted(_SIMPLE)}")


def decimal_digits(type_name: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type that exists; None for every other type.

    >>> decimal_digits("decimal(10,2)"), decimal_digits("bigint"), decimal_digits("decimal(39,0)")
    ((10, 2), None, None)
    """
    match = re.fullmatch(r"decimal\((\d{1,2}),(\d{1,2})\)", type_name)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2])
    exists = 1 <= precision <= DECIMAL_DIGITS_MAX and scale <= precision
    return (precision, scale) if exists else None


def decimal_type(precision: int, scale: int) -> str:
    return f"decimal({precision},{scale})"


def summary_schema(layout: RowLayout) -> pa.Schema:
    """The schema of a summary's rows: keys, then partials; the pane is in the summary itself."""
    keys = [(key.name, arrow_type(key.type)) for key in layout.keys]
    partials = [(partial.name, arrow_type(partial.type)) for partial in layout.partials]
    return pa.schema(keys + partials)


def group_schema(layout: GroupLayout) -> pa.Schema:
    """The schema of the groups that the root part finishes: the user's keys, the partials, and what
    growing states were folded to."""
    return pa.schema([(one.name, arrow_type(one.type)) for one in group_columns(layout)])


def site_schema(layout: RowLayout) -> pa.Schema:
    """The schema of what the site part yields: ``pane`` before the columns of a summary."""
    return pa.schema([(PANE_COLUMN, pa.int64()), *summary_schema(layout)])
