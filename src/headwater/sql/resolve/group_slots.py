"""Expressions over records turned into expressions over groups.

After GROUP BY only keys, the window and aggregates are left of the records. An expression of the
SELECT list, of HAVING or of ORDER BY is therefore made of these: a part that equals a key becomes
that key's slot, an aggregate becomes the slot of its call, and a column that is neither is refused.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES
from headwater.algebra.aggregates.aggregate import Aggregate, UnfitArguments
from headwater.algebra.rows.types import WINDOW_TYPE
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import placed, sql_of
from headwater.sql.resolve.resolve_names import Names
from headwater.sql.tree.nodes import Call, Key
from headwater.sql.tree.slots import CALL, KEY, slot, slot_of, window_field
from headwater.sql.types.call_types import name_of
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.refused_nodes import brief


class GroupSlots:
    """Collects the aggregate calls of one stream while its expressions are turned."""

    def __init__(self, keys: tuple[Key, ...], names: Names) -> None:
        self._keys = keys
        self._names = names
        self._key_index = {_text(key.expression): index for index, key in enumerate(keys)}
        self._call_index: dict[str, int] = {}
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._calls)

    def slotted(self, expression: exp.Expr) -> exp.Expr:
        """A new tree over slots and the window. Raises ``Objection``."""
        return expression.transform(self._slot)

    def type_of(self, expression: exp.Expr) -> str:
        """The type of an expression over slots."""
        return type_of(expression, self._slot_type)

    def _slot(self, node: exp.Expr) -> exp.Expr:
        if window_field(node) is not None:
            return node
        index = self._key_index.get(_text(node))
        if index is not None:
            return placed(slot(KEY, index), node)
        if is_aggregate(node):
            return placed(slot(CALL, self._call(node)), node)
        if isinstance(node, exp.Column):
            raise Objection(
                node,
                f"column `{node.name}` is neither in GROUP BY nor inside an aggregate; add it to "
                f"GROUP BY, or write max({node.name})",
            )
        return node

    def _call(self, node: exp.Expr) -> int:
        text = sql_of(node)
        if text not in self._call_index:
            self._call_index[text] = len(self._calls)
            self._calls.append(self._read_call(node))
        return self._call_index[text]

    def _read_call(self, node: Any) -> Call:
        call: exp.Anonymous = node.this if isinstance(node, exp.Filter) else node
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        aggregate = AGGREGATES[name_of(call)]
        inner = [*call.expressions, *([] if condition is None else [condition])]
        for part in (part for one in inner for part in one.walk() if is_aggregate(part)):
            raise Objection(
                part,
                f"`{brief(part)}` is an aggregate within an aggregate; write one stream that "
                "aggregates once",
            )
        if condition is not None and type_of(condition, self._names.type_of) != "boolean":
            raise Objection(condition, "FILTER (WHERE …) takes a condition (boolean)")
        types = self._argument_types(call, aggregate)
        try:
            split = aggregate.split(types)
        except UnfitArguments as error:
            raise Objection(call, str(error)) from error
        return Call(aggregate, tuple(call.expressions), condition, split)

    def _argument_types(self, call: exp.Anonymous, aggregate: Aggregate) -> tuple[str, ...]:
        arguments = call.expressions
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            if not aggregate.takes_star:
                raise Objection(call, f"{aggregate.name}(*) does not exist; only count(*) does")
            return ()
        if not arguments:
            raise Objection(call, f"{aggregate.name}() wants an argument")
        if isinstance(arguments[0], exp.Distinct):
            raise Objection(
                call,
                f"{aggregate.name}(DISTINCT …) needs all values in one place; GROUP BY the column "
                "as well, and each distinct value is a row of the answer",
            )
        return tuple(type_of(argument, self._names.type_of) for argument in arguments)

    def _slot_type(self, node: exp.Column) -> str:
        found = slot_of(node)
        if found is None:
            return "timestamp" if window_field(node) else WINDOW_TYPE
        kind, index = found
        assert kind in (KEY, CALL)
        return self._keys[index].type if kind == KEY else self._calls[index].split.type


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter):
        return is_aggregate(node.this)
    return isinstance(node, exp.Anonymous) and name_of(node) in AGGREGATES


def check_no_aggregate(tree: exp.Expr, message: str) -> None:
    for part in tree.walk():
        if is_aggregate(part):
            raise Objection(part, message)


def _text(node: exp.Expr) -> str:
    return sql_of(node.unnest())
