"""The site part as Spark runs it: what was checked, written so that it costs less or tells more.

Six rewrites of the admitted text, none of which touches what it computes:

- Several sites in one batch: the same SELECT, grouped by the site as well.
- Where windows go by a site's own count: where the count is after the batch (``own_count``).
- Where the last records of each site are asked for: grouped by the record as well, with its number,
  so that a row is one record, reduced. Of a pane no more than its last leave Spark.
- The highest record time of each group, which tells how far a source that is behind was read.
- Exact sums of bigints. They must not overflow within a pane, so the text sums decimals of 38
  digits, at half a microsecond for each record. The halves of a bigint can be summed as bigints (a
  batch has far fewer than 2^31 records) and put together once for each group.
- Where only the first rows of a pane are asked for, no others leave Spark. What is merged is cut
  exactly (``algebra.rows.first_rows``); here the rows are counted without their copies, which
  keeps some more and lets Spark drop most of them before they are sorted together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import UnsetType
from sqlglot import exp

from headwater.algebra.rows.columns import OrderTerm
from headwater.algebra.rows.types import PANE_COLUMN, site_schema
from headwater.algebra.windows.sequence_grid import ROW
from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.spark.lines.lines import SITE
from headwater.spark.site.own_count import THROUGH
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import column, name_sql, parse, parse_expression, sql_of
from headwater.sql.types.declared_types import value_type
from headwater.sql.types.expression_types import type_of

HIGH = "__high_us"
PLACE = "__place"
TOP = "__top"
LOW_BITS = 32
WIDE = "DECIMAL(38, 0)"
HALVES = f"CAST(CAST({{0}} AS {WIDE}) * {1 << LOW_BITS} + {{1}} AS {WIDE})"
"""Their sums, put together."""


def with_site(query: Query) -> str:
    """The site part with the column ``__site`` last."""
    is_counted = query.reading_count is not None
    text = _with_site(record_sql(query), query.program.source, is_counted=is_counted)
    kept = (THROUGH, SITE) if is_counted else (SITE,)
    return _kept_alone(text, query, by=(SITE,), kept=kept)


def with_high_time(query: Query) -> str:
    """The site part with the column ``__high_us`` last."""
    is_counted = query.reading_count is not None
    text = _with_high_time(record_sql(query), query.program.source, is_counted=is_counted)
    kept = (THROUGH,) if is_counted else ()
    return _kept_alone(text, query, kept=kept, highest=HIGH)


def record_sql(query: Query) -> str:
    """The site part; of a state query by record, with the column ``__row`` last."""
    site_sql = query.program.site_sql
    return _by_record(site_sql) if query.holds_states else site_sql


@lru_cache(maxsize=1_000)
def _by_record(site_sql: str) -> str:
    select = parse(site_sql)
    assert isinstance(select, exp.Select), "the site part is one SELECT"
    return _with_item(_grouped_by(select, ROW), column(ROW))


@lru_cache(maxsize=1_000)
def _with_site(site_sql: str, source: Source, *, is_counted: bool) -> str:
    select = _counting(_with_cheap_sums(site_sql, source), is_counted=is_counted)
    return _with_item(_grouped_by(select, SITE), column(SITE))


def _grouped_by(select: exp.Select, name: str) -> exp.Select:
    """By this column as well."""
    group = select.args["group"]
    sets = [one for found in group.find_all(exp.GroupingSets) for one in found.expressions]
    # First in each set: so it is the highest bit of the grouping number, which stays what it was.
    for one in sets:
        one.set("expressions", [column(name), *one.expressions])
    if not sets:
        group.set("expressions", [*group.expressions, column(name)])
    return select


@lru_cache(maxsize=1_000)
def _with_high_time(site_sql: str, source: Source, *, is_counted: bool) -> str:
    high = f"MAX(UNIX_MICROS({name_sql(source.time_column)})) AS {HIGH}"
    select = _counting(_with_cheap_sums(site_sql, source), is_counted=is_counted)
    return _with_item(select, parse_expression(high))


def _counting(select: exp.Select, *, is_counted: bool) -> exp.Select:
    """With ``THROUGH``, which is the same in all groups of a site."""
    if is_counted:
        through = parse_expression(f"MAX({THROUGH}) AS {THROUGH}")
        select.set("expressions", [*select.expressions, through])
    return select


def _kept_alone(
    text: str,
    query: Query,
    *,
    by: Sequence[str] = (),
    kept: Sequence[str] = (),
    highest: str | None = None,
) -> str:
    """The rows of ``text`` that are among the first of their pane, or of its last records. The
    highest of a column is that of all its rows, also of those that are dropped."""
    program, first = query.program, query.program.first
    own = [*site_schema(program).names, *([ROW] if query.holds_states else [])]
    names = [name_sql(name) for name in (*own, *kept)]
    pane = ", ".join([*by, PANE_COLUMN])
    if isinstance(query.last_n, int):
        limit = query.last_n
        place = f"DENSE_RANK() OVER (PARTITION BY {pane} ORDER BY {ROW} DESC)"
    elif isinstance(first, UnsetType):
        return text
    else:
        parts = ", ".join([pane, *map(name_sql, first.within)])
        terms, limit = ", ".join(map(_term_sql, first.order)), first.limit
        place = f"ROW_NUMBER() OVER (PARTITION BY {parts} ORDER BY {terms})"
    added = [f"{place} AS {PLACE}"]
    if highest is not None:
        added.append(f"MAX({highest}) OVER (PARTITION BY {pane}) AS {TOP}")
        names.append(f"{TOP} AS {highest}")
    return (
        f"SELECT {', '.join(names)} FROM (SELECT *, {', '.join(added)} FROM ({text})) "
        f"WHERE {PLACE} <= {limit}"
    )


def _term_sql(term: OrderTerm) -> str:
    direction = "DESC" if term.is_descending else "ASC"
    nulls = "LAST" if term.nulls_last else "FIRST"
    return f"{name_sql(term.column)} {direction} NULLS {nulls}"


def _with_item(select: exp.Select, item: exp.Expr) -> str:
    select.set("expressions", [*select.expressions, item])
    return sql_of(select)


def _with_cheap_sums(site_sql: str, source: Source) -> exp.Select:
    types = {one.name: value_type(one.type) for one in source.columns}
    select = parse(site_sql).transform(lambda node: _in_halves(node, types))
    assert isinstance(select, exp.Select), "the site part is one SELECT"
    return select


def _in_halves(node: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """A wide sum of a bigint by its halves; any other node as it is."""
    call = node.this if isinstance(node, exp.Filter) else node
    halves = halves_of(call, types)
    if halves is None:
        return node
    kept = sql_of(node)[len(sql_of(call)) :]
    return parse_expression(HALVES.format(*(f"SUM({half}){kept}" for half in halves)))


def halves_of(call: exp.Expr, types: Mapping[str, str]) -> tuple[str, str] | None:
    """What to sum instead of the argument of ``SUM(CAST(x AS DECIMAL(38, 0)))`` of a bigint x;
    None: it is another call."""
    if not isinstance(call, exp.Anonymous) or call.name.upper() != "SUM":
        return None
    (cast,) = call.expressions
    is_wide = isinstance(cast, exp.Cast) and sql_of(cast.args["to"]) == WIDE
    if not is_wide or type_in(cast.this, types) != "bigint":
        return None
    x = sql_of(cast.this)
    return f"SHIFTRIGHT({x}, {LOW_BITS})", f"({x}) & {(1 << LOW_BITS) - 1}"


def type_in(expression: exp.Expr, types: Mapping[str, str]) -> str | None:
    """None: it is not known."""
    try:
        return type_of(expression, lambda node: types[node.name])
    except (Objection, KeyError):
        return None
