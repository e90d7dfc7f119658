"""Kinds of SQL that no query may contain, with what to write instead."""

import re
from decimal import Decimal

from sqlglot import exp

from headwater.sql.read.sql_text import sql_of
from headwater.sql.tree.slots import filled

_ELSEWHERE: dict[type[exp.Expr], str] = {
    exp.Star: "* stands only in count(*); name the columns",
    exp.Filter: "FILTER belongs to an aggregate, as in count(*) FILTER (WHERE x > 1)",
    exp.Distinct: "DISTINCT needs all values in one place; GROUP BY the column, "
    "and each value is a row of the answer",
    exp.Tuple: "a list in brackets is not available here; compare one by one, as in a = 1 "
    "AND b = 2 OR a = 3 AND b = 4",
    exp.Any: "ANY and SOME stand behind LIKE and ILIKE, with patterns in brackets and no ESCAPE",
    exp.All: "ALL stands behind LIKE and ILIKE, with patterns in brackets and no ESCAPE",
    exp.Interval: "an INTERVAL stands only beside a timestamp, as in ts + INTERVAL '1' HOUR",
}
BRIEF_MAX = 60
"""Characters of the user's SQL that a message quotes."""

_NO_SUBQUERY = "subqueries are not available; write the condition or expression itself"
_ADVICE: dict[type[exp.Expr], str] = {
    exp.Window: "of window functions (OVER) row_number, rank and dense_rank are available; rank "
    "each window's answer with them in QUALIFY, or with ORDER BY … LIMIT. For a share of the whole "
    "write GROUP BY window(…), ROLLUP (domain): the row with grouping(domain) = 1 is the whole",
    exp.Subquery: _NO_SUBQUERY,
    exp.Select: _NO_SUBQUERY,
    exp.Exists: _NO_SUBQUERY,
    exp.IgnoreNulls: "IGNORE NULLS is not available, and not needed: aggregates pass over NULL, "
    "any_value too; leave it out",
    exp.RespectNulls: "RESPECT NULLS is not available: aggregates pass over NULL; leave it out",
    exp.BitwiseLeftShift: "<< is not available: parsers differ on how it binds; write "
    "shiftleft(x, 3)",
    exp.BitwiseRightShift: ">> is not available: parsers differ on how it binds; write "
    "shiftright(x, 3)",
    exp.AtTimeZone: "AT TIME ZONE is not available; write from_utc_timestamp(ts, 'Europe/Berlin')",
    exp.WithinGroup: "WITHIN GROUP goes with listagg alone; for percentile_cont and "
    "percentile_disc write percentile_approx(x, 0.5), which is within 1% of the value",
}


def unknown_node(node: exp.Expr) -> str:
    """What to say of a kind of node that no query may have."""
    if isinstance(node, exp.WithinGroup) and (found := _percentile(node)) is not None:
        return found
    general = f"`{brief(node)}` is not available in a query"
    return _ADVICE.get(type(node)) or _ELSEWHERE.get(type(node)) or general


def _percentile(node: exp.WithinGroup) -> str | None:
    """What to write for ``percentile_cont(share) WITHIN GROUP (ORDER BY x)`` and its kind."""
    call, terms = node.this, node.expression.expressions
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if not name.startswith("percentile_") or len(call.expressions) != 1 or len(terms) != 1:
        return None
    share = sql_of(call.expressions[0])
    if terms[0].args.get("desc"):
        if not re.fullmatch(r"[01]?\.\d{1,9}|[01]", share):
            return None
        share = str(1 - Decimal(share))
    return (
        f"{name} needs all values in one place; write "
        f"percentile_approx({sql_of(terms[0].this)}, {share}), which is within 1% of the value"
    )


def is_refused(node: exp.Expr) -> bool:
    """True for kinds of nodes that no query may have anywhere."""
    return type(node) in _ADVICE


def brief(node: exp.Expr) -> str:
    text = sql_of(filled(node, lambda *_: exp.Var(this="…")))  # slots have no name for people
    return text if len(text) <= BRIEF_MAX else f"{text[: BRIEF_MAX - 1]}…"
