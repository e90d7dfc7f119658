"""What nodes are made of: keys, calls of aggregates, columns of an answer, terms of its order."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from headwater.algebra.aggregates import aggregate as described
from headwater.algebra.aggregates.count import COUNT
from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.rows.nested_types import has_map
from headwater.algebra.rows.types import NUMBERS_TYPE, WINDOW_TYPE, arrow_type
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import name_sql, parse_expression, sql_of
from headwater.sql.types.place_functions import place_of
from headwater.sql.types.refused_nodes import brief
from headwater.sql.types.type_rules import VOID, is_orderable, type_sql


def check_travels(type_: str, at: exp.Expr) -> None:
    """Raises ``Objection`` for a type that lives within expressions alone."""
    try:
        arrow_type(type_)
    except ValueError:
        raise Objection(
            at,
            f"`{sql_of(at)[:60]}` is {type_}, which no summary and no answer has; write "
            "CAST(x AS STRING), timestampdiff(SECOND, from, to) for a length of time, or CAST(x AS "
            "TIMESTAMP)",
        ) from None


class Key(msgspec.Struct, frozen=True):
    """What rows are grouped by, beside the window."""

    name: str
    expression: exp.Expr
    """Over the source's columns."""
    type: str

    def __post_init__(self) -> None:
        if self.type == VOID:
            raise Objection(
                self.expression, "NULL has no type to group by; write CAST(NULL AS STRING)"
            )
        if has_map(self.type):
            raise Objection(
                self.expression,
                f"`{brief(self.expression)}` has a map in it, and equal maps can't be told: they "
                "are no keys, and in no rows; write map_keys(m), or a value, m['key'], and instead "
                "of * the columns",
            )
        check_travels(self.type, self.expression)

    @property
    def place(self) -> str | None:
        """What each site fills in for it; None: it is computed of a record."""
        return place_of(self.expression)

    @property
    def over_all(self) -> str:
        """The same where one Spark has the records of all sites, and their names."""
        return sql_of(self.expression) if self.place is not None else self.sql

    @property
    def sql(self) -> str:
        """A computed key is cast to its declared type, so that no site can send another one."""
        if self.place is not None:
            return "CAST(NULL AS STRING)"
        text = sql_of(self.expression)
        is_column = text == name_sql(self.expression.name)
        return text if is_column else f"CAST({text} AS {type_sql(self.type)})"


class Call(msgspec.Struct, frozen=True):
    """One aggregate over records, with how it is split."""

    aggregate: described.Aggregate
    arguments: tuple[exp.Expr, ...]
    """Over the source's columns; a star for ``count(*)``."""
    condition: exp.Expr | None
    """Of its FILTER clause."""
    split: described.Split

    @property
    def rule(self) -> MergeRule:
        return self.split.merge or self.aggregate.merge

    def sql(self, template: str) -> str:
        """SQL of the aggregate's, with this call's arguments and FILTER clause."""
        kept = "" if self.condition is None else f" FILTER(WHERE {sql_of(self.condition)})"
        return described.spelled(template, [sql_of(one) for one in self.arguments], kept)

    def hidden(self, key: described.PartialColumn) -> exp.Expr:
        """A hidden key over records; null for those that FILTER leaves out."""
        text = described.spelled(key.site, [sql_of(one) for one in self.arguments])
        if self.condition is not None:
            text = f"CASE WHEN {sql_of(self.condition)} THEN {text} END"
        return parse_expression(text)


ROWS = Call(COUNT, (exp.Star(),), None, COUNT.split(()))
"""How many rows a group has."""


class Item(msgspec.Struct, frozen=True):
    """One column of the answer."""

    name: str
    expression: exp.Expr
    """Over slots and the window."""
    type: str
    written: exp.Expr
    """As the user wrote it, for the reference."""


class Term(msgspec.Struct, frozen=True):
    """What an answer is ordered by."""

    item: Item
    """Its name is that of a column that is shown; empty while it is not known which."""
    direction: str = ""
    """What follows the expression: ``DESC``, ``NULLS LAST``, both or nothing."""

    def __post_init__(self) -> None:
        if self.item.type in (VOID, WINDOW_TYPE, NUMBERS_TYPE):
            raise Objection(
                self.item.written, "each window has its own order; order by columns of the answer"
            )
        if not is_orderable(self.item.type):
            raise Objection(
                self.item.written, f"{self.item.type} has no order; order by a value within it"
            )
