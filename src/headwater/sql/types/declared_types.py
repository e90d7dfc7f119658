"""Types of a source's columns, as CREATE SOURCE names them.

Beside those that an answer may have there are types that are read and checked, and reached into by
a path: ``array<…>``, ``map<…>``, ``struct<…>``; and ``varchar(n)`` and ``char(n)``, strings of at
most so many characters.

>>> declared_type("ARRAY < STRUCT < a : INT, `b c`: Decimal(10, 2) > >")
'array<struct<a:int,`b c`:decimal(10,2)>>'
>>> declared_type("interval day to second"), declared_type("varchar( 10 )"), declared_type("text")
('interval day to second', 'varchar(10)', None)
"""

from __future__ import annotations

import re

from headwater.algebra.rows.nested_types import (
    element_type,
    field_of,
    field_types,
    is_nested,
    key_type,
    split_types,
    struct_type,
)
from headwater.plan.sources.column_names import name_fault
from headwater.sql.read.sql_text import name_sql
from headwater.sql.types.type_rules import named_type

LENGTH_MAX = 1_000_000
DEPTH_MAX = 8
FIELDS_MAX = 200
AVAILABLE = (
    "boolean, tinyint, smallint, int, bigint, float, double, decimal(p,s), string, varchar(n), "
    "char(n), binary, date, timestamp, timestamp_ntz, interval day to second, interval year to "
    "month, array<…>, map<…>, struct<name: …>"
)
_SPELLED = {
    "timestamp_ntz": "timestamp_ntz",
    "intervaldaytosecond": "interval day to second",
    "intervalyeartomonth": "interval year to month",
}
_SIZED = re.compile(r"((?:var)?char|character)\((\d{1,7})\)")


def declared_type(text: str, *, depth: int = 0) -> str | None:
    """The one name of a type; None where there is none."""
    if depth > DEPTH_MAX:
        return None
    match = re.fullmatch(r"\s*(array|map|struct)\s*<(.*)>\s*", text, re.IGNORECASE | re.DOTALL)
    if match is not None:
        return _nested(match[1].lower(), list(split_types(match[2])), depth + 1)
    name = "".join(text.lower().split())
    sized = _SIZED.fullmatch(name)
    if sized is not None:
        kind = "varchar" if sized[1] == "varchar" else "char"
        return f"{kind}({int(sized[2])})" if 0 < int(sized[2]) <= LENGTH_MAX else None
    return _SPELLED.get(name) or named_type(text)


def _nested(kind: str, parts: list[str], depth: int) -> str | None:
    if kind == "struct":
        return _struct(parts, depth)
    types = [declared_type(part, depth=depth) for part in parts]
    if None in types or len(types) != (1 if kind == "array" else 2):
        return None
    if kind == "map" and types[0] != "string":
        return None
    return f"{kind}<{','.join(filter(None, types))}>"


def _struct(parts: list[str], depth: int) -> str | None:
    fields: dict[str, str] = {}
    for part in parts:
        name, text = field_of(part) or ("", "")
        type_ = declared_type(text, depth=depth)
        is_new = name.lower() not in {known.lower() for known in fields}
        if type_ is None or not is_new or name_fault(name) is not None:
            return None
        fields[name] = type_
    return struct_type(fields, name_sql) if 0 < len(fields) <= FIELDS_MAX else None


def value_type(type_: str) -> str:
    """The type of a column in expressions.

    >>> value_type("varchar(10)"), value_type("int"), value_type("array<struct<a:char(3)>>")
    ('string', 'int', 'array<struct<a:string>>')
    """
    key, element = key_type(type_), element_type(type_)
    if key is not None and element is not None:
        return f"map<{value_type(key)},{value_type(element)}>"
    if element is not None:
        return f"array<{value_type(element)}>"
    if is_nested(type_):
        fields = field_types(type_)
        return struct_type({name: value_type(one) for name, one in fields.items()}, name_sql)
    return "string" if length_max(type_) is not None else type_


def length_max(type_: str) -> int | None:
    """Of ``varchar(n)`` and ``char(n)``, in characters."""
    sized = _SIZED.fullmatch(type_)
    return None if sized is None else int(sized[2])
