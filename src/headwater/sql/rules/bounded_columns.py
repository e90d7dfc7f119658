"""Which columns of an answer are near the truth alone, and whether that decides which rows it has.

Approximate never passes for exact: what is computed of a bounded value is bounded, too. How far it
is from the truth nobody can say in general, so it is told what it is computed of.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headwater.algebra.rows.bounded import Bound, Bounded, BoundedColumn
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Ranked, Shown, answer_columns, one, the
from headwater.sql.tree.slots import CALL, slot_of


def bounded_columns(tree: Node) -> Bounded:
    shown, group = the(tree, Shown), the(tree, Grouped)
    columns = [
        BoundedColumn(item.name, bounds[0], is_derived=slot_of(item.expression) is None)
        for item in shown.items
        if (bounds := _bounds(item.expression, group))
    ]
    ranked = one(tree, Ranked)
    ranks = {} if ranked is None else _bounded_ranks(ranked, group)
    names = {column.name for column in answer_columns(tree)}
    columns += [
        BoundedColumn(name, ranks[name], is_derived=True) for name in ranks if name in names
    ]
    having = None if shown.having is None else _bounds(shown.having.condition, group)
    is_cut = _is_ordered_by_one(tree, group, ranks) or _is_qualified_by_one(ranked, group, ranks)
    is_cut = is_cut or (shown.is_distinct and not shown.shows_all_keys and bool(columns))
    return Bounded(tuple(columns), rows=bool(having) or is_cut)


def _bounded_ranks(ranked: Ranked, group: Grouped) -> dict[str, Bound]:
    """A rank that goes by a bounded value is as near as that."""
    expressions = {item.name: item.expression for item in ranked.below.columns}
    found = {}
    for rank in ranked.ranks:
        by = [*rank.within, *dict(rank.order), *ranked.ties(rank)]
        bounds = [bound for name in by for bound in _bounds(expressions[name], group)]
        if bounds:
            found[rank.name] = max(bounds, key=lambda bound: bound.size)
    return found


def _is_qualified_by_one(ranked: Ranked | None, group: Grouped, ranks: Mapping[str, Bound]) -> bool:
    if ranked is None or ranked.condition is None:
        return False
    bounded = {item.name for item in ranked.below.columns if _bounds(item.expression, group)}
    used = {node.name for node in ranked.condition.find_all(exp.Column)}
    return not used.isdisjoint(bounded | set(ranks))


def _is_ordered_by_one(tree: Node, group: Grouped, ranks: Mapping[str, Bound]) -> bool:
    """LIMIT without ORDER BY keeps rows by all columns."""
    if not isinstance(tree, Ordered):
        return False
    by = [term.item for term in tree.terms] or the(tree, Shown).items
    return any(item.name in ranks or _bounds(item.expression, group) for item in by)


def _bounds(expression: exp.Expr, group: Grouped) -> list[Bound]:
    """Of all bounded values that it is made of, the widest first."""
    slots = [found for node in expression.walk() if (found := slot_of(node))]
    bounds = [group.calls[index].split.bound for kind, index in slots if kind == CALL]
    return sorted((one for one in bounds if one is not None), key=lambda one: -one.size)
