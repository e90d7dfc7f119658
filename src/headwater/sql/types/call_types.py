"""The type of a call of a listed function, and what to say of one that is not listed."""

from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.sql.read.objection import Objection
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS, KINDS, Function, takes
from headwater.sql.types.lambda_types import FORMS
from headwater.sql.types.refused_functions import advice
from headwater.sql.types.result_types import quoted_text, result_type
from headwater.sql.types.type_rules import VOID, can_cast


def call_type(call: exp.Anonymous, types: Sequence[str]) -> str:
    """From the types of its arguments. Raises ``Objection``."""
    name = name_of(call)
    if name in CAST_FUNCTIONS and len(types) == 1:
        if not can_cast(types[0], name):
            raise Objection(call, f"Spark has no CAST from {types[0]} to {name}")
        return name
    forms = FUNCTIONS.get(name)
    if forms is None:
        raise Objection(call, not_available(name))
    return _result(call, _form(call, forms, types), types)


def is_integer_literal(node: exp.Expr) -> bool:
    literal = node.this if isinstance(node, exp.Neg) else node
    return isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal()


def name_of(call: exp.Anonymous) -> str:
    """The function's name in lower case; a quoted name is no function."""
    return call.this.lower() if isinstance(call.this, str) else ""


def not_available(name: str) -> str:
    """Why a function is not available, and what is near it."""
    if name in ("site", "region", "label"):
        return f"{name} stands in GROUP BY alone, as site(), region() or label('tier')"
    if name in AGGREGATES:
        return f"{name} is an aggregate, which can't stand here"
    refused = advice(name)
    if refused is not None:
        return refused
    near = get_close_matches(name[:60], [*FUNCTIONS, *FORMS, *AGGREGATES], n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    aggregates = ", ".join(AGGREGATES)
    return f"function `{name[:60]}` is not available{hint} (aggregates: {aggregates})"


def _form(call: exp.Anonymous, forms: Sequence[Function], types: Sequence[str]) -> Function:
    """The first that the arguments fit. Raises ``Objection``."""
    counted = [form for form in forms if form.takes_count(len(types))]
    if not counted:
        wanted = " or ".join(map(str, forms))
        raise Objection(call, f"wanted {wanted}, got {len(types)} arguments")
    for form in counted:
        if _misfit(call, form, types) is None:
            return form
    if len(counted) > 1:
        wanted, got = " or ".join(map(str, counted)), ", ".join(types)
        raise Objection(call, f"wanted {wanted}, got {got}; write a CAST")
    position = _misfit(call, counted[0], types) or 0
    kind = counted[0].kind_of(position)
    raise Objection(
        call,
        f"{counted[0].name} takes {KINDS[kind][0]} as argument {position + 1}, got "
        f"{types[position]}; write a CAST",
    )


def _misfit(call: exp.Anonymous, form: Function, types: Sequence[str]) -> int | None:
    """The first argument that is not of its kind; None: all are."""
    for position, found in enumerate(types):
        kind, node = form.kind_of(position), call.expressions[position]
        is_fit = takes(kind, found, types[0])
        if kind == "literal":
            is_fit = is_integer_literal(node)
        elif kind == "quoted":
            is_fit = quoted_text(node) is not None
        elif kind == "flag":
            is_fit = isinstance(node, exp.Boolean)
        if not is_fit:
            return position
    return None


def _result(call: exp.Anonymous, function: Function, types: Sequence[str]) -> str:
    if not function.result.startswith("$"):
        return function.result
    found = result_type(function.result.removeprefix("$"), call, types)
    if found is None or found == VOID:
        got = ", ".join(types)
        raise Objection(call, f"the type of {function.name}({got}) is not known; write a CAST")
    return found
