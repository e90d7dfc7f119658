"""The type of a call of a listed function, and what to say of one that is not listed."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, decimal_digits, decimal_type
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS, KINDS, Function, takes
from headwater.sql.types.refused_functions import advice
from headwater.sql.types.type_rules import VOID, arithmetic_type, can_cast, common_type

PLACES_LENGTH_MAX = 10


def call_type(call: exp.Anonymous, types: Sequence[str]) -> str:
    """From the types of its arguments. Raises ``Objection``."""
    name = name_of(call)
    if name in CAST_FUNCTIONS and len(types) == 1:
        if not can_cast(types[0], name):
            raise Objection(call, f"Spark has no CAST from {types[0]} to {name}")
        return name
    function = FUNCTIONS.get(name)
    if function is None:
        raise Objection(call, not_available(name))
    _check_arguments(call, function, types)
    return _result(call, function, types)


def is_integer_literal(node: exp.Expr) -> bool:
    literal = node.this if isinstance(node, exp.Neg) else node
    return isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal()


def name_of(call: exp.Anonymous) -> str:
    """The function's name in lower case; a quoted name is no function."""
    return call.this.lower() if isinstance(call.this, str) else ""


def not_available(name: str) -> str:
    """Why a function is not available, and what is near it."""
    if name in AGGREGATES:
        return f"{name} is an aggregate, which can't stand here"
    refused = advice(name)
    if refused is not None:
        return refused
    near = get_close_matches(name[:60], [*FUNCTIONS, *AGGREGATES], n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    aggregates = ", ".join(AGGREGATES)
    return f"function `{name[:60]}` is not available{hint} (aggregates: {aggregates})"


def _check_arguments(call: exp.Anonymous, function: Function, types: Sequence[str]) -> None:
    if not function.takes_count(len(types)):
        raise Objection(call, f"wanted {function}, got {len(types)} arguments")
    for position, found in enumerate(types):
        kind = function.kind_of(position)
        is_fit = takes(kind, found)
        if kind == "literal":
            is_fit = is_integer_literal(call.expressions[position])
        if not is_fit:
            raise Objection(
                call,
                f"{function.name} takes {KINDS[kind][0]} as argument {position + 1}, got {found}; "
                "write a CAST",
            )


def _result(call: exp.Anonymous, function: Function, types: Sequence[str]) -> str:
    rule = function.result.removeprefix("$")
    if rule == function.result:
        return rule
    match rule:
        case "1":
            found: str | None = types[0]
        case "common":
            found = _common(types)
        case "common_from_second":
            found = _common(types[1:])
        case "whole":
            found = _whole(types[0])
        case "round":
            found = _rounded(types[0], call)
        case operator:
            found = arithmetic_type(operator, types[0], types[1])
    if found is None or found == VOID:
        got = ", ".join(types)
        raise Objection(call, f"the type of {function.name}({got}) is not known; write a CAST")
    return found


def _common(types: Sequence[str]) -> str | None:
    found: str | None = VOID
    for type_name in types:
        found = common_type(found, type_name) if found is not None else None
    return found


def _whole(type_name: str) -> str:
    digits = decimal_digits(type_name)
    if digits is None:
        return "bigint"
    precision, scale = digits
    return decimal_type(precision - scale + 1 if scale else precision, 0)


def _rounded(type_name: str, call: exp.Anonymous) -> str | None:
    """Rounding keeps the type; of a decimal it keeps the places that are asked for."""
    digits = decimal_digits(type_name)
    if digits is None:
        return type_name
    places = _places(call.expressions[1]) if len(call.expressions) > 1 else 0
    if places < 0:
        return None
    scale = min(digits[1], places)
    return decimal_type(min(digits[0] - digits[1] + 1 + scale, DECIMAL_DIGITS_MAX), scale)


def _places(node: exp.Expr) -> int:
    """Beyond what a decimal has, it does not matter how many are asked for."""
    text = sql_of(node)
    return int(text) if len(text) <= PLACES_LENGTH_MAX else (-1 if text.startswith("-") else 99)
