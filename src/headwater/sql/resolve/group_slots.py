"""Expressions over records turned into expressions over groups.

After GROUP BY only keys, the window and aggregates are left of the records. An expression of the
SELECT list, of HAVING or of ORDER BY is therefore made of these: a part that equals a key becomes
that key's slot, an aggregate becomes the slot of its call, and a column that is neither is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headwater.algebra.aggregates import AGGREGATES, DISTINCT
from headwater.algebra.aggregates.aggregate import Aggregate, UnfitArguments
from headwater.algebra.rows.types import NUMBERS_TYPE, WINDOW_TYPE
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import parse_expression, placed, sql_of
from headwater.sql.resolve.resolve_names import Names
from headwater.sql.tree.grouping_sets import GROUPING_ID, GROUPING_OF
from headwater.sql.tree.items import Call, Key
from headwater.sql.tree.slots import CALL, KEY, NUMBER, slot, slot_of, window_field
from headwater.sql.types.call_types import name_of
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.place_functions import ONLY_KEYS, is_place
from headwater.sql.types.refused_nodes import brief


class GroupSlots:
    """Collects the aggregate calls of one stream while its expressions are turned."""

    def __init__(
        self,
        keys: tuple[Key, ...],
        names: Names,
        *,
        has_sets: bool = False,
        of_numbers: bool = False,
    ) -> None:
        """``of_numbers``: the start and the end of a window are."""
        self._keys = keys
        self._has_sets = has_sets
        self._of_numbers = of_numbers
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
        if is_place(node):
            raise Objection(node, ONLY_KEYS)
        if _is_of_set(node):
            return placed(self._of_set(node), node)
        if isinstance(node, exp.Column):
            raise Objection(
                node,
                f"column `{node.name}` is neither in GROUP BY nor inside an aggregate; add it to "
                f"GROUP BY, or write max({node.name})",
            )
        return node

    def _of_set(self, node: Any) -> exp.Expr:
        """The number of a group's set, or the bit of one key in it."""
        name, columns = name_of(node), [_text(one) for one in node.expressions]
        if not self._has_sets:
            raise Objection(node, f"{name} belongs to ROLLUP, CUBE and GROUPING SETS")
        keys = list(self._key_index)
        if name == GROUPING_ID:
            if columns and columns != keys:
                raise Objection(
                    node,
                    f"grouping_id counts all columns of GROUP BY, {', '.join(keys)[:100]}; write "
                    "grouping_id()",
                )
            return slot(NUMBER, 0)
        if len(columns) != 1 or columns[0] not in keys:
            raise Objection(node, f"grouping takes one of {', '.join(keys)[:100]}")
        place = len(keys) - 1 - keys.index(columns[0])
        bit = parse_expression(f"CAST(SHIFTRIGHT(x, {place}) & 1 AS TINYINT)")
        return bit.transform(lambda one: slot(NUMBER, 0) if isinstance(one, exp.Column) else one)

    def _call(self, node: exp.Expr) -> int:
        text = sql_of(node)
        if text not in self._call_index:
            self._call_index[text] = len(self._calls)
            self._calls.append(self._read_call(node))
        return self._call_index[text]

    def _read_call(self, node: Any) -> Call:
        call: exp.Anonymous = node.this if isinstance(node, exp.Filter) else node
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        aggregate, arguments = _called(call)
        inner = [*arguments, *([] if condition is None else [condition])]
        for part in (part for one in inner for part in one.walk() if is_aggregate(part)):
            raise Objection(
                part,
                f"`{brief(part)}` is an aggregate within an aggregate; write one stream that "
                "aggregates once",
            )
        if condition is not None and type_of(condition, self._names.type_of) != "boolean":
            raise Objection(condition, "FILTER (WHERE …) takes a condition (boolean)")
        types = self._argument_types(call, aggregate, arguments)
        try:
            split = aggregate.split(types)
        except UnfitArguments as error:
            raise Objection(call, str(error)) from error
        return Call(aggregate, tuple(arguments), condition, split)

    def _argument_types(
        self, call: exp.Anonymous, aggregate: Aggregate, arguments: Sequence[exp.Expr]
    ) -> tuple[str, ...]:
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            if isinstance(call.expressions[0], exp.Distinct):
                raise Objection(
                    call,
                    f"{name_of(call)}(DISTINCT *) is not available; write the columns, as in "
                    "count(DISTINCT a, b)",
                )
            if not aggregate.takes_star:
                raise Objection(call, f"{aggregate.name}(*) does not exist; only count(*) does")
            return ()
        if not arguments:
            raise Objection(call, f"{aggregate.name}() wants an argument")
        return tuple(
            sql_of(argument)
            if aggregate.takes_literal(position)
            else type_of(argument, self._names.type_of)
            for position, argument in enumerate(arguments)
        )

    def _slot_type(self, node: exp.Column) -> str:
        found = slot_of(node)
        if found is None:
            if self._of_numbers:
                return "bigint" if window_field(node) else NUMBERS_TYPE
            return "timestamp" if window_field(node) else WINDOW_TYPE
        kind, index = found
        if kind == NUMBER:
            return "bigint"
        assert kind in (KEY, CALL)
        return self._keys[index].type if kind == KEY else self._calls[index].split.type


def _called(call: exp.Anonymous) -> tuple[Aggregate, list[exp.Expr]]:
    """The aggregate, by its name and whether it is of distinct values, and what it is over."""
    arguments, name = call.expressions, name_of(call)
    if not arguments or not isinstance(arguments[0], exp.Distinct):
        return AGGREGATES[name], arguments
    once = AGGREGATES[name].once
    if once:
        raise Objection(call, f"{name}(DISTINCT …) is not available; write {once}(x)")
    if name not in DISTINCT:
        raise Objection(
            call, f"{name}(DISTINCT …) is not available; DISTINCT goes with {', '.join(DISTINCT)}"
        )
    return DISTINCT[name], arguments[0].expressions


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter):
        return is_aggregate(node.this)
    return isinstance(node, exp.Anonymous) and name_of(node) in AGGREGATES


def check_no_aggregate(tree: exp.Expr, message: str) -> None:
    for part in tree.walk():
        if is_aggregate(part) or _is_of_set(part):
            raise Objection(part, message)


def _is_of_set(node: exp.Expr) -> bool:
    """Asks for a group's grouping set."""
    return isinstance(node, exp.Anonymous) and name_of(node) in (GROUPING_ID, GROUPING_OF)


def _text(node: exp.Expr) -> str:
    return sql_of(node.unnest())
