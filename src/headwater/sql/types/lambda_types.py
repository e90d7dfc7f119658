"""Functions that take a lambda, as in ``transform(tags, t -> upper(t))``: what its variables are,
what it has to yield, and what comes out.

A form says for each argument what it is: ``array``, ``map``, ``any``, or a lambda by the types of
its variables. In these ``e`` is the element of the array, ``f`` that of the second, ``k`` and ``v``
are key and value of the map, ``w`` the value of the second, ``s`` the type of the start, ``i`` a
position. A variable in brackets may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from sqlglot import exp

from headwater.algebra.rows.nested_types import element_type, has_map, key_type
from headwater.sql.read.objection import Objection
from headwater.sql.types.type_rules import VOID

DEPTH_MAX = 2
"""Of lambdas within lambdas: each goes through an array for each element of another."""

TypeOf = Callable[[exp.Expr], str]
TypeWithin = Callable[[exp.Expr, Mapping[str, str]], str]
"""The type of an expression in which some names are variables of these types."""


class Form(msgspec.Struct, frozen=True):
    example: str
    arguments: tuple[str, ...]
    """``array``, ``map``, ``any``, or ``e [i]`` and its kind for a lambda."""
    result: str
    """Of ``{0}``, ``{1}``, … the types of the arguments; of a lambda what it yields. Or a type."""
    wants: Mapping[int, str] = {}
    """What a lambda has to yield: a type, or ``s``."""
    optional: int = 0
    """Arguments at the end that may be left out."""


FORMS: dict[str, Form] = {
    "transform": Form("transform(xs, x -> x * 2)", ("array", "e [i]"), "array<{1}>"),
    "filter": Form("filter(xs, x -> x > 0)", ("array", "e [i]"), "{0}", {1: "boolean"}),
    "exists": Form("exists(xs, x -> x > 0)", ("array", "e"), "boolean", {1: "boolean"}),
    "forall": Form("forall(xs, x -> x > 0)", ("array", "e"), "boolean", {1: "boolean"}),
    "aggregate": Form(
        "aggregate(xs, 0D, (sum, x) -> sum + x)", ("array", "any", "s e", "s"), "{3}", {2: "s"}, 1
    ),
    "array_sort": Form(
        "array_sort(xs, (a, b) -> CASE WHEN a < b THEN -1 WHEN a > b THEN 1 ELSE 0 END)",
        ("array", "e e"),
        "{0}",
        {1: "int"},
    ),
    "zip_with": Form("zip_with(xs, ys, (x, y) -> x + y)", ("array", "array", "e f"), "array<{2}>"),
    "map_filter": Form("map_filter(m, (k, v) -> v > 0)", ("map", "k v"), "{0}", {1: "boolean"}),
    "transform_keys": Form("transform_keys(m, (k, v) -> upper(k))", ("map", "k v"), "map<{1},v>"),
    "transform_values": Form("transform_values(m, (k, v) -> v * 2)", ("map", "k v"), "map<k,{1}>"),
    "map_zip_with": Form(
        "map_zip_with(m, n, (k, v, w) -> v + w)", ("map", "map", "k v w"), "map<k,{2}>"
    ),
}
FORMS["reduce"] = FORMS["aggregate"]
ANY = ("array", "map", "any")


def takes_lambda(call: exp.Anonymous) -> bool:
    """Whether this is a call with a lambda, or one that can't do without."""
    name = str(call.this).lower()
    has_one = any(isinstance(argument, exp.Lambda) for argument in call.expressions)
    return has_one or (name in FORMS and name != "array_sort")


def lambda_call_type(call: exp.Anonymous, type_of: TypeOf, type_within: TypeWithin) -> str:
    """Raises ``Objection``."""
    name = str(call.this).lower()
    form = FORMS.get(name)
    if form is None:
        known = ", ".join(FORMS)
        raise Objection(call, f"{name[:60]} takes no lambda; functions that do: {known}")
    _check_arguments(call, form)
    types: list[str] = []
    for argument, kind in zip(call.expressions, form.arguments, strict=False):
        if kind in ANY:
            types.append(_value(call, form, kind, type_of(argument)))
            continue
        variables = _variables(argument, kind, types)
        types.append(type_within(argument.this, variables))
        _check_yield(call, form, len(types) - 1, types)
    return _result(call, form, types)


def _check_arguments(call: exp.Anonymous, form: Form) -> None:
    """Lambdas where they belong, with as many variables as they have."""
    count = len(call.expressions)
    is_fit = len(form.arguments) - form.optional <= count <= len(form.arguments)
    for argument, kind in zip(call.expressions, form.arguments, strict=False):
        is_lambda = isinstance(argument, exp.Lambda)
        names = kind.split()
        most, least = len(names), sum(not name.startswith("[") for name in names)
        is_fit &= is_lambda == (kind not in ANY)
        is_fit &= not is_lambda or least <= len(argument.expressions) <= most
    if not is_fit:
        raise Objection(call, f"wanted it as in {form.example}")


def _value(call: exp.Anonymous, form: Form, kind: str, found: str) -> str:
    if (kind == "array" and not found.startswith("array<")) or (
        kind == "map" and not found.startswith("map<")
    ):
        raise Objection(call, f"wanted an {kind}, as in {form.example}, got {found}")
    if found == VOID:
        raise Objection(call, f"NULL has no type here; write a CAST, in {form.example}")
    return found


def _variables(node: exp.Expr, kind: str, types: Sequence[str]) -> dict[str, str]:
    """The types of a lambda's variables by their names."""
    known = _letters(types)
    names = [variable.name for variable in node.expressions]
    if len({name.lower() for name in names}) != len(names):
        raise Objection(node, "two variables of one name; give one of them another")
    letters = [letter.strip("[]") for letter in kind.split()]
    return {name: known[letter] for name, letter in zip(names, letters, strict=False)}


def _letters(types: Sequence[str]) -> dict[str, str]:
    first = types[0]
    second = types[1] if len(types) > 1 else ""
    return {
        "e": element_type(first) or "",
        "f": element_type(second) or "",
        "k": key_type(first) or "",
        "v": element_type(first) or "",
        "w": element_type(second) or "",
        "s": second,
        "i": "int",
    }


def _check_yield(call: exp.Anonymous, form: Form, at: int, types: Sequence[str]) -> None:
    wanted = form.wants.get(at)
    if wanted is None:
        return
    wanted = _letters(types).get(wanted, wanted)
    if types[at] not in (wanted, VOID):
        raise Objection(
            call,
            f"this lambda has to yield {wanted}, and yields {types[at]}; write a CAST, as in "
            f"{form.example}",
        )


def _result(call: exp.Anonymous, form: Form, types: Sequence[str]) -> str:
    filled = [*types, *types[1:2]]  # without a last lambda, aggregate yields what it began with
    letters = _letters(types)
    text = form.result
    for letter in ("k", "v"):
        text = text.replace(f"map<{letter},", f"map<{letters[letter]},")
        text = text.replace(f",{letter}>", f",{letters[letter]}>")
    found = text.format(*filled)
    key = key_type(found)
    if VOID in types or (key is not None and has_map(key)):
        raise Objection(call, f"this lambda yields NULL or a map as a key; wanted {form.example}")
    return found
