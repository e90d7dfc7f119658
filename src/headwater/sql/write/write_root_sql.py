"""The root part as SQL over ``panes``: finish, keep what HAVING keeps, unfold, order, limit.

Each group of a window is one row there: merging is the algebra's, and done before.
"""

from sqlglot import exp

from headwater.sql.read.sql_text import column, named_sql, parse, parse_expression, sql_of
from headwater.sql.tree.nodes import Node, Shown, Split, the
from headwater.sql.tree.slots import KEY, NUMBER, filled
from headwater.sql.write.select_sql import WINDOW, answer_sql, select_sql

PANES = "panes"


def write_root_sql(tree: Node) -> str:
    shown, split = the(tree, Shown), the(tree, Split)
    keys = split.below.keys

    def over_panes(expression: exp.Expr) -> str:
        return sql_of(filled(expression, fill))

    def fill(kind: str, index: int) -> exp.Expr:
        if kind == NUMBER:
            return column(split.set_number)
        return column(keys[index].name) if kind == KEY else parse_expression(split.finishes[index])

    columns = [WINDOW, *(named_sql(over_panes(one.expression), one.name) for one in shown.columns)]
    where = [] if shown.having is None else [over_panes(shown.having.condition)]
    is_distinct = shown.is_distinct and not shown.shows_all_keys
    inner = select_sql(columns, PANES, where=where, is_distinct=is_distinct)
    return sql_of(parse(answer_sql(tree, inner, is_folded=True)))
