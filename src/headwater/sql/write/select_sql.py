"""What the writers have in common: one SELECT over one view, and the order around it.

An answer is one window's rows, while the SQL of the root (and of the reference) runs over many
windows at once. So a LIMIT is a rank within the window.
"""

from collections.abc import Iterable

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql
from headwater.sql.tree.nodes import Node, Ordered

RANK = "__rank"
"""A name that no column of an answer may have."""
WINDOW = name_sql(WINDOW_COLUMN)


def select_sql(
    columns: Iterable[str],
    view: str,
    *,
    where: Iterable[str] = (),
    groups: Iterable[str] = (),
    having: str | None = None,
) -> str:
    condition, grouping = " AND ".join(where), ", ".join(groups)
    text = f"SELECT {', '.join(columns)} FROM {view}"
    text += f" WHERE {condition}" if condition else ""
    text += f" GROUP BY {grouping}" if grouping else ""
    return text if having is None else f"{text} HAVING {having}"


def ordered_sql(tree: Node, inner: str) -> str:
    """``inner`` yields the window and the columns that are shown, hidden ones too."""
    if not isinstance(tree, Ordered):
        return inner
    names = ", ".join([WINDOW, *(name_sql(item.name) for item in tree.below.items)])
    by = [f"{name_sql(term.item.name)} {term.direction}".rstrip() for term in tree.terms]
    terms = ", ".join([*by, *map(name_sql, tree.ties)])
    if tree.limit is None:
        return f"SELECT {names} FROM ({inner}) ORDER BY {WINDOW}, {terms}"
    rank = f"ROW_NUMBER() OVER (PARTITION BY {WINDOW} ORDER BY {terms}) AS {RANK}"
    return (
        f"SELECT {names} FROM (SELECT *, {rank} FROM ({inner})) "
        f"WHERE {RANK} <= {tree.limit} ORDER BY {WINDOW}, {RANK}"
    )
