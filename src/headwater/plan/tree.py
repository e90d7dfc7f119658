"""A static tree over roster ordinals, with the query's root at its top."""

from __future__ import annotations

from functools import cached_property

import msgspec

from headwater.algebra.sets import bitset
from headwater.errors import ConfigurationError


class Tree(msgspec.Struct, frozen=True, dict=True):
    """What is derived from the parents is computed once for each tree, when first asked for."""

    root: int
    parents: tuple[tuple[int, int], ...]
    """(child, parent) for every member but the root."""

    def __post_init__(self) -> None:
        """Every member must reach the root; a cycle or a stray parent is refused here, once."""
        parent = dict(self.parents)
        if len(parent) != len(self.parents) or self.root in parent:
            raise ConfigurationError(
                "tree: wanted one parent for each member and none for the root; a member has two, "
                "or the root has one"
            )
        reaches = {self.root}
        for member in parent:
            path = []
            while member not in reaches:
                path.append(member)
                if len(path) > len(parent) or member not in parent:
                    raise ConfigurationError(
                        f"tree: wanted members that all reach the root, {path[0]} does not"
                    )
                member = parent[member]
            reaches.update(path)

    @cached_property
    def parent(self) -> dict[int, int]:
        return dict(self.parents)

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """For each member that has any."""
        found: dict[int, list[int]] = {}
        for child, parent in self.parents:
            found.setdefault(parent, []).append(child)
        return {parent: tuple(below) for parent, below in found.items()}

    @cached_property
    def levels(self) -> dict[int, int]:
        """Steps to the root, for each member, those near the root first."""
        found = {self.root: 0}
        for member in (order := [self.root]):
            for child in self.children.get(member, ()):
                found[child] = found[member] + 1
                order.append(child)
        return found

    @property
    def height(self) -> int:
        """The level of those farthest from the root."""
        return next(reversed(self.levels.values()))

    def subtree_of(self, ordinal: int) -> int:
        """The member and everyone below it as a bitset. Not kept for all: a peer wants its own."""
        found = [ordinal]
        for member in found:
            found.extend(self.children.get(member, ()))
        return bitset.of(found)

    def members(self) -> frozenset[int]:
        return frozenset(self.levels)

    @cached_property
    def ordinals(self) -> range:
        """From the lowest to the highest member."""
        return range(min(self.levels), max(self.levels) + 1)

    def ancestors_of(self, ordinal: int) -> list[int]:
        """From the parent up to the root."""
        found = []
        while (parent := self.parent.get(ordinal)) is not None:
            found.append(parent)
            ordinal = parent
        return found
