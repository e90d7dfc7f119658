"""A static tree over roster ordinals, with the query's root at its top."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError


class Tree(msgspec.Struct, frozen=True):
    root: int
    parents: tuple[tuple[int, int], ...]
    """(child, parent) for every member but the root."""

    def __post_init__(self) -> None:
        """Every member must reach the root; a cycle or a stray parent is refused here, once."""
        parent = dict(self.parents)
        if len(parent) != len(self.parents) or self.root in parent:
            raise ConfigurationError("tree: a member has two parents, or the root has one")
        reaches = {self.root}
        for member in parent:
            path = []
            while member not in reaches:
                path.append(member)
                if len(path) > len(parent) or member not in parent:
                    raise ConfigurationError(f"tree: ordinal {path[0]} does not reach the root")
                member = parent[member]
            reaches.update(path)

    def parent_of(self, ordinal: int) -> int | None:
        return next((parent for child, parent in self.parents if child == ordinal), None)

    def children_of(self, ordinal: int) -> tuple[int, ...]:
        return tuple(child for child, parent in self.parents if parent == ordinal)

    def members(self) -> frozenset[int]:
        return frozenset(child for child, _ in self.parents) | {self.root}

    def subtree_of(self, ordinal: int) -> frozenset[int]:
        """The member itself and everyone below it."""
        children: dict[int, list[int]] = {}
        for child, parent in self.parents:
            children.setdefault(parent, []).append(child)
        found, open_ = {ordinal}, [ordinal]
        while open_:
            for child in children.get(open_.pop(), ()):
                found.add(child)
                open_.append(child)
        return frozenset(found)
