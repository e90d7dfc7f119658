"""Which columns of an answer are in proportion to the share of the records that is in it.

Of a sample their values are too small by the share that was drawn, and nothing else is wrong with
them: counts and sums as they are. What is computed of several may scale as well or not; of that
nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UnsetType

from headwater.algebra.demand import Demand
from headwater.sql.tree.items import Item
from headwater.sql.tree.nodes import Grouped, Node, Shown, the
from headwater.sql.tree.slots import CALL, slot_of


def with_scaled_columns(demand: Demand | UnsetType, tree: Node) -> Demand | UnsetType:
    """A random demand that knows them; any other as it is."""
    if isinstance(demand, UnsetType) or not demand.is_random:
        return demand
    is_cut = the(tree, Grouped).sessions is not None  # a session is shorter, or there are two
    names = () if is_cut else tuple(item.name for item, _ in scaled_items(tree))
    return msgspec.structs.replace(demand, scaled=names)


def scaled_items(tree: Node) -> Iterator[tuple[Item, int]]:
    """With the calls that they are."""
    group = the(tree, Grouped)
    for item in the(tree, Shown).items:
        found = slot_of(item.expression)
        if found is not None and found[0] == CALL:
            call = group.calls[found[1]]
            if call.aggregate.scales and not call.split.hidden:
                yield item, found[1]
