"""The type of a number or a text as it is written, as Spark reads it."""

from __future__ import annotations

from sqlglot import exp

from headwater.algebra.rows.types import BIGINT_MAX, DECIMAL_DIGITS_MAX, decimal_type
from headwater.sql.read.objection import Objection

INT_MAX = (1 << 31) - 1


def literal_type(node: exp.Literal) -> str:
    """
    >>> [literal_type(exp.Literal.number(n)) for n in ("7", "3000000000", "0.05", "1e3")]
    ['int', 'bigint', 'decimal(2,2)', 'double']
    """
    if node.is_string:
        return "string"
    text = node.name.lower()
    if "e" in text:
        return "double"
    whole, _, fraction = text.partition(".")
    if not (whole + fraction).isdecimal():
        raise Objection(node, f"`{node.name[:40]}` is not a number")
    if "." not in text and len(whole.lstrip("0")) <= len(str(BIGINT_MAX)):
        number = int(whole.lstrip("0") or "0")  # Python refuses to read thousands of digits
        if number <= BIGINT_MAX:
            return "int" if number <= INT_MAX else "bigint"
    precision = max(len((whole + fraction).lstrip("0")), len(fraction), 1)
    if precision > DECIMAL_DIGITS_MAX:
        raise Objection(node, f"a number has at most {DECIMAL_DIGITS_MAX} digits")
    return decimal_type(precision, len(fraction))
