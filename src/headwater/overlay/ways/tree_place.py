"""One peer's place in one tree: whom it sends to, who sends to it, and for whom it waits.

A peer asks the same few things of a tree for every message, so it looks them up once, when the
query is installed.
"""

from __future__ import annotations

import msgspec

from headwater.overlay.roster_index import RosterIndex
from headwater.plan.tree import Tree


class TreePlace(msgspec.Struct, frozen=True):
    parent: str | None
    """None: this peer is the root."""
    children: tuple[str, ...]
    level: int
    """Steps to the root."""
    awaited: int
    """The data sites of this peer's subtree, itself included: when a summary covers them all,
    there is nothing left to wait for."""
    patience: float = 1.0
    """Of the time that summaries have, the share after which they go on from here in any case:
    the farther from the root, the sooner."""

    @property
    def is_root(self) -> bool:
        return self.parent is None


def find_place(tree: Tree, ordinal: int, *, roster: RosterIndex, node_set: int) -> TreePlace | None:
    """None where the peer is no member of the tree."""
    if ordinal not in tree.levels:
        return None
    parent = tree.parent.get(ordinal)
    return TreePlace(
        parent=None if parent is None else roster.name_of[parent],
        children=tuple(roster.name_of[child] for child in tree.children.get(ordinal, ())),
        level=tree.levels[ordinal],
        awaited=tree.subtree_of(ordinal) & node_set,
        patience=1.0 - tree.levels[ordinal] / (tree.height + 1),
    )
