"""ORDER BY and LIMIT, which hold for each window's answer on its own.

An answer is one window's rows, while the SQL of the root (and of the reference) runs over many
windows at once. So a LIMIT is a rank within the window. The columns that the user did not order
by break ties, in both, so that root and reference keep the same rows.
"""

from collections.abc import Sequence

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql, sql_of
from headwater.sql.resolve.question import Question

ORDER_PREFIX = "__order_"
RANK = "__rank"
"""Names that no column of an answer may have."""


def extra_columns(question: Question, expressions: Sequence[str]) -> list[str]:
    """What the ordered query must select beside its items: what is ordered by and not selected.

    ``expressions`` are the order's own, written for the query at hand.
    """
    return [
        f"{text} AS {ORDER_PREFIX}{index}"
        for index, text in enumerate(expressions, start=1)
        if _selected_name(question, index - 1) is None
    ]


def order_answer(question: Question, inner: str) -> str:
    """``inner`` yields the window, the items and the extra columns."""
    if not question.order and question.limit is None:
        return inner
    window = name_sql(WINDOW_COLUMN)
    names = ", ".join([window, *(name_sql(item.name) for item in question.items)])
    terms = ", ".join(_terms(question))
    if question.limit is None:
        return f"SELECT {names} FROM ({inner}) ORDER BY {window}, {terms}"
    rank = f"ROW_NUMBER() OVER (PARTITION BY {window} ORDER BY {terms}) AS {RANK}"
    return (
        f"SELECT {names} FROM (SELECT *, {rank} FROM ({inner})) "
        f"WHERE {RANK} <= {question.limit} ORDER BY {window}, {RANK}"
    )


def _terms(question: Question) -> list[str]:
    terms, used = [], set()
    for index, order in enumerate(question.order):
        name = _selected_name(question, index)
        used.add(name)
        term = name_sql(name) if name is not None else f"{ORDER_PREFIX}{index + 1}"
        terms.append(f"{term} {order.direction}".rstrip())
    return terms + [name_sql(item.name) for item in question.items if item.name not in used]


def _selected_name(question: Question, index: int) -> str | None:
    """The item that is the same expression as the order's."""
    text = sql_of(question.order[index].expression)
    return next((item.name for item in question.items if sql_of(item.expression) == text), None)
