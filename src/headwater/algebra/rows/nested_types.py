"""Nested types as text: ``array<…>``, ``map<key,value>`` and ``struct<name:type,…>``, taken apart
and put together.

>>> element_type("array<struct<a:int,`b c`:string>>")
'struct<a:int,`b c`:string>'
>>> field_types("struct<a:int,`b c`:map<string,double>>")
{'a': 'int', 'b c': 'map<string,double>'}
>>> key_type("map<int,string>"), element_type("map<int,string>"), element_type("int")
('int', 'string', None)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*:?\s*(.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_nested(type_: str) -> bool:
    return type_.startswith(("array<", "map<", "struct<"))


def element_type(type_: str) -> str | None:
    """Of an array's elements or a map's values."""
    match = re.fullmatch(r"(array|map)<(.*)>", type_)
    return None if match is None else list(split_types(match[2]))[-1]


def key_type(type_: str) -> str | None:
    """Of a map."""
    match = re.fullmatch(r"map<(.*)>", type_)
    return None if match is None else next(split_types(match[1]))


def field_types(type_: str) -> dict[str, str]:
    """Of a struct, by name."""
    match = re.fullmatch(r"struct<(.*)>", type_)
    fields = [field_of(part) for part in split_types(match[1])] if match is not None else []
    return {field[0]: field[1] for field in fields if field is not None}


def field_of(text: str) -> tuple[str, str] | None:
    """(name, type) of one field, with or without a colon between them."""
    match = _FIELD.fullmatch(text)
    if match is None:
        return None
    return (match[1] or "").replace("``", "`") or match[2], match[3]


def split_types(text: str) -> Iterator[str]:
    """At the commas that stand in no brackets."""
    depth, part, in_name = 0, "", False
    for symbol in text:
        in_name ^= symbol == "`"
        if not in_name:
            depth += (symbol in "<(") - (symbol in ">)")
        if symbol == "," and not depth and not in_name:
            yield part
            part = ""
        else:
            part += symbol
    yield part


def plain_name(name: str) -> str:
    """As a field's name is written: in backticks if it is no word."""
    return name if _WORD.fullmatch(name) else f"`{name.replace('`', '``')}`"


def struct_type(fields: dict[str, str], written: Callable[[str], str] = plain_name) -> str:
    """
    >>> struct_type({"a": "int", "b c": "date"})
    'struct<a:int,`b c`:date>'
    """
    return f"struct<{','.join(f'{written(name)}:{type_}' for name, type_ in fields.items())}>"


def leaf_types(type_: str) -> Iterator[str]:
    """The types that a type is made of, which are not nested.

    >>> list(leaf_types("map<string,struct<a:int,b:array<date>>>"))
    ['string', 'int', 'date']
    """
    if not is_nested(type_):
        yield type_
        return
    key, element = key_type(type_), element_type(type_)
    below = [one for one in (key, element) if one is not None] or field_types(type_).values()
    for one in below:
        yield from leaf_types(one)


def has_map(type_: str) -> bool:
    """Maps have no order, and Spark neither groups nor compares them."""
    if key_type(type_) is not None:
        return True
    element = element_type(type_)
    below = [element] if element is not None else field_types(type_).values()
    return any(has_map(one) for one in below)
