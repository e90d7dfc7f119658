"""What the writers have in common: one SELECT over one view, and the order around it.

An answer is one window's rows, while the SQL of the root (and of the reference) runs over many
windows at once. So a LIMIT is a rank within the window. Rows that came as a bag are unfolded before
they are ranked.
"""

from collections.abc import Iterable

from headwater.algebra.rows.types import WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql, sql_of
from headwater.sql.rules.count_copies import COPIES
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Ranked, answer_columns, one, the

RANK = "__rank"
COPY = "__copy"
"""Names that no column of an answer may have."""
WINDOW = name_sql(WINDOW_COLUMN)


def select_sql(
    columns: Iterable[str],
    view: str,
    *,
    where: Iterable[str] = (),
    groups: Iterable[str] = (),
    having: str | None = None,
    is_distinct: bool = False,
) -> str:
    condition, grouping = " AND ".join(where), ", ".join(groups)
    text = f"SELECT {'DISTINCT ' if is_distinct else ''}{', '.join(columns)} FROM {view}"
    text += f" WHERE {condition}" if condition else ""
    text += f" GROUP BY {grouping}" if grouping else ""
    return text if having is None else f"{text} HAVING {having}"


def answer_sql(tree: Node, inner: str, *, is_folded: bool = False) -> str:
    """``inner`` yields the window and the columns that are shown, hidden ones too. Folded: equal
    rows are one there, with how many they are."""
    is_folded = is_folded and the(tree, Grouped).is_bag
    if is_folded:
        inner = _unfolding_sql(tree, inner)
    names = ", ".join([WINDOW, *(name_sql(one.name) for one in answer_columns(tree))])
    ranked = one(tree, Ranked)
    kept = []
    if ranked is not None:
        inner = f"SELECT {', '.join(['*', *_ranks_sql(ranked)])} FROM ({inner})"
        kept += [] if ranked.condition is None else [sql_of(ranked.condition)]
    where = f" WHERE {kept[0]}" if kept else ""
    if not isinstance(tree, Ordered):
        is_changed = is_folded or ranked is not None
        return f"SELECT {names} FROM ({inner}){where}" if is_changed else inner
    by = [f"{name_sql(term.item.name)} {term.direction}".rstrip() for term in tree.terms]
    terms = ", ".join([*by, *map(name_sql, tree.ties)])
    if tree.limit is None and not tree.offset:
        return f"SELECT {names} FROM ({inner}){where} ORDER BY {WINDOW}, {terms}"
    rank = f"ROW_NUMBER() OVER (PARTITION BY {WINDOW} ORDER BY {terms}) AS {RANK}"
    places = [f"{RANK} > {tree.offset}"] if tree.offset else []
    places += [] if tree.last is None else [f"{RANK} <= {tree.last}"]
    return (
        f"SELECT {names} FROM (SELECT *, {rank} FROM ({inner}){where}) "
        f"WHERE {' AND '.join(places)} ORDER BY {WINDOW}, {RANK}"
    )


def _ranks_sql(ranked: Ranked) -> list[str]:
    found = []
    for rank in ranked.ranks:
        within = ", ".join([WINDOW, *map(name_sql, rank.within)])
        terms = [f"{name_sql(name)} {direction}".rstrip() for name, direction in rank.order]
        terms += map(name_sql, ranked.ties(rank))
        over = f"OVER (PARTITION BY {within} ORDER BY {', '.join(terms)})"
        found.append(f"{rank.function.upper()}() {over} AS {name_sql(rank.name)}")
    return found


def _unfolding_sql(tree: Node, inner: str) -> str:
    """Each row as often as it occurred; no more often than a LIMIT lets it be in the answer."""
    is_cut = isinstance(tree, Ordered) and one(tree, Ranked) is None
    last = tree.last if isinstance(tree, Ordered) and is_cut else None
    return f"SELECT *, {copies_sql(last)} AS {COPY} FROM ({inner})"


def copies_sql(last: int | None) -> str:
    copies = COPIES if last is None else f"LEAST({COPIES}, {last})"
    return f"EXPLODE(ARRAY_REPEAT(0, CAST({copies} AS INT)))"
