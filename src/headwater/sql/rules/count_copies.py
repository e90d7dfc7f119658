"""Rows travel as a bag: beside a row stands how often it occurs, and the root unfolds it.

Merging makes equal keys one, so two equal requests would become one. The count is a column that is
computed and not shown.
"""

import msgspec

from headwater.sql.tree.items import ROWS, Item
from headwater.sql.tree.nodes import Grouped, Node, Shown, rewrite, the
from headwater.sql.tree.slots import CALL, slot

COPIES = "__copies"
"""A name that no column of an answer may have."""


def count_copies(tree: Node) -> Node:
    return rewrite(tree, Shown, _with_copies) if the(tree, Grouped).is_bag else tree


def _with_copies(shown: Shown) -> Node:
    (star,) = ROWS.arguments
    copies = Item(COPIES, slot(CALL, 0), ROWS.split.type, star)
    return msgspec.structs.replace(shown, hidden=(*shown.hidden, copies))
