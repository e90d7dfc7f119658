"""Names of columns, made one way of writing: without qualifier, as the source declares them.

Names are looked up as Spark does, without regard to case. An alias may stand for its expression in
GROUP BY, HAVING, ORDER BY and later items. Where a name could be a column or an alias of something
else, Spark's choice differs from clause to clause, so it is refused.
"""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.nested_types import element_type, field_types, is_nested
from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.read.sql_text import column, name_sql, parse_expression, placed, sql_of
from headwater.sql.resolve.find_window import SESSION_WINDOW, is_session_call, is_window_call
from headwater.sql.types.call_types import name_of
from headwater.sql.types.declared_types import value_type
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.refused_functions import advice

Aliases = Mapping[str, exp.Expr]
"""By name in lower case, the resolved expression."""

WINDOW_FIELDS = ("start", "end")
SESSION_FIELDS = "of a session write session_window.start or session_window.end"


class Names:
    """What a name in the SELECT of one stream can mean."""

    def __init__(self, source: Source, table_alias: str, *, gap_us: int | None = None) -> None:
        """``gap_us``: of the sessions that are grouped by; None: windows are."""
        self._source = source
        self._gap_us = gap_us
        self._qualifiers = {source.name.lower(), table_alias.lower()}
        if table_alias.lower() != source.name.lower():
            self._qualifiers = {table_alias.lower()}
        self._columns = {column.name.lower(): column for column in source.columns}

    def add_view(self, columns: Iterable[Column], alias: str) -> None:
        """A view adds columns to every record."""
        self._columns |= {column.name.lower(): column for column in columns}
        self._qualifiers |= {alias.lower()} - {""}

    def has(self, name: str) -> bool:
        return name.lower() in self._columns

    def resolved(self, tree: exp.Expr, aliases: Aliases, *, alias_first: bool) -> exp.Expr:
        """A new tree over the source's columns and the window. Raises ``Objection``.

        ``alias_first`` is for clauses in which Spark looks at the SELECT list before the source;
        there a name that means two things is refused.
        """

        def resolve(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Dot) and is_session_call(node.this):
                return self._session_field(node.expression, node)
            if is_session_call(node):
                raise Objection(node, SESSION_FIELDS)
            if isinstance(node, exp.Dot) and is_window_call(node.this):
                return self._window_field(node.expression, node)
            if is_window_call(node):
                return placed(column(WINDOW_COLUMN), node)
            if isinstance(node, exp.Anonymous) and name_of(node) == "struct":
                return _named_struct(node).transform(resolve)
            if isinstance(node, exp.Dot):
                return self._below(node.this.transform(resolve), node.expression, node)
            if isinstance(node, exp.Column):
                return self._nested(node) or self._column(node, aliases, alias_first=alias_first)
            return node

        return tree.transform(resolve)

    def _nested(self, node: exp.Column) -> exp.Expr | None:
        """``a.b.c``, where a is a column: as ``a['b']['c']``, in which the column is one. So it is
        of a struct's fields, of a map's keys, and of the fields of all structs in an array. None:
        it is no such path."""
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        if parts and parts[0].name.lower() in self._qualifiers and len(parts) > 2:
            parts = parts[1:]
        found = self._columns.get(parts[0].name.lower()) if len(parts) > 1 else None
        if found is None or parts[0].name.lower() in self._qualifiers:
            return None
        if not is_nested(found.type):
            raise Objection(
                node,
                f"`{found.name}` is {found.type}, with no `{parts[1].name}` in it; a path goes "
                "into a struct, a map or an array of structs. Of JSON in a string write "
                "get_json_object(x, '$.a')",
            )
        reached: exp.Expr = column(found.name)
        for part in parts[1:]:
            reached = self._below(reached, part, node)
        return placed(reached, node)

    def _below(self, value: exp.Expr, name: exp.Expr, node: exp.Expr) -> exp.Expr:
        """One step into a struct, by the name that the struct has for it."""
        try:
            held = type_of(value, self.type_of)
            fields = field_types(held) or field_types(element_type(held) or "")
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
        if qualifier == SESSION_WINDOW and self._gap_us is not None:
            return self._session_field(node.this, node)
        if qualifier and qualifier not in self._qualifiers:
            raise Objection(
                node,
                f"no source and no column `{node.table}`"
                f"{choices('sources', sorted(self._qualifiers), near=node.table)}",
            )
        alias = aliases.get(name) if not qualifier else None
        found = self._columns.get(name)
        if found is not None and alias is not None and alias_first:
            self._check_unambiguous(node, alias, column(found.name))
        if found is not None:
            return placed(column(found.name), node)
        if name == WINDOW_COLUMN and not qualifier:
            return placed(column(WINDOW_COLUMN), node)
        if name == SESSION_WINDOW and not qualifier and alias is None:
            raise Objection(node, SESSION_FIELDS)
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
        if self._gap_us is not None:
            raise Objection(node, SESSION_FIELDS)
        if field not in WINDOW_FIELDS:
            raise Objection(
                node, f"a window has no `{name.name}`; write window.start or window.end"
            )
        return placed(column(field, WINDOW_COLUMN), node)

    def session_times(self) -> tuple[exp.Expr, exp.Expr]:
        """The first and the last time of a session, over records."""
        time = name_sql(self._source.time_column)
        return parse_expression(f"MIN({time})"), parse_expression(f"MAX({time})")

    def _session_field(self, name: exp.Expr, node: exp.Expr) -> exp.Expr:
        """What Spark calls its start and its end, which is a gap after the last time."""
        field = name.name.lower()
        if field not in WINDOW_FIELDS or self._gap_us is None:
            raise Objection(node, SESSION_FIELDS)
        first, last = self.session_times()
        if field == "start":
            return placed(first, node)
        end = f"TIMESTAMP_MICROS(UNIX_MICROS({sql_of(last)}) + {self._gap_us})"
        return placed(parse_expression(end), node)

    def _unknown(self, node: exp.Column) -> str:
        refused = advice(node.name.lower())
        if refused is not None:
            return refused
        names = [found.name for found in self._columns.values()]
        known = choices("columns", names, near=node.name)
        return f"no column `{node.name}` in source `{self._source.name}`{known}"


def _named_struct(node: exp.Anonymous) -> exp.Expr:
    """``struct(a, b AS c, d + 1)`` with the names that Spark gives: a column's own, an alias, or
    the number of the argument. What stands for a column later, such as that of a partial, would
    give its own."""
    arguments: list[exp.Expr] = []
    for number, value in enumerate(node.expressions, start=1):
        is_path = isinstance(value, exp.Dot | exp.Bracket) or (
            isinstance(value, exp.Column) and value.args.get("db")
        )
        if is_path:
            raise Objection(
                value, f"give `{sql_of(value)[:60]}` a name within struct(…): struct(… AS name)"
            )
        is_named = isinstance(value, exp.Alias | exp.Column)
        name = value.alias_or_name if is_named else f"col{number}"
        arguments += [exp.Literal.string(name), value.unalias().copy()]
    return placed(exp.Anonymous(this="named_struct", expressions=arguments), node)


def _in_brackets(alias: exp.Expr, old: exp.Expr) -> exp.Expr:
    copy = alias.copy()
    is_inside = old.parent is not None and isinstance(copy, exp.Binary | exp.Unary)
    return placed(exp.Paren(this=copy) if is_inside else copy, old)


def with_window_column(tree: exp.Expr) -> exp.Expr:
    """The user's tree with the name of the window where its call is repeated."""

    def rename(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Dot) and is_window_call(node.this):
            return column(node.expression.name, WINDOW_COLUMN)
        if isinstance(node, exp.Dot) and is_session_call(node.this):
            return column(node.expression.name, SESSION_WINDOW)
        return column(WINDOW_COLUMN) if is_window_call(node) else node

    return tree.transform(rename)
