"""A rank may be taken early only over rows: what ORDER BY … LIMIT keeps, sites and relays keep.

The order is that of the root part: the terms, then the columns that break ties. Over groups with
aggregates nothing is taken early. Nor is it where a term is made at the root, of the window, or
where a row has arrays or structs, which Arrow does not order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import UNSET, UnsetType
from sqlglot import exp

from headwater.algebra.rows.columns import FirstRows, OrderTerm
from headwater.algebra.rows.first_rows import FIRST_MAX
from headwater.algebra.rows.nested_types import is_nested
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Ranked, Shown, Split, one, the
from headwater.sql.tree.slots import KEY, slot_of


def take_first_rows(tree: Node) -> FirstRows | UnsetType:
    """What whoever merges rows of this query may keep of them; unset: all. It is asked of a tree
    to which all rules were applied."""
    group, shown = the(tree, Grouped), the(tree, Shown)
    if group.last_n:  # the first of a pane need not be the first of the last records
        return UNSET
    if not group.of_rows or any(is_nested(key.type) for key in group.keys):
        return UNSET
    ranked = one(tree, Ranked)
    if ranked is not None:
        return _first_of_parts(tree, ranked)
    if not isinstance(tree, Ordered) or tree.last is None:
        return UNSET
    if shown.is_distinct and not shown.shows_all_keys:
        return UNSET
    directions = [(term.item.name, term.direction) for term in tree.terms]
    order = key_order(tree, [*directions, *((name, "") for name in tree.ties)])
    if order is None:
        return UNSET
    return FirstRows(tree.last, order, copies=_copies(tree))


def _copies(tree: Node) -> str:
    return next(iter(the(tree, Split).partials)).name if the(tree, Grouped).is_bag else ""


def _first_of_parts(tree: Node, ranked: Ranked) -> FirstRows | UnsetType:
    """Of a query with one rank, a row number that QUALIFY bounds: no row beyond it is shown, and
    none is counted by another rank."""
    if len(ranked.ranks) != 1 or ranked.ranks[0].function != "row_number":
        return UNSET
    (rank,) = ranked.ranks
    last = min(filter(None, map(partial(_bound, rank.name), _terms(ranked.condition))), default=0)
    within = key_order(tree, [(name, "") for name in rank.within], is_all=False)
    named = [*((name, "") for name in rank.within), *rank.order]
    order = key_order(tree, [*named, *((name, "") for name in ranked.ties(rank))])
    if not 0 < last <= FIRST_MAX or within is None or order is None:
        return UNSET
    parts = tuple(term.column for term in within)
    return FirstRows(last, order, within=parts, copies=_copies(tree))


def _terms(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """All of which must hold."""
    if isinstance(condition, exp.And):
        yield from _terms(condition.left)
        yield from _terms(condition.right)
    elif isinstance(condition, exp.Paren):
        yield from _terms(condition.this)
    elif condition is not None:
        yield condition


def _bound(rank: str, condition: exp.Expr) -> int | None:
    """The last place that a condition lets through; None: it says nothing of it.

    >>> _bound("n", exp.LT(this=exp.column("n"), expression=exp.Literal.number(4)))
    3
    """
    if not isinstance(condition, exp.LTE | exp.LT | exp.EQ | exp.GTE | exp.GT):
        return None
    left, right = condition.left.unnest(), condition.right.unnest()
    is_turned = isinstance(left, exp.Literal)
    name, number = (right, left) if is_turned else (left, right)
    is_number = isinstance(number, exp.Literal) and not number.is_string and number.name.isdecimal()
    if not isinstance(name, exp.Column) or name.name != rank or not is_number:
        return None
    if isinstance(condition, exp.GTE | exp.GT) != (is_turned and not isinstance(condition, exp.EQ)):
        return None
    return int(number.name[:10]) - isinstance(condition, exp.LT | exp.GT)


def key_order(
    tree: Node, directions: Iterable[tuple[str, str]], *, is_all: bool = True
) -> tuple[OrderTerm, ...] | None:
    """Columns of the answer with their directions, as an order of all keys, or of some; None: it
    is none."""
    shown, group = the(tree, Shown), the(tree, Grouped)
    expressions = {item.name: item.expression for item in shown.columns}
    order: dict[str, OrderTerm] = {}
    for name, direction in directions:
        columns = expressions[name].find_all(exp.Column)
        if all(slot_of(one) is None for one in columns):  # the same for all rows of a window
            continue
        found = slot_of(expressions[name])
        if found is None or found[0] != KEY:
            return None
        key = group.keys[found[1]].name
        order.setdefault(key, order_term(key, direction))
    return tuple(order.values()) if len(order) == len(group.keys) or not is_all else None


def order_term(column: str, direction: str) -> OrderTerm:
    """
    >>> order_term("n", "DESC")
    OrderTerm(column='n', is_descending=True, nulls_last=True)
    """
    words = direction.upper()
    is_descending = re.search(r"\bDESC\b", words) is not None
    nulls_last = "NULLS LAST" in words or (is_descending and "NULLS FIRST" not in words)
    return OrderTerm(column, is_descending, nulls_last)
