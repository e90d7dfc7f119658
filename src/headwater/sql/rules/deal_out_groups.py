"""Of a stream with several roots, each is asked for its own part of the groups.

The condition comes last: a key may be an expression that fails on records which WHERE keeps out.
"""

import msgspec

from headwater.sql.read.sql_text import parse_expression
from headwater.sql.tree.nodes import Grouped, Kept, Node, rewrite


def deal_out_groups(tree: Node) -> Node:
    return rewrite(tree, Grouped, _own)


def _own(group: Grouped) -> Node:
    if group.part is None:
        return group
    belongs = parse_expression(group.part.condition_sql([key.sql for key in group.keys]))
    below = Kept(group.below, belongs, written=belongs)
    return msgspec.structs.replace(group, below=below)
