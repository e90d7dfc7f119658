"""The reference: the user's own SELECT, run by one Spark over the records of all sites.

It stays as close to the text as can be, because an answer is compared with it: the source is
called ``records``, the window comes first, columns without a name get one, numbers of columns in
GROUP BY become the columns, and ORDER BY and LIMIT hold for each window. Nothing of how the query
is split goes in, but for the part: of a stream with several roots, one part is compared with the
groups that belong to it.
"""

from collections.abc import Sequence

from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.plan.durations import duration_text
from headwater.plan.part import Part
from headwater.sql.read.sql_text import identifier, name_sql, named_sql, parse, sql_of
from headwater.sql.resolve.question import Question
from headwater.sql.rules.order_answer import extra_columns, order_answer
from headwater.sql.write.write_site_sql import RECORDS, key_sql


def write_central_sql(
    question: Question,
    select: exp.Expr,
    *,
    items: Sequence[exp.Expr],
    groups: Sequence[exp.Expr],
    part: Part | None = None,
) -> str:
    """``items`` and ``groups`` are the user's expressions; groups without the window."""
    columns = [name_sql(WINDOW_COLUMN)]
    columns += [
        named_sql(sql_of(written), item.name)
        for written, item in zip(items, question.items, strict=True)
    ]
    columns += extra_columns(question, [sql_of(order.written) for order in question.order])
    grouped = ", ".join([window_sql(question), *(sql_of(group) for group in groups)])
    having = select.args.get("having")
    clauses = [
        f"SELECT {', '.join(columns)} FROM {RECORDS} AS {sql_of(_alias(select))}",
        _where(question, select, part),
        f"GROUP BY {grouped}",
        sql_of(having) if having is not None else "",
    ]
    return sql_of(parse(order_answer(question, " ".join(filter(None, clauses)))))


def _where(question: Question, select: exp.Expr, part: Part | None) -> str:
    where = select.args.get("where")
    if part is None:
        return sql_of(where) if where is not None else ""
    belongs = part.condition_sql([key_sql(key) for key in question.keys])
    return f"WHERE {belongs}" if where is None else f"WHERE ({sql_of(where.this)}) AND {belongs}"


def window_sql(question: Question) -> str:
    """Spark's own ``window()`` call for the question's grid."""
    window: WindowSpec = question.window
    lengths = [window.range_us, window.slide_us, window.start_us]
    if not window.start_us:
        lengths = lengths[:1] if window.slide_us == window.range_us else lengths[:2]
    arguments = [f"'{duration_text(length)}'" for length in lengths]
    return f"WINDOW({', '.join([name_sql(question.source.time_column), *arguments])})"


def _alias(select: exp.Expr) -> exp.Identifier:
    table = select.args["from_"].this
    return identifier(table.alias or table.name)
