"""A stream's SELECT, from the tree that sqlglot reads to a tree of our own nodes.

The order of the steps is the order in which SQL gives names a meaning: FROM, GROUP BY (with the
window), WHERE, the SELECT list, HAVING, ORDER BY, LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.sources import RESERVED_PREFIX
from headwater.sql.read.sql_text import column, placed, sql_of
from headwater.sql.resolve.find_window import find_window, is_window_call, read_window
from headwater.sql.resolve.group_slots import GroupSlots, check_no_aggregate
from headwater.sql.resolve.name_items import item_name
from headwater.sql.resolve.resolve_names import Names
from headwater.sql.tree.nodes import Grouped, Item, Kept, Key, Node, Ordered, Records, Shown, Term
from headwater.sql.tree.slots import window_field
from headwater.sql.types.expression_types import type_of

ITEMS_MAX = 500
KEYS_MAX = 100
LIMIT_MAX = 1_000_000


class _Written(msgspec.Struct, frozen=True):
    """One element of the SELECT list."""

    name: str
    expression: exp.Expr
    """As it was written."""
    resolved: exp.Expr
    """Over the source's columns and the window."""


def resolve_select(select: exp.Select, source: Source) -> Node:
    """``select`` has passed ``check_shape``. Raises ``Objection``."""
    table = select.args["from_"].this
    alias = table.alias or table.name
    names = Names(source, alias)
    groups = _groups(select)
    window = find_window(groups, source, at=select.args.get("group") or select)
    for call in select.find_all(exp.Anonymous):
        if is_window_call(call) and read_window(call, source) != window:
            raise Objection(call, "another window than the one in GROUP BY; write window.start")
    _check_groups(groups)
    written = _written(select, names)
    keys = _keys(groups, written, names)
    slots = GroupSlots(keys, names)
    items = tuple(_item(one, slots) for one in written if not _is_window(one))
    if not items:
        raise Objection(select, "the answer has no columns beside the window; add count(*)")
    records = _where(select, names, Records(source, alias))
    having = _having(select, names, slots, written)
    terms, limit = _terms(select, names, slots, written), _limit(select)
    by = tuple(group for group in groups if not is_window_call(group))
    tree: Grouped | Kept = Grouped(records, window, keys, slots.calls, by)
    if having is not None:
        tree = Kept(tree, having.expression, having.type, having.written)
    shown = Shown(tree, items)
    return Ordered(shown, terms, limit) if terms or limit is not None else shown


def _groups(select: exp.Select) -> list[exp.Expr]:
    """What GROUP BY lists, with numbers and aliases of items replaced by the items."""
    group = select.args.get("group")
    if group is None:
        return []
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise Objection(group, "GROUP BY takes columns and expressions; no ALL, CUBE, ROLLUP, SETS")
    return [_group(element, select) for element in group.expressions]


def _group(element: exp.Expr, select: exp.Select) -> exp.Expr:
    if isinstance(element, exp.Literal) and not element.is_string:
        return _by_number(element, select.expressions, "GROUP BY").unalias()
    if isinstance(element, exp.Column) and not element.table:
        for item in select.expressions:
            is_alias = isinstance(item, exp.Alias) and item.alias.lower() == element.name.lower()
            if is_alias and is_window_call(item.this):
                window: exp.Expr = item.this
                return window
    return element


def _by_number(literal: exp.Literal, items: Sequence[exp.Expr], clause: str) -> exp.Expr:
    if not literal.name.isdecimal() or not 1 <= int(literal.name) <= len(items):
        raise Objection(
            literal, f"{clause} {literal.name}: the SELECT list has columns 1 to {len(items)}"
        )
    return items[int(literal.name) - 1]


def _check_groups(groups: Sequence[exp.Expr]) -> None:
    if len(groups) > KEYS_MAX:
        raise Objection(groups[KEYS_MAX], f"more than {KEYS_MAX} columns in GROUP BY")
    for group in groups:
        if isinstance(group, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            raise Objection(group, "GROUP BY takes columns and expressions; no CUBE, ROLLUP, SETS")
        check_no_aggregate(group, "an aggregate can't be grouped by")


def _written(select: exp.Select, names: Names) -> list[_Written]:
    if len(select.expressions) > ITEMS_MAX:
        raise Objection(select, f"more than {ITEMS_MAX} columns in SELECT")
    written: list[_Written] = []
    aliases: dict[str, exp.Expr] = {}
    for position, item in enumerate(select.expressions, start=1):
        if item.is_star and not item.find(exp.Anonymous):
            raise Objection(item, "SELECT * is not available; name the columns")
        expression = placed(item.unalias(), item)
        resolved = names.resolved(expression, aliases, alias_first=False)
        name = item_name(item, position)
        if name.lower() in aliases:
            raise Objection(item, f"two columns are called `{name}`; give one of them an alias")
        if name.startswith(RESERVED_PREFIX):
            raise Objection(item, "names that begin with __ are taken; choose another alias")
        if name.lower() == WINDOW_COLUMN and window_field(resolved) != "":
            raise Objection(item, "`window` names the window of an answer; choose another alias")
        aliases[name.lower()] = resolved
        written.append(_Written(name, expression, resolved))
    return written


def _is_window(written: _Written) -> bool:
    """The window comes first in every answer, so one that is selected by its own name is there."""
    return written.name.lower() == WINDOW_COLUMN


def _keys(groups: Sequence[exp.Expr], written: Sequence[_Written], names: Names) -> tuple[Key, ...]:
    aliases = {one.name.lower(): one.resolved for one in written}
    keys: list[Key] = []
    taken = {PANE_COLUMN, WINDOW_COLUMN}
    for group in groups:
        if is_window_call(group):
            continue
        expression = names.resolved(group, aliases, alias_first=False).unnest()
        check_no_aggregate(expression, "an aggregate can't be grouped by")
        if any(sql_of(key.expression) == sql_of(expression) for key in keys):
            continue
        name = _key_name(expression, written, len(keys) + 1, taken)
        keys.append(Key(name, expression, type_of(expression, names.type_of)))
    return tuple(keys)


def _key_name(
    expression: exp.Expr, written: Sequence[_Written], number: int, taken: set[str]
) -> str:
    text = sql_of(expression)
    aliases = [one.name for one in written if sql_of(one.resolved.unnest()) == text]
    name = expression.name if isinstance(expression, exp.Column) else ""
    name = name or (aliases[0] if aliases else f"key_{number}")
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _item(written: _Written, slots: GroupSlots) -> Item:
    expression = slots.slotted(written.resolved)
    type_name = slots.type_of(expression)
    return Item(written.name, expression, type_name, _with_window_column(written.expression))


def _where(select: exp.Select, names: Names, records: Records) -> Records | Kept:
    where = select.args.get("where")
    if where is None:
        return records
    check_no_aggregate(where, "WHERE is about single records; write HAVING for aggregates")
    condition = names.resolved(where.this, {}, alias_first=False)
    type_name = type_of(condition, names.type_of)
    return Kept(records, exp.Paren(this=condition), type_name, _with_window_column(where.this))


def _having(
    select: exp.Select, names: Names, slots: GroupSlots, written: Sequence[_Written]
) -> Item | None:
    having = select.args.get("having")
    if having is None:
        return None
    aliases = {one.name.lower(): one.resolved for one in written}
    return _item(
        _Written("", having.this, names.resolved(having.this, aliases, alias_first=True)), slots
    )


def _terms(
    select: exp.Select, names: Names, slots: GroupSlots, written: Sequence[_Written]
) -> tuple[Term, ...]:
    order = select.args.get("order")
    aliases = {one.name.lower(): one.resolved for one in written}
    terms = []
    for ordered in order.expressions if order is not None else ():
        expression = _ordered_by(ordered, written)
        resolved = names.resolved(expression, aliases, alias_first=True)
        direction = sql_of(ordered).removeprefix(sql_of(ordered.this)).strip()
        terms.append(Term(_item(_Written("", expression, resolved), slots), direction))
    return tuple(terms)


def _ordered_by(ordered: exp.Ordered, written: Sequence[_Written]) -> exp.Expr:
    expression: exp.Expr = ordered.this.copy()
    if isinstance(expression, exp.Literal) and not expression.is_string:
        _by_number(ordered.this, [one.expression for one in written], "ORDER BY")
        return column(written[int(expression.name) - 1].name)
    if isinstance(expression, exp.Column) and expression.name.lower() == "all":
        raise Objection(ordered, "ORDER BY ALL is not available; name the columns")
    return expression


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.expression
    is_count = isinstance(count, exp.Literal) and not count.is_string and count.name.isdecimal()
    if not isinstance(limit, exp.Limit) or not is_count or not 1 <= int(count.name) <= LIMIT_MAX:
        raise Objection(
            limit, f"LIMIT takes a number from 1 to {LIMIT_MAX}, for each window's answer"
        )
    return int(count.name)


def _with_window_column(tree: exp.Expr) -> exp.Expr:
    """The user's tree with the name of the window where its call is repeated."""

    def rename(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Dot) and is_window_call(node.this):
            return column(node.expression.name, WINDOW_COLUMN)
        return column(WINDOW_COLUMN) if is_window_call(node) else node

    return tree.transform(rename)
