"""Which clauses a stream's SELECT may have, and what to say of the others."""

from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.read.value_order import drop_value_order
from headwater.sql.types.check_functions import check_functions

_ADMITTED = (
    *("with_", "expressions", "distinct", "from_", "laterals", "where"),
    *("group", "having", "qualify", "order", "limit", "offset"),
)

_ADVICE = {
    "joins": "joins are not available: a stream reads one source; put what you need into the "
    "source's records, or join the answers",
    "outer_views": "joins are not available, also with LATERAL; write LATERAL VIEW OUTER "
    "explode(tags) t AS tag for all records, and LATERAL VIEW for those that have a tag",
    "sort": "SORT BY is not available; write ORDER BY, which holds for each window's answer",
    "cluster": "CLUSTER BY is not available; write ORDER BY, which holds for each window's answer",
    "distribute": "DISTRIBUTE BY is not available; sites group by themselves",
    "pivots": "PIVOT is not available; write an aggregate for each value, as in sum(bytes) FILTER "
    "(WHERE status = 200) AS s200",
    "unpivots": "UNPIVOT is not available; write LATERAL VIEW explode(map('a', a, 'b', b)) AS "
    "name, value",
    "sample": "TABLESAMPLE is not available: a sample would not be the same at two sites",
}

NOT_ONE_SELECT: dict[type[exp.Expr], str] = {
    kind: f"{kind.__name__.upper()} is not available; write one stream for each SELECT"
    for kind in (exp.Union, exp.Intersect, exp.Except)
}

EXAMPLE = "SELECT domain, count(*) FROM access GROUP BY window(ts, '10 seconds'), domain"


def check_shape(statement: exp.Expr) -> exp.Select:
    """The SELECT, once it has only clauses that a stream can have. Raises ``Objection``."""
    if not isinstance(statement, exp.Select):
        raise Objection(None, NOT_ONE_SELECT.get(type(statement), f"wanted {EXAMPLE}"))
    _check_nothing_beside(statement)
    for name, value in statement.args.items():
        if value and name not in _ADMITTED:
            node = value[0] if isinstance(value, list) else value
            message = _ADVICE.get(name, f"this clause is not available; wanted {EXAMPLE}")
            raise Objection(node if isinstance(node, exp.Expr) else statement, message)
    distinct = statement.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Objection(
            statement, "DISTINCT ON is not available; SELECT DISTINCT takes all columns"
        )
    _check_from(statement)
    drop_value_order(statement)
    check_functions(statement)
    return statement


def _check_subquery(subquery: exp.Subquery) -> None:
    extra = {name for name, value in subquery.args.items() if value} - {"this", "alias"}
    _check_nothing_beside(subquery)
    alias = subquery.args.get("alias")
    if extra or (alias is not None and alias.args.get("columns")):
        raise Objection(subquery, "a subquery in FROM is one SELECT with a name, nothing else")


def _check_nothing_beside(table: exp.Expr) -> None:
    for join in table.args.get("joins") or ():
        is_view = isinstance(join.this, exp.Lateral)
        raise Objection(join, _ADVICE["outer_views" if is_view else "joins"])
    for pivot in table.args.get("pivots") or ():
        raise Objection(pivot, _ADVICE["unpivots" if pivot.args.get("unpivot") else "pivots"])


def _check_from(select: exp.Select) -> None:
    source = select.args.get("from_")
    if source is None:
        raise Objection(select, f"FROM is missing; wanted {EXAMPLE}")
    table = source.this
    if isinstance(table, exp.Subquery) and isinstance(table.this, exp.Select):
        _check_subquery(table)
        return
    if not isinstance(table, exp.Table):
        raise Objection(table, "a stream reads FROM a source by its name; no subqueries")
    extra = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
    is_name = isinstance(table.this, exp.Identifier)
    _check_nothing_beside(table)
    if extra == ["sample"]:
        raise Objection(table, _ADVICE["sample"])
    if extra or not is_name:
        raise Objection(table, "a stream reads FROM a source by its name, nothing else")
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise Objection(table, "columns can't be renamed in FROM; give them aliases in SELECT")
