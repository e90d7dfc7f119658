"""Which values are never negative, as far as that can be seen without any data."""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.tree.items import Call
from headwater.sql.types.call_types import name_of

_NAMES = ("abs", "length", "char_length", "octet_length", "bit_length", "bit_count")


def is_sure(call: Call) -> bool:
    """That no value of an aggregate is."""
    return call.aggregate.is_count or all(map(is_never_negative, call.arguments))


def is_never_negative(node: exp.Expr) -> bool:
    """
    >>> is_never_negative(exp.Literal.number(5)), is_never_negative(exp.column("x"))
    (True, False)
    """
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return is_never_negative(node.this)
    if isinstance(node, exp.Add | exp.Mul | exp.Div):
        return is_never_negative(node.left) and is_never_negative(node.right)
    if not isinstance(node, exp.Anonymous):
        return False
    name = name_of(node)
    if name == "greatest":  # it passes over NULL, and what is left may be negative
        return any(is_never_negative(one) and _is_never_null(one) for one in node.expressions)
    return name in _NAMES or (name == "coalesce" and all(map(is_never_negative, node.expressions)))


def _is_never_null(node: exp.Expr) -> bool:
    """As far as it can be seen without any data."""
    if isinstance(node, exp.Paren):
        return _is_never_null(node.this)
    is_coalesce = isinstance(node, exp.Anonymous) and name_of(node) == "coalesce"
    return isinstance(node, exp.Literal) or (
        is_coalesce and any(map(_is_never_null, node.expressions))
    )
