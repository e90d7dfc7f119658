"""Spark's types and Arrow's, one for one, and the schemas that a query's rows have.

A type is written as Spark's ``simpleString`` writes it, because that is what travels and what a
reader of a plan knows. Only types that a summary can carry are here: whatever is not listed is
refused, so that nothing is converted on the way. (A timestamp without a zone is not: Spark makes
one with a zone of it whenever it takes an Arrow table in.)

>>> str(arrow_type("decimal(10,2)"))
'decimal128(10, 2)'
>>> spark_type(arrow_type("timestamp"))
'timestamp'
"""

import re
from functools import lru_cache

import pyarrow as pa

from headwater.algebra.rows.columns import RowLayout

PANE_COLUMN = "pane"
"""The first column of what a site's Spark yields: the pane that a row belongs to."""

WINDOW_COLUMN = "window"
WINDOW_TYPE = "struct<start:timestamp,end:timestamp>"
"""The first column of an answer; what Spark's ``window()`` yields."""

DECIMAL_DIGITS_MAX = 38
"""Spark's widest decimal, and Arrow's ``decimal128``."""

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
    if type_name not in _SIMPLE:
        known = ", ".join([*_SIMPLE, "decimal(p,s)"])
        raise ValueError(f"type: no column has type {type_name[:80]!r}; types: {known}")
    return _SIMPLE[type_name]


def spark_type(arrow: pa.DataType) -> str:
    """The name that Spark has for this Arrow type. Raises ``ValueError``."""
    if pa.types.is_decimal128(arrow):
        return decimal_type(arrow.precision, arrow.scale)
    if arrow not in _NAMES:
        raise ValueError(f"type: no column has Arrow type {arrow}; types: {sorted(_SIMPLE)}")
    return _NAMES[arrow]


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


def site_schema(layout: RowLayout) -> pa.Schema:
    """The schema of what the site part yields: ``pane`` before the columns of a summary."""
    return pa.schema([(PANE_COLUMN, pa.int64()), *summary_schema(layout)])
