"""How validation goes on after a fault in a SELECT: what is wrong is taken out.

A compiler that stops at the first fault is right for running and poor for writing. Rather than have
every rule of it go on after what it can't understand, the faulty *unit* (an item of the SELECT
list, a condition, an element of GROUP BY or ORDER BY, a clause) is replaced by something that is
right, and the same compiler reads the SELECT again. So validation has no rules of its own, and
finds whatever the compiler finds.

What hangs on the faulty unit must not be found wrong because of it: what speaks of its alias goes
with it, and after a key is gone all columns that are shown are keys. What stands beside the fault
in the same unit is looked at by itself, as a *probe*: a condition that asks whether it is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from functools import partial
from typing import Any

import msgspec
from sqlglot import exp

from headwater.algebra.rows.nested_types import is_nested
from headwater.plan.sources.source import Source
from headwater.sql.read.sql_text import column, offset_of, parse_expression
from headwater.sql.resolve.group_slots import is_aggregate
from headwater.sql.types.call_types import name_of

NEUTRAL_WINDOW = "window({time}, '1 minute')"
UNITS_MAX = 1_000
"""Of a SELECT, that are taken out because of one fault."""
_PROBED = (
    exp.Column,
    exp.Anonymous,
    exp.Binary,
    exp.Paren,
    exp.Cast,
    exp.Case,
    exp.Not,
    exp.Neg,
    exp.Bracket,
    exp.Dot,
    exp.Filter,
)
"""Kinds of nodes that have a type by themselves."""
_WHOLE = (exp.Lambda, exp.Select, exp.Window, exp.WithinGroup, exp.Join, exp.Pivot)
"""Kinds whose parts mean nothing, or another thing, by themselves."""
_PLAIN = (exp.Identifier, exp.Var, exp.DataType, exp.Literal, exp.Star)
"""Kinds that have nothing to be probed in them."""
_LISTED = ("expressions", "from_", "where", "group", "having", "order")
"""Clauses of which a part can be taken out; others go as a whole."""


def placeless(text: str) -> exp.Expr:
    """An expression that stands nowhere in the user's text."""
    found = parse_expression(text)
    for node in found.walk():
        node.meta.clear()
    return found


class _Unit(msgspec.Struct, frozen=True):
    start: int
    node: exp.Expr
    take_out: Callable[[], bool]
    """False: it can't be done without."""


class QuestionRepair:
    """Of one SELECT, which is changed in place."""

    def __init__(
        self,
        select: exp.Select,
        source: Source | None,
        sources: list[str],
        outer: QuestionRepair | None = None,
    ) -> None:
        """``outer`` is of the SELECT that this one is a subquery of."""
        self._outer = outer
        self._select = select
        self._source = source
        self._sources = sources
        self._columns = {} if source is None else {one.name.lower(): one for one in source.columns}

    def repair(self, at: exp.Expr | None, offset: int) -> bool:
        """Takes out what is wrong; False: it can't be told from the rest."""
        if isinstance(at, exp.Group) or (at is self._select and not self._has_window()):
            return self._add_window()
        if at is self._select:
            return False
        if isinstance(at, exp.Limit):
            self._select.set("limit", None)
            return True
        unit = self._unit_at(offset)
        if unit is None:
            return False
        probes = list(self._probes(unit.node, offset))
        if not unit.take_out():
            return False
        for probe in probes:
            self._add_condition("having" if _has_aggregate(probe) else "where", probe)
        return True

    # What a SELECT is made of

    def _unit_at(self, offset: int) -> _Unit | None:
        units = sorted(self._units(), key=lambda unit: unit.start)
        before = [unit for unit in units if unit.start <= offset]
        return before[-1] if before else None

    def _units(self) -> Iterator[_Unit]:
        select = self._select
        for index, item in enumerate(select.expressions):
            yield from _unit(item, partial(self._take_item, index))
        if select.args.get("from_") is not None:
            yield from _unit(select.args["from_"], self._take_source)
        for clause in ("where", "having"):
            for condition in _conditions(select.args.get(clause)):
                yield from _unit(condition, partial(self._take_condition, clause, condition))
        for clause, take in (("group", self._take_key), ("order", self._take_term)):
            listed = select.args.get(clause)
            for index, element in enumerate(listed.expressions if listed is not None else ()):
                yield from _unit(element, partial(take, index))
        for name, value in list(select.args.items()):
            node = value[0] if value and isinstance(value, list) else value
            if name not in _LISTED and isinstance(node, exp.Expr):
                yield from _unit(node, partial(self._take_clause, name))
        for inner in self._inner():
            yield from inner._units()

    def _inner(self) -> Iterator[QuestionRepair]:
        """Of the subqueries in WITH and FROM: a fault in one is taken out where it stands."""
        ctes = self._select.args.get("with_")
        source = self._select.args.get("from_")
        held = [one.this for one in (ctes.expressions if ctes is not None else ())]
        held += [source.this.this] if source is not None else []
        for one in held:
            if isinstance(one, exp.Select):
                yield QuestionRepair(one, self._source, self._sources, outer=self)

    # Taking out

    def _take_item(self, index: int) -> bool:
        item = self._select.expressions[index]
        name = item.alias if self._outer is not None else ""  # which is what others see of it
        item.replace(exp.alias_(exp.Literal.number(1), name or f"checked_{index + 1}"))
        if isinstance(item, exp.Alias) and item.alias.lower() not in self._columns:
            self.take_readers_of({item.alias.lower()})
        if self._outer is not None:
            self._outer.take_readers_of({item.alias_or_name.lower()})
        return True

    def take_readers_of(self, names: Collection[str]) -> None:
        """What speaks of columns of which nothing is known."""
        for _ in range(UNITS_MAX):
            reader = next((unit for unit in self._units() if _reads(unit.node, names)), None)
            if reader is None or not reader.take_out():
                return

    def _take_source(self) -> bool:
        """The source that may have been meant stands in its place."""
        table = self._select.args["from_"].this
        if not isinstance(table, exp.Table) or not self._sources:
            return False
        near = get_close_matches(table.name.lower(), self._sources, n=1)
        found = near[0] if near else self._sources[0] if len(self._sources) == 1 else None
        if found is None or found == table.name.lower():
            return False
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
        table.set("this", exp.to_identifier(found))
        table.set("alias", alias)
        return True

    def _take_condition(self, clause: str, condition: exp.Expr) -> bool:
        condition.replace(exp.Boolean(this=True))
        return self._select.args.get(clause) is not None

    def _take_key(self, index: int) -> bool:
        group = self._select.args["group"]
        element = group.expressions[index]
        if _is_window_like(element):
            return self._take_window(element)
        element.pop()
        self._take_shown(element)
        if any(map(_is_window_like, element.find_all(exp.Anonymous))):
            self._add_window()
            group = self._select.args["group"]
        for node in list(self._select.find_all(exp.Column)):
            known = self._columns.get(node.name.lower())
            if known is not None and not is_nested(known.type):
                group.append("expressions", column(known.name))
        return bool(group.expressions)

    def _take_shown(self, element: exp.Expr) -> None:
        """A key that can't be one is shown in vain, which need not be said as well."""
        for index, item in enumerate(self._select.expressions):
            if item.unalias() == element:
                self._take_item(index)

    def _take_window(self, element: exp.Expr) -> bool:
        """The same call elsewhere means the same window."""
        neutral = self._neutral_window()
        if neutral is None or element.sql() == neutral.sql():
            return False
        called = name_of(element) if isinstance(element, exp.Anonymous) else ""
        for call in list(self._select.find_all(exp.Anonymous)):
            if name_of(call) == called:
                call.replace(neutral.copy())
        return True

    def _take_term(self, index: int) -> bool:
        order = self._select.args["order"]
        order.expressions[index].pop()
        if not order.expressions:
            self._select.set("order", None)
        return True

    def _take_clause(self, name: str) -> bool:
        self._select.set(name, None)
        if name == "joins":
            self.take_readers_of(self._of_elsewhere())
        return True

    def _of_elsewhere(self) -> set[str]:
        """Columns that the source does not have: what was joined to it may have them."""
        table = self._select.args["from_"].this
        here = {"", table.alias_or_name.lower()}
        known = {*self._columns, "window", *(one.alias.lower() for one in self._select.expressions)}
        return {
            node.name.lower()
            for node in self._select.find_all(exp.Column)
            if node.table.lower() not in here or node.name.lower() not in known
        }

    # Putting in

    def _has_window(self) -> bool:
        group = self._select.args.get("group")
        return group is not None and any(map(_is_window_like, group.expressions))

    def _add_window(self) -> bool:
        neutral = self._neutral_window()
        if neutral is None or self._has_window():
            return False
        group = self._select.args.get("group") or exp.Group(expressions=[])
        self._select.set("group", exp.Group(expressions=[neutral, *group.expressions]))
        return True

    def _neutral_window(self) -> exp.Expr | None:
        if self._source is None:
            return None
        return placeless(NEUTRAL_WINDOW.format(time=f"`{self._source.time_column}`"))

    def _add_condition(self, clause: str, probe: exp.Expr) -> None:
        asked = exp.Anonymous(this="isnull", expressions=[probe.copy()])
        present = self._select.args.get(clause)
        whole = asked if present is None else exp.And(this=present.this, expression=asked)
        self._select.set(clause, (exp.Having if clause == "having" else exp.Where)(this=whole))

    # What stands beside a fault

    def _probes(self, unit: exp.Expr, offset: int) -> Iterator[exp.Expr]:
        if unit.find(*_WHOLE) is not None:
            return
        at = [node for node in unit.walk() if (node._meta or {}).get("start") == offset]
        node: Any = at[-1] if at else None
        if node is None:
            return
        if isinstance(node, exp.Identifier) and node.parent is not None:
            node = node.parent
        beside = list(_parts(node)) if node is not unit else []
        while node is not unit and node.parent is not None:
            beside += [part for part in _parts(node.parent) if not _is_within(node, part)]
            node = node.parent
        yield from (part for part in beside if self._can_be_probed(part))

    def _can_be_probed(self, part: exp.Expr) -> bool:
        """Over columns of records alone: what an alias means, or a window, is said elsewhere."""
        names = [node.name.lower() for node in part.find_all(exp.Column)]
        aliases = {one.alias.lower() for one in self._select.expressions if one.alias}
        is_over_aliases = any(name in aliases and name not in self._columns for name in names)
        calls = [node for node in part.find_all(exp.Anonymous) if _is_window_like(node)]
        return not is_over_aliases and not calls and "window" not in names


def _reads(node: exp.Expr, names: Collection[str]) -> bool:
    return not isinstance(node, exp.From) and any(
        one.name.lower() in names for one in node.find_all(exp.Column)
    )


def _unit(node: exp.Expr, take_out: Callable[[], bool]) -> Iterator[_Unit]:
    start = offset_of(node)
    if start is not None:
        yield _Unit(start, node, take_out)


def _conditions(clause: exp.Expr | None) -> Iterator[exp.Expr]:
    """Those that all have to be true."""
    if clause is not None:
        yield from _joined(clause.this)


def _joined(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.And):
        yield from _joined(node.left)
        yield from _joined(node.right)
    else:
        yield node


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    for child in node.iter_expressions():
        if isinstance(child, exp.Kwarg):  # by itself it is nothing
            yield from _parts(child)
        elif isinstance(child, _PROBED):
            yield child
        elif not isinstance(child, _PLAIN):
            yield from _parts(child)


def _is_within(node: exp.Expr, part: exp.Expr) -> bool:
    return any(one is node for one in part.walk())


def _has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(one) for one in node.walk())


def _is_window_like(node: exp.Expr) -> bool:
    name = name_of(node) if isinstance(node, exp.Anonymous) else ""
    return "window" in name or name == "last_rows"
