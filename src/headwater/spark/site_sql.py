"""The site part as Spark runs it: what was checked, written so that it costs less.

Two rewrites of the admitted text, which have nothing to do with its meaning:

- Several sites in one batch: the same SELECT, grouped by the site as well.
- Exact sums of bigints. They must not overflow within a pane, so the text sums decimals of 38
  digits, at a quarter of a microsecond for each record. The halves of a bigint can be summed as
  bigints (a batch has far fewer than 2^31 records) and put together once for each group.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from headwater.frontend.expression_types import type_of
from headwater.frontend.objection import Objection
from headwater.plan.query import Query, Source
from headwater.plan.sql_text import column, parse, parse_expression, sql_of
from headwater.spark.lines import SITE

LOW_BITS = 32
WIDE = "DECIMAL(38, 0)"


def runnable(query: Query, *, has_site: bool) -> str:
    """The site part of this query; with the column ``__site`` last if batches have one."""
    return _rewritten(query.site_sql, query.source, has_site)


@lru_cache(maxsize=1_000)
def _rewritten(site_sql: str, source: Source, has_site: bool) -> str:
    select = parse(site_sql)
    assert isinstance(select, exp.Select), "the site part is one SELECT"
    types = {one.name: one.type for one in source.columns}
    select = select.transform(lambda node: _in_halves(node, types))
    if has_site:
        group = select.args["group"]
        select.set("expressions", [*select.expressions, column(SITE)])
        group.set("expressions", [*group.expressions, column(SITE)])
    return sql_of(select)


def _in_halves(node: exp.Expr, types: dict[str, str]) -> exp.Expr:
    """``SUM(CAST(x AS DECIMAL(38, 0)))`` of a bigint x by its halves; any other node as it is."""
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Anonymous) or call.name.upper() != "SUM":
        return node
    (cast,) = call.expressions
    is_wide = isinstance(cast, exp.Cast) and sql_of(cast.args["to"]) == WIDE
    if not is_wide or _type(cast.this, types) != "bigint":
        return node
    x = sql_of(cast.this)
    kept = sql_of(node)[len(sql_of(call)) :]
    high = f"CAST(SUM(SHIFTRIGHT({x}, {LOW_BITS})){kept} AS {WIDE}) * {1 << LOW_BITS}"
    low = f"SUM(({x}) & {(1 << LOW_BITS) - 1}){kept}"
    return parse_expression(f"CAST({high} + {low} AS {WIDE})")


def _type(expression: exp.Expr, types: dict[str, str]) -> str | None:
    try:
        return type_of(expression, lambda node: types[node.name])
    except (Objection, KeyError):
        return None
