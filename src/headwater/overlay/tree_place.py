"""One peer's place in one tree: whom it sends to, who sends to it, and for whom it waits.

A tree is a list of (child, parent) over the whole federation. A peer asks the same few things of
it for every message, so it looks them up once, when the query is installed.
"""

from __future__ import annotations

import msgspec

from headwater.algebra import bitset
from headwater.overlay.roster_index import RosterIndex
from headwater.plan.tree import Tree


class TreePlace(msgspec.Struct, frozen=True):
    parent: str | None
    """None: this peer is the root."""
    children: tuple[str, ...]
    below: dict[str, int]
    """For each child, all members of its subtree as a bitset of ordinals."""
    awaited: int
    """The data sites of this peer's subtree, itself included: when a summary covers them all,
    there is nothing left to wait for."""

    @property
    def is_root(self) -> bool:
        return self.parent is None


def find_place(tree: Tree, ordinal: int, *, roster: RosterIndex, node_set: int) -> TreePlace | None:
    """None where the peer is no member of the tree."""
    children: dict[int, list[int]] = {}
    parent: int | None = None
    for child, its_parent in tree.parents:
        children.setdefault(its_parent, []).append(child)
        if child == ordinal:
            parent = its_parent
    if parent is None and ordinal != tree.root:
        return None
    below = {
        roster.name_of[child]: _subtree(child, children) for child in children.get(ordinal, ())
    }
    members = 1 << ordinal
    for subtree in below.values():
        members |= subtree
    return TreePlace(
        parent=None if parent is None else roster.name_of[parent],
        children=tuple(below),
        below=below,
        awaited=members & node_set,
    )


def _subtree(top: int, children: dict[int, list[int]]) -> int:
    found = [top]
    for member in found:
        found.extend(children.get(member, ()))
    return bitset.of(found)
