"""What GROUP BY lists: numbers and aliases of items are the items, and ALL is what aggregates
nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.resolve.find_window import is_window_call
from headwater.sql.resolve.group_slots import check_no_aggregate, is_aggregate
from headwater.sql.resolve.read_grouping_sets import listed, with_members
from headwater.sql.tree.slots import window_field

KEYS_MAX = 100


def grouped_by(select: exp.Select, *, is_named: bool) -> list[exp.Expr]:
    """What GROUP BY lists, with numbers and aliases of items replaced by the items. ``is_named``:
    WITH has the window, so that ``window`` in it says nothing new."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all") and not group.expressions:
        return [item.unalias() for item in select.expressions if _is_key(item)]
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise Objection(
            group,
            "GROUP BY takes columns, expressions, and GROUPING SETS, ROLLUP or CUBE of them, or "
            "ALL by itself; no WITH ROLLUP, which would have the window in it: write GROUP BY "
            "window(…), ROLLUP (…)",
        )
    found = [with_members(one, lambda one: _group(one, select)) for one in group.expressions]
    return [one for one in found if not (is_named and window_field(one) == "")]


def _is_key(item: exp.Expr) -> bool:
    """What GROUP BY ALL takes: no aggregate and no rank is in it, and nothing of the window."""
    return not any(
        is_aggregate(node) or isinstance(node, exp.Window) or window_field(node) is not None
        for node in item.walk()
    )


def _group(element: exp.Expr, select: exp.Select) -> exp.Expr:
    if isinstance(element, exp.Literal) and not element.is_string:
        return by_number(element, select.expressions, "GROUP BY").unalias()
    if isinstance(element, exp.Column) and not element.table:
        for item in select.expressions:
            is_alias = isinstance(item, exp.Alias) and item.alias.lower() == element.name.lower()
            if is_alias and is_window_call(item.this):
                window: exp.Expr = item.this
                return window
    return element


def by_number(literal: exp.Literal, items: Sequence[exp.Expr], clause: str) -> exp.Expr:
    if not literal.name.isdecimal() or not 1 <= int(literal.name) <= len(items):
        raise Objection(
            literal, f"{clause} {literal.name}: the SELECT list has columns 1 to {len(items)}"
        )
    return items[int(literal.name) - 1]


def check_groups(groups: Sequence[exp.Expr]) -> None:
    columns = list(listed(groups))
    if len(columns) > KEYS_MAX:
        raise Objection(columns[KEYS_MAX], f"more than {KEYS_MAX} columns in GROUP BY")
    for group in groups:
        if isinstance(group, exp.Tuple):
            raise Objection(
                group, "GROUP BY takes columns and expressions without brackets around several"
            )
        check_no_aggregate(group, "an aggregate can't be grouped by")
