"""Names of columns, made one way of writing: without qualifier, as the source declares them.

Names are looked up as Spark does, without regard to case. An alias may stand for its expression in
GROUP BY, HAVING, ORDER BY and later items. Where a name could be a column or an alias of something
else, Spark's choice differs from clause to clause, so it is refused.
"""

from collections.abc import Mapping

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.read.sql_text import column, placed, sql_of
from headwater.sql.resolve.find_window import is_window_call
from headwater.sql.types.declared_types import field_types, value_type
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.refused_functions import advice

Aliases = Mapping[str, exp.Expr]
"""By name in lower case, the resolved expression."""

WINDOW_FIELDS = ("start", "end")


class Names:
    """What a name in the SELECT of one stream can mean."""

    def __init__(self, source: Source, table_alias: str) -> None:
        self._source = source
        self._qualifiers = {source.name.lower(), table_alias.lower()}
        if table_alias.lower() != source.name.lower():
            self._qualifiers = {table_alias.lower()}
        self._columns = {column.name.lower(): column for column in source.columns}

    def resolved(self, tree: exp.Expr, aliases: Aliases, *, alias_first: bool) -> exp.Expr:
        """A new tree over the source's columns and the window. Raises ``Objection``.

        ``alias_first`` is for clauses in which Spark looks at the SELECT list before the source;
        there a name that means two things is refused.
        """

        def resolve(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Dot) and is_window_call(node.this):
                return self._window_field(node.expression, node)
            if is_window_call(node):
                return placed(column(WINDOW_COLUMN), node)
            if isinstance(node, exp.Dot):
                return self._below(resolve(node.this), node.expression, node)
            if isinstance(node, exp.Column):
                return self._nested(node) or self._column(node, aliases, alias_first=alias_first)
            return node

        return tree.transform(resolve)

    def _nested(self, node: exp.Column) -> exp.Expr | None:
        """``a.b.c``, where a is a column: as ``a['b']['c']``, in which the column is one. None:
        it is no such path."""
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        if parts and parts[0].name.lower() in self._qualifiers and len(parts) > 2:
            parts = parts[1:]
        found = self._columns.get(parts[0].name.lower()) if len(parts) > 1 else None
        if found is None or not found.type.startswith("struct<"):
            return None
        reached: exp.Expr = column(found.name)
        for part in parts[1:]:
            reached = self._below(reached, part, node)
        return placed(reached, node)

    def _below(self, value: exp.Expr, name: exp.Expr, node: exp.Expr) -> exp.Expr:
        """One step into a struct, by the name that the struct has for it."""
        try:
            fields = field_types(type_of(value, self.type_of))
        except Objection:
            fields = {}
        written = next((one for one in fields if one.lower() == name.name.lower()), name.name)
        literal = exp.Literal.string(written)
        return placed(exp.Bracket(this=value, expressions=[literal]), node)

    def type_of(self, node: exp.Column) -> str:
        """For ``type_of`` over records, where there is no window yet."""
        found = self._columns.get(node.name.lower())
        if node.table or found is None:
            raise Objection(
                node,
                f"{sql_of(node)} can't stand here, it is not part of a record; name a column of "
                "the source",
            )
        return value_type(found.type)

    def _column(self, node: exp.Column, aliases: Aliases, *, alias_first: bool) -> exp.Expr:
        name, qualifier = node.name.lower(), node.table.lower()
        if not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            raise Objection(
                node,
                f"`{sql_of(node)}` is no column; wanted its name alone, or behind the source's",
            )
        if qualifier == WINDOW_COLUMN:
            return self._window_field(node.this, node)
        if qualifier and qualifier not in self._qualifiers:
            raise Objection(
                node, f"no source `{node.table}`{choices('sources', sorted(self._qualifiers))}"
            )
        alias = aliases.get(name) if not qualifier else None
        found = self._columns.get(name)
        if found is not None and alias is not None and alias_first:
            self._check_unambiguous(node, alias, column(found.name))
        if found is not None:
            return placed(column(found.name), node)
        if name == WINDOW_COLUMN and not qualifier:
            return placed(column(WINDOW_COLUMN), node)
        if alias is None:
            raise Objection(node, self._unknown(node))
        return _in_brackets(alias, node)

    def _check_unambiguous(self, node: exp.Column, alias: exp.Expr, found: exp.Column) -> None:
        if sql_of(alias) != sql_of(found):
            raise Objection(
                node,
                f"`{node.name}` is a column of the source and also the alias of "
                f"`{sql_of(alias)[:60]}`; give the alias another name",
            )

    def _window_field(self, name: exp.Expr, node: exp.Expr) -> exp.Expr:
        field = name.name.lower()
        if field not in WINDOW_FIELDS:
            raise Objection(
                node, f"a window has no `{name.name}`; write window.start or window.end"
            )
        return placed(column(field, WINDOW_COLUMN), node)

    def _unknown(self, node: exp.Column) -> str:
        refused = advice(node.name.lower())
        if refused is not None:
            return refused
        names = [found.name for found in self._source.columns]
        known = choices("columns", names, near=node.name)
        return f"no column `{node.name}` in source `{self._source.name}`{known}"


def _in_brackets(alias: exp.Expr, old: exp.Expr) -> exp.Expr:
    copy = alias.copy()
    is_inside = old.parent is not None and isinstance(copy, exp.Binary | exp.Unary)
    return placed(exp.Paren(this=copy) if is_inside else copy, old)
