"""WITH and subqueries, written into the SELECT around them: what a stream asks is one SELECT.

::

    WITH errors AS (SELECT ts, upper(url) AS u FROM access WHERE status >= 500)
    SELECT u, count(*) FROM errors WHERE u <> '' GROUP BY window(ts, '10 s'), u

    SELECT upper(url) AS u, count(*) FROM access WHERE status >= 500 AND upper(url) <> ''
    GROUP BY window(ts, '10 s'), upper(url)

A name of the subquery's columns becomes the expression that it stands for. All functions here give
the same value wherever they stand, so nothing changes. What a condition of the outer SELECT is
about decides where it goes: records (WHERE), groups (HAVING), or ranks (QUALIFY). What does not
come to one SELECT, such as groups of groups, or rows of a LIMIT that are filtered, is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.read.select_shape import check_shape
from headwater.sql.read.sql_text import column, placed, sql_of
from headwater.sql.resolve.find_window import is_window_call
from headwater.sql.resolve.group_slots import is_aggregate
from headwater.sql.resolve.name_items import item_name
from headwater.sql.resolve.resolve_views import views_for_items

LEVELS_MAX = 8
"""SELECTs within SELECTs."""
Selects = Mapping[str, exp.Expr]
"""What WITH names, in lower case."""

_OF_GROUPS = (
    "the SELECT around a subquery with groups may finish, filter, rank and order them; {what} "
    "would need a second stream"
)
_OF_LIMIT = (
    "a subquery has no {what}, since what is around it would see single rows; write it outside"
)


def base_table(statement: exp.Expr) -> exp.Expr:
    """What is read in the end. Raises ``Objection``."""
    return _flat_from(_checked(statement), {}, 0)[0]


def one_select(statement: exp.Expr, columns: Collection[str]) -> exp.Select:
    """The statement as one SELECT over a source that has these columns. Raises ``Objection``."""
    return _flat(statement, {}, [name.lower() for name in columns], 0)


def _checked(statement: exp.Expr) -> exp.Select:
    return check_shape(views_for_items(statement))


def _scope(select: exp.Select, outer: Selects) -> Selects:
    """What FROM may name, beside a source."""
    found = dict(outer)
    named = select.args.get("with_")
    if named is not None and named.args.get("recursive"):
        raise Objection(named, "WITH RECURSIVE is not available; a stream reads one source")
    for one in named.expressions if named is not None else ():
        if one.args["alias"].args.get("columns"):
            raise Objection(one, "columns can't be renamed in WITH; give them aliases in SELECT")
        found[one.alias.lower()] = one.this
    return found


def _below(select: exp.Select, scope: Selects, depth: int) -> tuple[exp.Expr, str] | None:
    """The SELECT that FROM names, and what it is called; None: FROM names a source."""
    table = select.args["from_"].this
    if depth > LEVELS_MAX:
        raise Objection(table, f"more than {LEVELS_MAX} SELECTs within each other")
    if isinstance(table, exp.Subquery):
        return table.this, table.alias
    named = scope.get(table.name.lower())
    return None if named is None else (named, table.alias or table.name)


def _flat_from(select: exp.Select, outer: Selects, depth: int) -> tuple[exp.Expr, int]:
    scope = _scope(select, outer)
    below = _below(select, scope, depth)
    if below is None:
        return select.args["from_"].this, depth
    return _flat_from(_checked(below[0]), scope, depth + 1)


def _flat(statement: exp.Expr, outer: Selects, columns: Collection[str], depth: int) -> exp.Select:
    select = _checked(statement)
    scope = _scope(select, outer)
    below = _below(select, scope, depth)
    if below is None:
        select = select.copy()
        select.set("with_", None)
        return select
    inner = _flat(below[0], _without(scope, below[1], select), columns, depth + 1)
    return _Merged(select, inner, below[1], columns).select()


def _without(scope: Selects, name: str, select: exp.Select) -> Selects:
    """A SELECT of WITH does not see itself, so that a name may be that of the source it reads."""
    table = select.args["from_"].this
    own = table.name.lower() if isinstance(table, exp.Table) else ""
    return {key: value for key, value in scope.items() if key != own}


def has_rank(node: exp.Expr | None) -> bool:
    return node is not None and node.find(exp.Window) is not None


class _Merged:
    """One SELECT around another, which is flat."""

    def __init__(
        self, outer: exp.Select, inner: exp.Select, alias: str, columns: Collection[str]
    ) -> None:
        self._outer = outer
        self._inner = inner
        self._qualifier = alias.lower()
        self._columns = columns
        self._is_open = any(item.is_star for item in inner.expressions)
        """All columns of the source come through."""
        self._has_groups = _has_groups(inner)
        self._has_ranks = any(map(has_rank, inner.expressions)) or bool(inner.args.get("qualify"))
        self._items = {
            item_name(item, position).lower(): item.unalias()
            for position, item in enumerate(inner.expressions, start=1)
            if not item.is_star or item.find(exp.Anonymous)
        }
        self._made = {name for view in outer.args.get("laterals") or () for name in _made(view)}
        """What the views of the outer SELECT add."""
        self._aliases = {
            item.alias.lower(): item.this
            for item in outer.expressions
            if isinstance(item, exp.Alias)
        }
        self._check()

    def _check(self) -> None:
        for clause, what in (("limit", "LIMIT"), ("offset", "OFFSET"), ("distinct", "DISTINCT")):
            node = self._inner.args.get(clause)
            if node is not None:
                raise Objection(
                    node if node.expressions else self._inner, _OF_LIMIT.format(what=what)
                )
        if not self._has_groups and not self._has_ranks:
            return
        outer_group = self._outer.args.get("group")
        aggregate = next((node for node in self._own_nodes() if is_aggregate(node)), None)
        if outer_group is not None or aggregate is not None:
            at = outer_group or aggregate
            raise Objection(at, _OF_GROUPS.format(what="grouping again"))
        views = self._outer.args.get("laterals")
        if views:
            raise Objection(views[0], _OF_GROUPS.format(what="LATERAL VIEW"))
        rank = next((node for node in self._own_nodes() if isinstance(node, exp.Window)), None)
        if self._has_ranks and rank is not None:
            raise Objection(rank, "ranks of ranks are not available; write one SELECT that ranks")
        if self._has_ranks and self._outer.args.get("distinct") is not None:
            raise Objection(self._outer, _OF_GROUPS.format(what="DISTINCT of ranks"))

    def _own_nodes(self) -> list[exp.Expr]:
        """Of the outer SELECT, without what is in FROM and WITH."""
        clauses = [self._outer.args.get(name) for name in ("where", "having", "qualify", "order")]
        trees = [*self._outer.expressions, *filter(None, clauses)]
        return [node for tree in trees for node in tree.walk()]

    def select(self) -> exp.Select:
        found = self._inner.copy()
        outer = self._outer
        found.set("expressions", [self._item(item) for item in self._unstarred()])
        group = self._inner.args.get("group")
        if group is not None:
            found.set("group", self._own_group(group))
        self._add(found, "having", None if not self._has_groups else self._own_having())
        kept = "qualify" if self._has_ranks else ("having" if self._has_groups else "where")
        where = outer.args.get("where")
        self._add(found, kept, None if where is None else self._over(where.this, {}), more=True)
        if not self._has_groups and not self._has_ranks and outer.args.get("group") is not None:
            found.set("group", outer.args["group"].transform(lambda node: self._named(node, {})))
        for clause in ("having", "qualify"):
            node = outer.args.get(clause)
            if node is not None:
                self._add(found, clause, self._over(node.this, self._aliases), more=True)
        order = outer.args.get("order")
        ordered = None if order is None else self._over(order, self._aliases)
        found.set("order", ordered)
        for clause in ("limit", "offset", "distinct"):
            found.set(clause, outer.args.get(clause))
        views = [self._over(view, {}) for view in outer.args.get("laterals") or ()]
        if views:
            found.set("laterals", [*(found.args.get("laterals") or ()), *views])
        return found

    def _add(
        self, found: exp.Select, clause: str, condition: exp.Expr | None, *, more: bool = False
    ) -> None:
        if condition is None:
            return
        kind = {"where": exp.Where, "having": exp.Having, "qualify": exp.Qualify}[clause]
        former = found.args.get(clause) if more else None
        if former is not None:
            condition = exp.And(
                this=exp.Paren(this=former.this), expression=exp.Paren(this=condition)
            )
        found.set(clause, kind(this=condition))

    def _unstarred(self) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        for item in self._outer.expressions:
            if not item.is_star or item.find(exp.Anonymous) or self._is_open:
                found.append(item)
            else:
                found += [placed(column(name), item) for name in self._items]
        return found

    def _item(self, item: exp.Expr) -> exp.Expr:
        """Under the name that it has outside."""
        if item.is_star and not item.find(exp.Anonymous):
            return item
        new = self._over(item.unalias(), {})
        if isinstance(item, exp.Alias):
            named: exp.Expr = exp.Alias(this=new, alias=item.args["alias"].copy())
            return placed(named, item)
        if isinstance(item, exp.Column) and sql_of(new) != sql_of(column(item.name)):
            is_window = isinstance(new, exp.Column) and new.name == WINDOW_COLUMN
            if not is_window:
                return placed(exp.Alias(this=new, alias=item.this.copy()), item)
        return new

    def _own_group(self, group: exp.Expr) -> exp.Expr:
        """What the subquery groups by, without numbers and aliases of a list that is gone."""
        group = group.copy()
        items = self._inner.expressions
        found = []
        for element in group.expressions:
            if (
                isinstance(element, exp.Literal)
                and element.name.isdecimal()
                and not element.is_string
            ):
                number = int(element.name)
                element = (
                    items[number - 1].unalias().copy() if 1 <= number <= len(items) else element
                )
            found.append(element.transform(self._own_alias))
        group.set("expressions", found)
        return group

    def _own_having(self) -> exp.Expr | None:
        having = self._inner.args.get("having")
        return None if having is None else having.this.transform(self._own_alias)

    def _own_alias(self, node: exp.Expr) -> exp.Expr:
        """An alias of the subquery, within it."""
        name = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
        is_alias = name in self._items and name not in self._columns and name != WINDOW_COLUMN
        return _in_brackets(self._items[name], node) if is_alias else node

    def _over(self, tree: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
        """A tree of the outer SELECT over what the subquery reads."""
        return tree.transform(lambda node: self._named(node, aliases))

    def _named(self, node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return node
        name, qualifier = node.name.lower(), node.table.lower()
        if name in self._made:
            return node
        if qualifier and qualifier != self._qualifier:
            return self._field(node, qualifier)
        alias, item = aliases.get(name), self._items.get(name)
        if alias is not None and not qualifier:
            is_same = isinstance(alias, exp.Column) and alias.name.lower() == name
            if item is not None and not is_same:
                raise Objection(
                    node,
                    f"`{node.name}` is a column of the subquery and also an alias; give the alias "
                    "another name",
                )
            if item is None:
                return node
        if item is not None:
            return _in_brackets(item, node)
        if name == WINDOW_COLUMN and not self._has_groups and not self._has_ranks:
            return placed(column(WINDOW_COLUMN), node)
        if self._is_open and name in self._columns:
            return placed(column(node.name), node)
        known = [*self._items, *(self._columns if self._is_open else ())]
        raise Objection(
            node, f"no column `{node.name}` in the subquery{choices('columns', known, near=name)}"
        )

    def _field(self, node: exp.Column, name: str) -> exp.Expr:
        """``w.start``, where the subquery calls its window w; or a value within a struct."""
        item = self._items.get(name)
        if name == WINDOW_COLUMN and (item is not None or not self._has_groups):
            return node
        if item is None:
            known = [self._qualifier] if self._qualifier else list(self._items)
            raise Objection(node, f"no `{node.table}` here{choices('names', known)}")
        if is_window_call(item) or (isinstance(item, exp.Column) and item.name == WINDOW_COLUMN):
            return placed(column(node.name, WINDOW_COLUMN), node)
        return placed(exp.Dot(this=_in_brackets(item, node), expression=node.this.copy()), node)


def _made(view: exp.Expr) -> list[str]:
    """The names that a view may give."""
    alias = view.args.get("alias")
    columns = alias.args.get("columns") if alias is not None else None
    return [one.name.lower() for one in columns or ()] or ["pos", "col", "key", "value"]


def _has_groups(select: exp.Select) -> bool:
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    return any(is_aggregate(node) for item in select.expressions for node in item.walk())


def _in_brackets(item: exp.Expr, old: exp.Expr) -> exp.Expr:
    copy = item.copy()
    is_plain = isinstance(copy, exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Cast)
    is_alone = old.parent is None or is_plain or isinstance(copy, exp.Window | exp.Case)
    return placed(copy if is_alone else exp.Paren(this=copy), old)
