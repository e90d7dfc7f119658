"""What a call of a listed function yields, where that depends on its arguments: a rule for each
``$name`` of the list.

A rule is handed the call and the types of its arguments. None: Spark would have to guess, and a
CAST must decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from headwater.algebra.rows.nested_types import (
    element_type,
    field_types,
    has_map,
    is_nested,
    key_type,
    struct_type,
)
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, decimal_digits, decimal_type
from headwater.plan.sources.column_names import name_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import name_sql, sql_of
from headwater.sql.types.declared_types import declared_type, value_type
from headwater.sql.types.interval_types import family_of, fields_of
from headwater.sql.types.type_rules import VOID, arithmetic_type, common_type, named_type

Types = Sequence[str]
Rule = Callable[[exp.Anonymous, Types], str | None]

PLACES_LENGTH_MAX = 10
PARTS = {
    "year": ("year", "y", "years", "yr", "yrs"),
    "yearofweek": ("yearofweek",),
    "quarter": ("quarter", "qtr"),
    "month": ("month", "mon", "mons", "months"),
    "week": ("week", "w", "weeks"),
    "day": ("day", "d", "days"),
    "dayofweek": ("dayofweek", "dow"),
    "dayofweek_iso": ("dayofweek_iso", "dow_iso"),
    "doy": ("doy",),
    "hour": ("hour", "h", "hours", "hr", "hrs"),
    "minute": ("minute", "m", "min", "mins", "minutes"),
    "second": ("second", "s", "sec", "seconds", "secs"),
}
"""What can be taken out of a time, by every name that Spark has for it."""
_PART = {name: part for part, names in PARTS.items() for name in names}
_OF_INTERVALS = {
    "year": "int",
    "month": "tinyint",
    "day": "int",
    "hour": "tinyint",
    "minute": "tinyint",
    "second": "decimal(8,6)",
}


def result_type(rule: str, call: exp.Anonymous, types: Types) -> str | None:
    """By the rule of this name, without its ``$``. Raises ``Objection``."""
    found = _RULES.get(rule)
    return found(call, types) if found is not None else arithmetic_type(rule, types[0], types[1])


def part_type(node: exp.Expr, part: str, of: str) -> str:
    """Of ``extract(part FROM x)``. Raises ``Objection``."""
    name, family = _PART.get(part.strip().lower()), family_of(of)
    known: Sequence[str] = tuple(PARTS)
    if family is not None:
        first, last = (family.index(field) for field in fields_of(of) or ())
        known = family[first : last + 1]
    if of not in ("date", "timestamp", "timestamp_ntz") and family is None:
        raise Objection(
            node, f"a part is taken of a date, timestamp or interval, got {of}; write a CAST"
        )
    if name is None or name not in known:
        raise Objection(node, f"no part `{part[:40]}` of {of}; parts: {', '.join(known)}")
    if family is not None:
        return _OF_INTERVALS[name]
    return "decimal(8,6)" if name == "second" else "int"


def common_of(types: Types) -> str | None:
    found: str | None = VOID
    for type_name in types:
        found = common_type(found, type_name) if found is not None else None
    return found


def schema_type(text: str) -> str | None:
    """What ``from_json`` yields by a schema as people write it; None: it is none.

    >>> schema_type("a INT, b ARRAY<STRING>"), schema_type("ARRAY<INT>"), schema_type("a BLOB")
    ('struct<a:int,b:array<string>>', 'array<int>', None)
    """
    found = declared_type(text)
    if found is None or not is_nested(found):
        found = declared_type(f"struct<{text}>")
    is_plain = found is not None and value_type(found) == found and "interval" not in found
    return found if is_plain else None


def _array(call: exp.Anonymous, types: Types) -> str | None:
    found = common_of(types)
    return None if found in (None, VOID) else f"array<{found}>"


def _map(call: exp.Anonymous, types: Types) -> str | None:
    if len(types) % 2:
        raise Objection(call, "map takes a value after each key, as in map('a', 1, 'b', 2)")
    key, value = common_of(types[::2]), common_of(types[1::2])
    return _map_of(call, key, value)


def _map_of(call: exp.Anonymous, key: str | None, value: str | None) -> str | None:
    if key is not None and has_map(key):
        raise Objection(call, "a map can't be a key of a map; write map_entries(m)")
    is_known = key not in (None, VOID) and value not in (None, VOID)
    return f"map<{key},{value}>" if is_known else None


def _named(call: exp.Anonymous, types: Types) -> str | None:
    """A name in quotes before each value."""
    names = [quoted_text(node) for node in call.expressions[::2]]
    fields = {name: type_ for name, type_ in zip(names, types[1::2], strict=False) if name}
    is_each_once = len({name.lower() for name in fields}) == len(names)
    if not is_each_once or len(types) % 2 or any(map(name_fault, fields)):
        raise Objection(
            call, "named_struct takes a name in quotes before each value, each name once"
        )
    return None if VOID in fields.values() else struct_type(fields, name_sql)


def _of_schema(call: exp.Anonymous, types: Types) -> str | None:
    text = quoted_text(call.expressions[1]) or ""
    found = schema_type(text)
    is_csv = call.name.lower() == "from_csv"
    if found is None or (is_csv and any(map(is_nested, field_types(found).values()))):
        raise Objection(
            call, f"`{text[:60]}` is no schema; write it as in 'a INT, b STRING, c ARRAY<DOUBLE>'"
        )
    return found


def _of_name(call: exp.Anonymous, types: Types) -> str | None:
    text = quoted_text(call.expressions[2]) or ""
    found = named_type(text)
    if found is None:
        raise Objection(call, f"`{text[:60]}` is no type; write one in quotes, such as 'bigint'")
    return found


def _entries(call: exp.Anonymous, types: Types) -> str | None:
    fields = {"key": key_type(types[0]) or "", "value": element_type(types[0]) or ""}
    return f"array<{struct_type(fields, name_sql)}>"


def _of_arrays(call: exp.Anonymous, types: Types) -> str | None:
    return _map_of(call, element_type(types[0]), element_type(types[1]))


def _of_entries(call: exp.Anonymous, types: Types) -> str | None:
    fields = list(field_types(element_type(types[0]) or "").values())
    if len(fields) != 2:
        raise Objection(call, "map_from_entries takes an array of structs with two fields")
    return _map_of(call, *fields)


def _part(call: exp.Anonymous, types: Types) -> str | None:
    return part_type(call, quoted_text(call.expressions[0]) or "", types[1])


def _digits(call: exp.Anonymous, types: Types) -> str | None:
    """Of ``to_number``: as many digits as its format has."""
    text = (quoted_text(call.expressions[1]) or "").upper()
    whole, _, fraction = text.replace("D", ".").partition(".")
    before, after = (len(re.sub(r"[^09]", "", one)) for one in (whole, fraction))
    if not 0 < before + after <= DECIMAL_DIGITS_MAX:
        raise Objection(call, "to_number takes a format such as '999,999.99', of up to 38 digits")
    return decimal_type(before + after, after)


def _whole(call: exp.Anonymous, types: Types) -> str | None:
    digits = decimal_digits(types[0])
    if digits is None:
        return "bigint"
    precision, scale = digits
    return decimal_type(precision - scale + 1 if scale else precision, 0)


def _rounded(call: exp.Anonymous, types: Types) -> str | None:
    """Rounding keeps the type; of a decimal it keeps the places that are asked for."""
    digits = decimal_digits(types[0])
    if digits is None:
        return types[0]
    places = _places(call.expressions[1]) if len(call.expressions) > 1 else 0
    if places < 0:
        return None
    scale = min(digits[1], places)
    return decimal_type(min(digits[0] - digits[1] + 1 + scale, DECIMAL_DIGITS_MAX), scale)


def _places(node: exp.Expr) -> int:
    """Beyond what a decimal has, it does not matter how many are asked for."""
    text = sql_of(node)
    return int(text) if len(text) <= PLACES_LENGTH_MAX else (-1 if text.startswith("-") else 99)


def quoted_text(node: exp.Expr) -> str | None:
    """The text of a literal in quotes."""
    return str(node.name) if isinstance(node, exp.Literal) and node.is_string else None


_RULES: dict[str, Rule] = {
    "1": lambda _, types: types[0],
    "common": lambda _, types: common_of(types),
    "common_from_second": lambda _, types: common_of(types[1:]),
    "or_zero": lambda _, types: common_of([*types, "int"]),
    "whole": _whole,
    "round": _rounded,
    "digits": _digits,
    "part": _part,
    "schema": _of_schema,
    "named_type": _of_name,
    "array": _array,
    "sequence": _array,
    "repeated": lambda _, types: None if types[0] == VOID else f"array<{types[0]}>",
    "element": lambda _, types: element_type(types[0]),
    "map": _map,
    "keys": lambda _, types: f"array<{key_type(types[0])}>",
    "values": lambda _, types: f"array<{element_type(types[0])}>",
    "entries": _entries,
    "of_arrays": _of_arrays,
    "of_entries": _of_entries,
    "named": _named,
}
