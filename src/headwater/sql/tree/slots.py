"""Slots: each stands for the n-th key or the n-th aggregate call of a grouping, or for the number
of its grouping set, so an item can be
written over records, over merged partials, or over anything else that can fill the slots."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.sql_text import column

KEY = "#key"
CALL = "#call"
NUMBER = "#number"
"""Slots are columns of tables that no text can name."""


def slot(kind: str, index: int) -> exp.Column:
    return column(str(index), kind)


def slot_of(node: exp.Expr) -> tuple[str, int] | None:
    """(KEY, CALL or NUMBER, its index) for a slot."""
    if isinstance(node, exp.Column) and node.table in (KEY, CALL, NUMBER):
        return node.table, int(node.name)
    return None


def window_field(node: exp.Expr) -> str | None:
    """``start`` or ``end`` for a field of the window, ``""`` for the window itself."""
    if not isinstance(node, exp.Column):
        return None
    if node.table == WINDOW_COLUMN:
        return node.name
    return "" if not node.table and node.name == WINDOW_COLUMN else None


def filled(expression: exp.Expr, fill: Callable[[str, int], exp.Expr]) -> exp.Expr:
    """The expression with each slot replaced, in brackets where operators are around it."""

    def replace(node: exp.Expr) -> exp.Expr:
        found = slot_of(node)
        if found is None:
            return node
        value = fill(*found)
        return exp.Paren(this=value) if isinstance(value, exp.Binary) else value

    alone = slot_of(expression)
    return fill(*alone) if alone is not None else expression.transform(replace)
