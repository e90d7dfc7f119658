"""ORDER BY and LIMIT over columns of the answer alone, in an order that leaves nothing open.

What is ordered by and not selected becomes a hidden column. The columns that the user did not order
by break ties, so that root and reference keep the same rows.
"""

import msgspec

from headwater.sql.read.sql_text import sql_of
from headwater.sql.tree.nodes import Item, Node, Ordered, Shown, rewrite

ORDER_PREFIX = "__order_"
"""Names that no column of an answer may have."""


def order_by_columns(tree: Node) -> Node:
    return rewrite(tree, Ordered, _by_columns)


def _by_columns(ordered: Ordered) -> Node:
    shown = ordered.below
    terms = [
        msgspec.structs.replace(term, item=_column(term.item, shown, number))
        for number, term in enumerate(ordered.terms, start=1)
    ]
    used = {term.item.name for term in terms}
    hidden = tuple(term.item for term in terms if term.item.name.startswith(ORDER_PREFIX))
    ties = tuple(item.name for item in shown.items if item.name not in used)
    shown = msgspec.structs.replace(shown, hidden=hidden)
    return Ordered(shown, tuple(terms), ordered.limit, ties)


def _column(item: Item, shown: Shown, number: int) -> Item:
    """The same expression with the name that it is shown by."""
    text = sql_of(item.expression)
    names = [one.name for one in shown.items if sql_of(one.expression) == text]
    return msgspec.structs.replace(item, name=names[0] if names else f"{ORDER_PREFIX}{number}")
