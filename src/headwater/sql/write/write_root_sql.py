"""The root part as SQL over ``panes``: merge, finish, keep what HAVING keeps, order, limit."""

from sqlglot import exp

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.sql_text import column, name_sql, named_sql, parse, parse_expression, sql_of
from headwater.sql.resolve.question import KEY, filled
from headwater.sql.rules.order_answer import extra_columns, order_answer
from headwater.sql.rules.split_aggregates import SplitQuestion

PANES = "panes"


def write_root_sql(split: SplitQuestion) -> str:
    question = split.question
    window = name_sql(WINDOW_COLUMN)
    columns = [window]
    columns += [named_sql(_over_panes(split, i.expression), i.name) for i in question.items]
    order = [_over_panes(split, order.expression) for order in question.order]
    columns += extra_columns(question, order)
    groups = ", ".join([window, *(name_sql(key.name) for key in question.keys)])
    inner = f"SELECT {', '.join(columns)} FROM {PANES} GROUP BY {groups}"
    if question.having is not None:
        inner += f" HAVING {_over_panes(split, question.having)}"
    return sql_of(parse(order_answer(question, inner)))


def _over_panes(split: SplitQuestion, expression: exp.Expr) -> str:
    def fill(kind: str, index: int) -> exp.Expr:
        if kind == KEY:
            return column(split.question.keys[index].name)
        return parse_expression(split.finishes[index])

    return sql_of(filled(expression, fill))
