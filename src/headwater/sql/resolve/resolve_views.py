"""LATERAL VIEWs, and ``explode`` among the columns of rows, which is one."""

from __future__ import annotations

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.column_names import name_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.sources import RESERVED_PREFIX
from headwater.sql.read.sql_text import column, identifier, placed
from headwater.sql.resolve.generators import EXAMPLE, OUTER, VIEWS_MAX, generated, is_generator
from headwater.sql.resolve.resolve_names import Names
from headwater.sql.tree.nodes import Expanded, Records
from headwater.sql.types.call_types import name_of
from headwater.sql.types.expression_types import type_of

EXPLODED = "__exploded_"
"""Followed by a number: a column that a SELECT list explodes."""


def views_for_items(select: exp.Expr) -> exp.Expr:
    """The same SELECT with a view instead of each ``explode`` among its items."""
    if not isinstance(select, exp.Select) or not any(
        is_generator(item.unalias()) for item in select.expressions
    ):
        return select
    select = select.copy()
    items, views = [], list(select.args.get("laterals") or ())
    for item in select.expressions:
        call = item.unalias()
        if not is_generator(call):
            items.append(item)
            continue
        if name_of(call).removesuffix(OUTER) != "explode" or select.args.get("group") is not None:
            raise Objection(
                item, f"among columns stands explode, of rows; of others write {EXAMPLE}"
            )
        name = f"{EXPLODED}{len(views) + 1}"
        alias = exp.TableAlias(columns=[identifier(name)])
        views.append(exp.Lateral(this=call.copy(), view=True, outer=False, alias=alias))
        shown = item.alias if isinstance(item, exp.Alias) else "col"
        new = exp.Alias(this=placed(column(name), item), alias=identifier(shown))
        items.append(placed(new, item))
    select.set("expressions", items)
    select.set("laterals", views)
    return select


def resolve_views(select: exp.Select, names: Names, records: Records) -> Records | Expanded:
    """The records with what each view makes of them; ``names`` knows it then."""
    found: Records | Expanded = records
    views = select.args.get("laterals") or []
    if len(views) > VIEWS_MAX:
        raise Objection(views[VIEWS_MAX], f"more than {VIEWS_MAX} views")
    for view in views:
        found = _resolve_view(view, names, found)
    return found


def _resolve_view(view: exp.Expr, names: Names, below: Records | Expanded) -> Expanded:
    call, alias = view.this, view.args.get("alias")
    if not view.args.get("view") or not isinstance(call, exp.Anonymous):
        raise Objection(view, f"LATERAL is not available; a view is, as in {EXAMPLE}")
    is_outer = bool(view.args.get("outer")) or name_of(call).endswith(OUTER)
    given = list(alias.args.get("columns") or ()) if alias is not None else []
    written = exp.Anonymous(
        this=name_of(call).removesuffix(OUTER), expressions=[one.copy() for one in call.expressions]
    )
    resolved = names.resolved(written, {}, alias_first=False)
    made = generated(resolved, [one.name for one in given], lambda n: type_of(n, names.type_of))
    for number, one in enumerate(made):
        at = given[number] if given else call
        is_ours = one.name.startswith(EXPLODED)
        if not is_ours and (one.name.startswith(RESERVED_PREFIX) or one.name == WINDOW_COLUMN):
            raise Objection(at, f"`{one.name}` is taken; choose another name")
        fault = name_fault(one.name)
        if fault is not None:
            raise Objection(at, fault)
        if names.has(one.name):
            raise Objection(
                at,
                f"there is a column `{one.name}` already; give what is made another name, as in "
                f"{EXAMPLE}",
            )
    name = alias.name if alias is not None and alias.args.get("this") is not None else ""
    names.add_view(made, name)
    return Expanded(below, placed(resolved, call), tuple(made), is_outer, written, name)
