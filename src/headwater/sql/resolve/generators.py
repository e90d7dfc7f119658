"""Functions that make several records of one: ``LATERAL VIEW explode(…) AS word``.

What a site part reads is ``records``, expanded; the time of a record is that of all that is made of
it. A generator is called by a view and nowhere else; ``explode`` in a SELECT list is such a view.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.nested_types import element_type, field_types, key_type
from headwater.sql.read.objection import Objection
from headwater.sql.types.call_types import name_of
from headwater.sql.types.declared_types import value_type

GENERATORS = ("explode", "posexplode", "inline")
OUTER = "_outer"
"""Of ``explode_outer`` and its like: a record of which nothing is made stays, with NULL."""
VIEWS_MAX = 8
EXAMPLE = "LATERAL VIEW explode(split(line, ' ')) AS word"


def is_generator(node: exp.Expr | None) -> bool:
    name = name_of(node).removesuffix(OUTER) if isinstance(node, exp.Anonymous) else ""
    return name in GENERATORS


def generated(call: exp.Expr, names: list[str], type_of: Callable[[exp.Expr], str]) -> list[Column]:
    """The columns that a call makes, under these names, or Spark's own. Raises ``Objection``."""
    if not isinstance(call, exp.Anonymous) or not is_generator(call):
        raise Objection(call, f"LATERAL VIEW takes {', '.join(GENERATORS)}, as in {EXAMPLE}")
    if len(call.expressions) != 1:
        raise Objection(call, f"{name_of(call)} takes one array or map, as in {EXAMPLE}")
    made = _made(call, type_of(call.expressions[0]))
    if names and len(names) != len(made):
        own = ", ".join(name for name, _ in made)
        raise Objection(
            call, f"{name_of(call)} makes {len(made)} columns ({own}), got {len(names)} names"
        )
    given = names or [name for name, _ in made]
    return [Column(name, value_type(type_)) for name, (_, type_) in zip(given, made, strict=True)]


def _made(call: exp.Anonymous, found: str) -> list[tuple[str, str]]:
    """With the names that Spark gives."""
    name, element = name_of(call).removesuffix(OUTER), element_type(found)
    if name == "inline":
        fields = field_types(element or "") if found.startswith("array<") else {}
        if not fields:
            raise Objection(call, f"inline takes an array of structs, got {found}")
        return list(fields.items())
    if element is None:
        raise Objection(call, f"{name} takes an array or a map, got {found}; as in {EXAMPLE}")
    key = key_type(found)
    made = [("col", element)] if key is None else [("key", key), ("value", element)]
    return [("pos", "int"), *made] if name == "posexplode" else made
