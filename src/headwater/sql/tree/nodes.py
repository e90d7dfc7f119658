"""A stream's SELECT with every name resolved and every type known, before it is split.

A question speaks of records where records are (``where``, keys, arguments of aggregates), and of
slots where only the groups are left (items, having, order). A slot stands for the n-th key or the
n-th aggregate call, so the same item can be written over records, over merged partials, or over
anything else that can fill the slots.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates.aggregate import Aggregate, Split
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.source import Source
from headwater.sql.read.sql_text import column, sql_of

KEY = "#key"
CALL = "#call"
"""Slots are columns of tables that no text can name."""


class Key(msgspec.Struct, frozen=True):
    """What rows are grouped by, beside the window."""

    name: str
    expression: exp.Expr
    """Over the source's columns."""
    type: str


class Call(msgspec.Struct, frozen=True):
    """One aggregate over records, with how it is split."""

    aggregate: Aggregate
    arguments: tuple[exp.Expr, ...]
    """Over the source's columns; a star for ``count(*)``."""
    condition: exp.Expr | None
    """Of its FILTER clause."""
    split: Split

    def sql(self, template: str) -> str:
        """SQL of the aggregate's, with this call's arguments and FILTER clause."""
        arguments = ", ".join(sql_of(argument) for argument in self.arguments)
        condition = self.condition
        kept = "" if condition is None else f" FILTER(WHERE {sql_of(condition)})"
        return template.format(x=arguments, filter=kept)


class Item(msgspec.Struct, frozen=True):
    """One column of the answer."""

    name: str
    expression: exp.Expr
    """Over slots and the window."""
    type: str


class Order(msgspec.Struct, frozen=True):
    expression: exp.Expr
    """Over slots and the window."""
    written: exp.Expr
    """As the user wrote it, for the reference."""
    direction: str
    """What follows the expression: ``DESC``, ``NULLS LAST``, both or nothing."""


class Question(msgspec.Struct, frozen=True):
    source: Source
    window: WindowSpec
    where: exp.Expr | None
    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    items: tuple[Item, ...]
    having: exp.Expr | None
    order: tuple[Order, ...]
    limit: int | None


def key_slot(index: int) -> exp.Column:
    return column(str(index), KEY)


def call_slot(index: int) -> exp.Column:
    return column(str(index), CALL)


def slot_of(node: exp.Expr) -> tuple[str, int] | None:
    """(KEY or CALL, its index) for a slot."""
    if isinstance(node, exp.Column) and node.table in (KEY, CALL):
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
        slot = slot_of(node)
        if slot is None:
            return node
        value = fill(*slot)
        return exp.Paren(this=value) if isinstance(value, exp.Binary) else value

    alone = slot_of(expression)
    return fill(*alone) if alone is not None else expression.transform(replace)
