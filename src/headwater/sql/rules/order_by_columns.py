"""ORDER BY and LIMIT over columns of the answer alone, in an order that leaves nothing open.

What is ordered by and not selected becomes a hidden column. The columns that the user did not order
by break ties, so that root and reference keep the same rows; maps, which have no order, don't.
"""

import msgspec

from headwater.sql.read.sql_text import sql_of
from headwater.sql.tree.items import Item
from headwater.sql.tree.nodes import Node, Ordered, Shown, rewrite, the
from headwater.sql.types.type_rules import is_orderable

ORDER_PREFIX = "__order_"
"""Names that no column of an answer may have."""


def order_by_columns(tree: Node) -> Node:
    return rewrite(tree, Ordered, _by_columns)


def _by_columns(ordered: Ordered) -> Node:
    shown = the(ordered, Shown)
    terms = [
        msgspec.structs.replace(term, item=_column(term.item, shown, number))
        for number, term in enumerate(ordered.terms, start=1)
    ]
    used = {term.item.name for term in terms}
    hidden = tuple(term.item for term in terms if term.item.name.startswith(ORDER_PREFIX))
    ties = tuple(
        item.name for item in shown.items if item.name not in used and is_orderable(item.type)
    )
    shown = msgspec.structs.replace(shown, hidden=(*shown.hidden, *hidden))
    below = rewrite(ordered.below, Shown, lambda _: shown)
    return msgspec.structs.replace(ordered, below=below, terms=tuple(terms), ties=ties)


def _column(item: Item, shown: Shown, number: int) -> Item:
    """The same expression with the name that it is shown by."""
    if item.name:  # a rank
        return item
    text = sql_of(item.expression)
    names = [one.name for one in shown.items if sql_of(one.expression) == text]
    return msgspec.structs.replace(item, name=names[0] if names else f"{ORDER_PREFIX}{number}")
