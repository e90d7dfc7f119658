"""Ranks within a window: ``row_number() OVER (PARTITION BY window, … ORDER BY …)``, and QUALIFY.

A rank looks at all rows of an answer, so it is computed at the root, once they are finished. Ranks
stand alone among the columns, or in QUALIFY; they are taken out of the SELECT before the rest of it
is resolved, and the columns that they go by become columns of the answer, hidden where nobody asked
for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.column_names import name_fault
from headwater.sql.read.objection import Objection
from headwater.sql.read.sources import RESERVED_PREFIX
from headwater.sql.read.sql_text import column, placed, sql_of
from headwater.sql.resolve.find_window import is_window_call
from headwater.sql.resolve.name_items import item_name
from headwater.sql.tree.items import Item
from headwater.sql.tree.nodes import Rank, Ranked, Shown
from headwater.sql.types.call_types import name_of
from headwater.sql.types.expression_types import type_of

FUNCTIONS = ("row_number", "rank", "dense_rank")
RANKS_MAX = 8
HIDDEN = "__rank_"
RANKED_BY = "__ranked_by_"
"""Followed by a number: a rank that is not shown, and what one goes by that is not shown."""
EXAMPLE = "row_number() OVER (PARTITION BY window, domain ORDER BY bytes DESC)"


def is_rank(node: exp.Window) -> bool:
    return isinstance(node.this, exp.Anonymous) and name_of(node.this) in FUNCTIONS


class RankCall(msgspec.Struct, frozen=True):
    """A rank as it was written."""

    name: str
    function: str
    within: tuple[exp.Expr, ...]
    """What the rows of a window are divided by."""
    order: tuple[tuple[exp.Expr, str], ...]
    """With directions."""


class TakenOut:
    """A SELECT without its ranks."""

    def __init__(self, select: exp.Select) -> None:
        self._names: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        self.calls: list[RankCall] = []
        self.order: list[str] = []
        """The columns of the answer, ranks among them."""
        items = list(self._without_ranks(select))
        self.select = select.copy()
        self.select.set("expressions", items)
        qualify, order = select.args.get("qualify"), select.args.get("order")
        self.condition = None if qualify is None else qualify.this.transform(self._placed)
        self.select.set("qualify", None)
        if self.condition is not None and not self.calls:
            raise Objection(qualify, f"QUALIFY is about ranks, as in {EXAMPLE} <= 3; write WHERE")
        self._check_having(select)
        if self.calls and order is not None:
            numbered = [self._numbered(one, select) for one in order.expressions]
            placed_terms = [one.transform(self._placed) for one in numbered]
            self.select.set("order", exp.Order(expressions=placed_terms))

    def _check_having(self, select: exp.Select) -> None:
        having = select.args.get("having")
        for one in [] if having is None else having.find_all(exp.Column):
            if self.is_rank(one):
                raise Objection(
                    one,
                    f"`{one.name}` is a rank, which comes after HAVING; write QUALIFY "
                    f"{one.name} <= 3",
                )

    def is_rank(self, node: exp.Expr) -> bool:
        names = {call.name for call in self.calls}
        return isinstance(node, exp.Column) and not node.table and node.name in names

    def expressions(self) -> Iterator[exp.Expr]:
        """All that ranks and their condition go by."""
        for call in self.calls:
            yield from call.within
            yield from (one for one, _ in call.order)
        if self.condition is not None:
            yield from self.leaves(self.condition)

    def leaves(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The largest parts of a condition that have no rank in them."""
        if not any(self.is_rank(one) for one in node.walk()):
            if node.find(exp.Column, exp.Anonymous) is not None:
                yield node
        elif not self.is_rank(node):
            for child in node.iter_expressions():
                yield from self.leaves(child)

    def _without_ranks(self, select: exp.Select) -> Iterator[exp.Expr]:
        for position, item in enumerate(select.expressions, start=1):
            node = item.unalias()
            if isinstance(node, exp.Window):
                name = item.alias if isinstance(item, exp.Alias) else name_of(node.this)
                self._shown[name.lower()] = name
                self.order.append(self._name(node, name))
            elif item.find(exp.Window) is not None:
                raise Objection(
                    item, f"a rank stands alone among the columns, as in {EXAMPLE} AS n"
                )
            else:
                name = "" if item.is_star else item_name(item, position)
                if name.lower() != WINDOW_COLUMN:
                    self.order.append(name)
                yield item

    def _name(self, node: exp.Window, shown: str = "") -> str:
        text = sql_of(node)
        if text in self._names and not shown:
            return self._names[text]
        name = shown or f"{HIDDEN}{len(self.calls) + 1}"
        self._names.setdefault(text, name)
        if len(self.calls) == RANKS_MAX:
            raise Objection(node, f"more than {RANKS_MAX} ranks")
        self.calls.append(_call(node, name))
        return name

    def _placed(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            return placed(column(self._name(node)), node)
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in self._shown:
            return placed(column(self._shown[node.name.lower()]), node)
        return node

    def _numbered(self, ordered: exp.Expr, select: exp.Select) -> exp.Expr:
        """Numbers of columns count ranks as well, which are taken out of the list."""
        literal, items = ordered.this, select.expressions
        is_number = isinstance(literal, exp.Literal) and not literal.is_string
        if (
            not is_number
            or not literal.name.isdecimal()
            or not 1 <= int(literal.name) <= len(items)
        ):
            return ordered
        number = int(literal.name)
        item = items[number - 1]
        node = item.unalias()
        is_rank = isinstance(node, exp.Window)
        name = name_of(node.this) if is_rank and not item.alias else item_name(item, number)
        new = ordered.copy()
        new.set("this", placed(column(name), literal))
        return new


def _call(node: exp.Window, name: str) -> RankCall:
    function = name_of(node.this) if isinstance(node.this, exp.Anonymous) else ""
    if function not in FUNCTIONS or node.this.expressions:
        raise Objection(node, f"OVER takes {', '.join(FUNCTIONS)}, as in {EXAMPLE}")
    if node.args.get("spec") is not None or node.args.get("alias") is not None:
        raise Objection(node, f"a rank has no frame and no name; wanted {EXAMPLE}")
    within = node.args.get("partition_by") or []
    order = node.args.get("order")
    if not any(_is_window(one) for one in within):
        raise Objection(node, f"a rank is within a window: PARTITION BY window, as in {EXAMPLE}")
    if order is None:
        raise Objection(node, f"a rank goes by an order: ORDER BY is missing, as in {EXAMPLE}")
    terms = [
        (one.this, sql_of(one).removeprefix(sql_of(one.this)).strip()) for one in order.expressions
    ]
    return RankCall(name, function, tuple(n for n in within if not _is_window(n)), tuple(terms))


def _is_window(node: exp.Expr) -> bool:
    is_column = isinstance(node, exp.Column) and not node.table
    return is_window_call(node) or (is_column and node.name.lower() == WINDOW_COLUMN)


def with_ranks(shown: Shown, ranks: TakenOut, by_text: Mapping[str, Item]) -> Ranked:
    """``by_text`` has what ranks go by, by how it was written. Raises ``Objection``."""
    if shown.is_distinct:
        raise Objection(
            shown.items[0].written, "DISTINCT beside ranks is not available; leave it out"
        )
    _check_names(shown, ranks)
    known = {sql_of(item.expression): item.name for item in shown.items}
    hidden: list[Item] = []
    names: dict[str, str] = {}
    for text, item in by_text.items():
        expression = sql_of(item.expression)
        if expression not in known:
            known[expression] = f"{RANKED_BY}{len(hidden) + 1}"
            hidden.append(msgspec.structs.replace(item, name=known[expression]))
        names[text] = known[expression]
    made = tuple(
        Rank(
            call.name,
            call.function,
            tuple(names[sql_of(one)] for one in call.within),
            tuple((names[sql_of(one)], direction) for one, direction in call.order),
        )
        for call in ranks.calls
    )
    shown = msgspec.structs.replace(shown, hidden=(*shown.hidden, *hidden))
    return Ranked(shown, made, tuple(ranks.order), _condition(shown, ranks, names))


def _check_names(shown: Shown, ranks: TakenOut) -> None:
    taken = {item.name.lower() for item in shown.items} | {WINDOW_COLUMN}
    for call in ranks.calls:
        is_ours = call.name.startswith(HIDDEN)
        is_reserved = call.name.startswith(RESERVED_PREFIX) and not is_ours
        if call.name.lower() in taken or is_reserved or name_fault(call.name) is not None:
            at = call.order[0][0]
            raise Objection(at, f"`{call.name}` is no name, or is taken; give the rank another one")
        taken.add(call.name.lower())


def _condition(shown: Shown, ranks: TakenOut, names: Mapping[str, str]) -> exp.Expr | None:
    if ranks.condition is None:
        return None
    types = {item.name: item.type for item in shown.columns}

    def over_columns(node: exp.Expr) -> exp.Expr:
        name = names.get(sql_of(node))
        return node if name is None or ranks.is_rank(node) else placed(column(name), node)

    condition: exp.Expr = ranks.condition.transform(over_columns)
    if type_of(condition, lambda node: types.get(node.name, "int")) != "boolean":
        raise Objection(ranks.condition, "QUALIFY takes a condition (boolean)")
    return condition
