"""A site part taken apart: pane, keys, condition, and what each partial column aggregates.

What a query's text may hold is checked where it is admitted, not here. A part that is not of the
plain form that ``write_site_sql`` gives it is no part of a joint statement (``joint_sql``), and
runs by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec
from msgspec import UnsetType
from sqlglot import exp

from headwater.algebra.rows.columns import Column
from headwater.algebra.rows.types import decimal_digits
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.spark.site.site_sql import HALVES, halves_of, type_in
from headwater.sql.read.sql_text import Unreadable, parse, sql_of
from headwater.sql.types.declared_types import value_type

ROWS = "__rows"
"""Stands for COUNT(*), which needs no value."""
FIXED = frozenset(
    ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp")
)
"""Types that Spark updates in place. One extreme of strings would have all queries sorted."""
NARROW = frozenset(("tinyint", "smallint", "int", "float", "double"))
"""Types of which the sum of a batch has room in the type that Spark sums them in."""
EXTREMES = frozenset(("MIN", "MAX", "BOOL_AND", "BOOL_OR"))

Slot = tuple[str, str]
"""The function that is applied to it, and its type; of a key the function is empty."""


class Value(msgspec.Struct, frozen=True):
    """An expression over the records, and the slot for it."""

    slot: Slot
    sql: str
    is_safe: bool = False
    """Neither it nor its aggregate can fail, so it may be computed for records that the query
    leaves out."""


class PartialValue(msgspec.Struct, frozen=True):
    """One partial column: what is aggregated, and what is made of it."""

    values: tuple[Value, ...]
    finish: str
    """With a hole for each of the values; COUNT(*) has none."""


class PlainPart(msgspec.Struct, frozen=True):
    """A site part, taken apart."""

    pane: str
    condition: str
    keys: tuple[Value, ...]
    partials: tuple[PartialValue, ...]

    @property
    def values(self) -> list[Value]:
        return [*self.keys, *(value for one in self.partials for value in one.values)]


def part_of(query: Query) -> PlainPart | None:
    """None: it is not of the plain form, only its first rows are asked for, or it goes by what the
    site has counted, which is a number for each record and query."""
    if query.reading_count is not None or not isinstance(query.program.first, UnsetType):
        return None
    return plain_part(query.program.site_sql, query.program.source, query.program.keys)


@lru_cache(maxsize=1_000)
def plain_part(site_sql: str, source: Source, keys: tuple[Column, ...]) -> PlainPart | None:
    types = {one.name: value_type(one.type) for one in source.columns}
    try:
        select = parse(site_sql)
    except Unreadable:
        return None
    where = select.args.get("where")
    is_other = select.find(exp.GroupingSets) is not None or select.args.get("laterals")
    if not isinstance(select, exp.Select) or where is None or is_other:
        return None
    pane, *rest = [item.unalias() for item in select.expressions]
    named = zip(rest[: len(keys)], keys, strict=True)
    partials = [_partial(node, types) for node in rest[len(keys) :]]
    if None in partials:
        return None
    return PlainPart(
        sql_of(pane),
        sql_of(where.this),
        tuple(_value("", key.type, node) for node, key in named),
        tuple(one for one in partials if one is not None),
    )


def _partial(node: exp.Expr, types: Mapping[str, str]) -> PartialValue | None:
    finish = "{0}"
    if isinstance(node, exp.Cast):
        finish = f"CAST({{0}} AS {sql_of(node.args['to'])})"
        node = node.this
    condition = node.expression.this if isinstance(node, exp.Filter) else None
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return None
    function, argument = call.name.upper(), call.expressions[0]
    if function in ("COUNT", "COUNT_IF"):
        return _count(argument, condition, finish, is_truth=function == "COUNT_IF")
    halves = halves_of(call, types) if function == "SUM" else None
    if halves is not None:
        sqls = [f"CAST({_only_if(condition, half)} AS BIGINT)" for half in halves]
        is_safe = condition is None and isinstance(call.expressions[0].this, exp.Column)
        values = tuple(Value(("SUM", "bigint"), sql, is_safe) for sql in sqls)
        return PartialValue(values, finish.format(HALVES))
    type_ = type_in(argument, types)
    if function not in EXTREMES | {"SUM"} or type_ is None or not _is_fixed(type_):
        return None
    return PartialValue((_value(function, type_, argument, condition),), finish)


def _count(
    argument: exp.Expr, condition: exp.Expr | None, finish: str, *, is_truth: bool
) -> PartialValue | None:
    if isinstance(argument, exp.Distinct):
        return None
    if isinstance(argument, exp.Star):
        if condition is None:
            return PartialValue((), finish.format(ROWS))
        counted = sql_of(condition)
    else:
        is_counted = sql_of(argument) if is_truth else f"({sql_of(argument)}) IS NOT NULL"
        counted = _only_if(condition, is_counted)
    return PartialValue((Value(("COUNT", "boolean"), f"if({counted}, true, NULL)"),), finish)


def _value(function: str, type_: str, node: exp.Expr, condition: exp.Expr | None = None) -> Value:
    is_column = isinstance(node, exp.Column) and condition is None
    is_safe = is_column and (function != "SUM" or type_ in NARROW)
    sql = f"CAST({_only_if(condition, sql_of(node))} AS {type_})"
    return Value((function, type_), sql, is_safe=is_safe)


def _only_if(condition: exp.Expr | None, sql: str) -> str:
    return sql if condition is None else f"if({sql_of(condition)}, {sql}, NULL)"


def _is_fixed(type_: str) -> bool:
    return type_ in FIXED or decimal_digits(type_) is not None
